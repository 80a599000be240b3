import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from './errors.ts';
import { checkEntryName, listNameWarnings } from './names.ts';
import type { EntryKind } from './names.ts';
import { renderPart, renderWorkflow } from './parts.ts';
import type { Callee, WorkflowTemplate } from './parts.ts';
import { placeFiles } from './place.ts';
import type { NewFile } from './place.ts';

export type AddKind = 'agent' | 'workflow' | 'workflow-agent';

export interface AddOptions {
  /** The workspace. */
  root: string;
  kind: AddKind;
  name: string;
  /** Replace files that are there. */
  force?: boolean | undefined;
  /** Of a workflow: an agent of this workspace, or another workflow, that it calls. */
  calls?: string | undefined;
  /** Of a workflow that calls nothing. Default: steps. */
  template?: WorkflowTemplate | undefined;
}

export interface Added {
  kind: AddKind;
  name: string;
  /** Relative to the workspace. */
  files: string[];
  /** What the workflow calls; null: nothing. */
  calls: Callee | null;
  /** Of a workflow that calls nothing; null: another kind, or one that does. */
  template: WorkflowTemplate | null;
  warnings: string[];
}

/** Writes an agent, a workflow, or a workflow with its agent, into a workspace: all its files or none. */
export function addPart(options: AddOptions): Added {
  const { root, kind, name, force = false } = options;
  const kinds = ENTRY_KINDS[kind];
  for (const entry of kinds) checkEntryName(entry, name);
  const calls = options.calls === undefined ? null : findCallee(root, options.calls, name);
  const template = kind === 'workflow' && calls === null ? (options.template ?? 'steps') : null;
  const files = listFiles({ kind, name, calls, template });
  if (!force) for (const entry of kinds) checkAlike(root, entry, name);
  placeFiles(root, files, { force });
  return {
    kind,
    name,
    files: files.map(({ path }) => path),
    calls,
    template,
    warnings: kinds.flatMap((entry) => listNameWarnings(entry, name)),
  };
}

// --- internal ---

const ENTRY_KINDS: Record<AddKind, readonly EntryKind[]> = {
  agent: ['agent'],
  workflow: ['workflow'],
  'workflow-agent': ['agent', 'workflow'],
};

function listFiles({ kind, name, calls, template }: Pick<Added, 'kind' | 'name' | 'calls' | 'template'>): NewFile[] {
  if (kind !== 'workflow') return renderPart(kind, name);
  return renderWorkflow(name, calls === null ? { template: template ?? 'steps' } : { calls });
}

/** Both an agent and a workflow of that name: the agent is meant. */
function findCallee(root: string, name: string, caller: string): Callee {
  const agents = listEntries(root, 'agent');
  const workflows = listEntries(root, 'workflow');
  if (agents.includes(name)) return { kind: 'agent', name };
  if (name === caller)
    throw new CommandError('name_refused', `The workflow "${name}" cannot call itself.`, {
      suggestion: 'Name another workflow or an agent with --calls.',
    });
  if (workflows.includes(name)) return { kind: 'workflow', name };
  const known = [...new Set([...agents, ...workflows])];
  throw new CommandError('not_found', `--calls names "${name}", which is no agent and no workflow of this workspace.`, {
    suggestion: known.length > 0 ? `Use one of: ${known.join(', ')}.` : `Run \`svc add agent ${name}\` first.`,
    details: { agents, workflows },
    exitCode: 4,
  });
}

/** A name that differs only in case is the same file on some disks, and a clash to the compiler. */
function checkAlike(root: string, kind: EntryKind, name: string): void {
  const other = listEntries(root, kind).find((entry) => entry.toLowerCase() === name);
  if (other === undefined) return;
  throw new CommandError(
    'already_exists',
    `There is ${kind === 'agent' ? 'an agent' : 'a workflow'} "${other}" already.`,
    {
      suggestion: 'Choose another name, or add --force to replace its files.',
      details: { kind, name: other },
    },
  );
}

function listEntries(root: string, kind: EntryKind): string[] {
  const folder = join(root, kind === 'agent' ? 'deep-agents' : 'workflows');
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  if (kind === 'agent')
    return entries
      .filter((entry) => existsSync(join(folder, entry.name, 'index.ts')))
      .map((entry) => entry.name)
      .sort();
  return entries.flatMap((entry) => /^(.+)\.workflow\.tsx?$/.exec(entry.name)?.[1] ?? []).sort();
}
