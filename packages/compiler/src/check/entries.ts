import { posix } from 'node:path';
import type { FileFacts } from '../analyse.ts';
import type { Scan, ScannedEntry } from '../scan.ts';
import type { FoundIn } from './frame.ts';
import { workflowFileName } from '../workflow-names.ts';
import { isUsableName } from './names.ts';

/** What an agent's or a workflow's file must hold, and what no other file may. */
export function checkEntries(scan: Scan): FoundIn[] {
  const workflows = new Set(scan.workflows.map(({ file }) => file));
  return [
    ...scan.agents.flatMap((entry) => checkAgent(entry, scan.files[entry.file])),
    ...[...workflows].flatMap((file) => checkWorkflowFile(file, scan.files[file])),
    ...(scan.configSchema ? checkConfigSchema(scan.configSchema.file, scan.files[scan.configSchema.file]) : []),
    ...scan.guardrails.flatMap((entry) => checkDeclared(GUARDRAIL, entry, scan.files[entry.file])),
    ...scan.misplacedGuardrails.map((file) => toMisplaced(GUARDRAIL, file)),
    ...scan.connections.flatMap((entry) => checkDeclared(CONNECTION, entry, scan.files[entry.file])),
    ...scan.misplacedConnections.map((file) => toMisplaced(CONNECTION, file)),
    ...scan.scorers.flatMap((entry) => checkDeclared(SCORER, entry, scan.files[entry.file])),
    ...scan.misplacedScorers.map((file) => toMisplaced(SCORER, file)),
    ...Object.entries(scan.files).flatMap(([file, facts]) =>
      workflows.has(file) ? [] : checkOther(file, facts, workflows),
    ),
  ];
}

// --- internal ---

const TOP = { line: 1, column: 1 };

/** Findings that already say why a file seems to hold no workflow. */
const EXPLAINS_MISSING = new Set(['syntax_error', 'directive_misspelled', 'directive_misplaced']);

function checkAgent({ name, file }: ScannedEntry, facts: FileFacts | undefined): FoundIn[] {
  if (!facts || facts.findings.some(({ code }) => code === 'syntax_error')) return [];
  if (!facts.exports.includes('default')) {
    const message = `The agent "${name}" has no default export. Write "export default defineDeepAgent({ ... })".`;
    return [{ code: 'agent_default_missing', message, file, ...TOP }];
  }
  const { agentName } = facts;
  // A folder that cannot keep its name gets that problem alone.
  if (!agentName || agentName.value === name || !isUsableName(name)) return [];
  const { value, line, column } = agentName;
  const message = `The agent in the folder "${name}" calls itself "${value}". Write name: '${name}', or rename the folder.`;
  return [{ code: 'agent_name_mismatch', message, file, line, column }];
}

function checkConfigSchema(file: string, facts: FileFacts | undefined): FoundIn[] {
  if (!facts || facts.exports.includes('default') || facts.findings.some(({ code }) => code === 'syntax_error'))
    return [];
  const message = `"${file}" has no default export. Write "export default defineDynamicConfig({ ... })".`;
  return [{ code: 'config_default_missing', message, file, ...TOP }];
}

/** What a file of its own declares. */
interface Declared {
  kind: 'guardrail' | 'connection' | 'scorer';
  folder: string;
  define: string;
  /** What happens to one that no one reads. */
  lost: string;
}

const GUARDRAIL: Declared = {
  kind: 'guardrail',
  folder: 'guardrails',
  define: 'defineGuardrail',
  lost: 'judges nothing',
};
const CONNECTION: Declared = {
  kind: 'connection',
  folder: 'connections',
  define: 'defineConnection',
  lost: 'is not declared',
};
const SCORER: Declared = { kind: 'scorer', folder: 'evals', define: 'defineScorer', lost: 'scores nothing' };

function checkDeclared(
  { kind, define }: Declared,
  { name, file }: ScannedEntry,
  facts: FileFacts | undefined,
): FoundIn[] {
  if (!facts || facts.exports.includes('default') || facts.findings.some(({ code }) => code === 'syntax_error'))
    return [];
  const message = `The ${kind} "${name}" has no default export. Write "export default ${define}({ ... })".`;
  return [{ code: `${kind}_default_missing`, message, file, ...TOP }];
}

/** Silently read by no one, it would seem to be there. */
function toMisplaced({ kind, folder, lost }: Declared, file: string): FoundIn {
  const name = posix.basename(file).replace(/\.\w+\.\w+$/, '');
  const ending = file.endsWith('x') ? 'tsx' : 'ts';
  const plural = `${kind}s`;
  const message = `${plural[0]?.toUpperCase()}${plural.slice(1)} are read from "${folder}" alone, so "${name}" ${lost}. Move the file to "${folder}/${name}.${kind}.${ending}".`;
  return { code: `${kind}_outside_folder`, message, file, ...TOP };
}

function checkWorkflowFile(file: string, facts: FileFacts | undefined): FoundIn[] {
  if (!facts) return [];
  const found = facts.workflows.flatMap(({ exportName, advice, line, column }): FoundIn[] => {
    if (exportName !== null) return [];
    const message = `This 'use workflow' function is not exported. ${advice ?? 'Write "export" before it.'}`;
    return [{ code: 'workflow_not_exported', message, file, line, column }];
  });
  if (facts.workflows.length > 0 || facts.findings.some(({ code }) => EXPLAINS_MISSING.has(code))) return found;
  const message = `The workflow "${workflowFileName(file)}" has no function marked 'use workflow'. Export one async function whose body begins with 'use workflow'.`;
  return [{ code: 'workflow_missing', message, file, ...TOP }];
}

function checkOther(file: string, facts: FileFacts, workflows: ReadonlySet<string>): FoundIn[] {
  const outside = facts.workflows.map(({ line, column }): FoundIn => {
    const message = `'use workflow' is outside of workflows/*.workflow.ts, so nothing can start it. ${wayInto(file, workflows)}`;
    return { code: 'workflow_outside_folder', message, file, line, column };
  });
  const [step] = facts.steps;
  if (!step || !file.startsWith('../')) return outside;
  const message = `The step "${step.name}" is outside of the workspace, where 'use step' has no effect. Move the file into the workspace.`;
  return [...outside, { code: 'step_outside_workspace', message, file, line: step.line, column: 1 }];
}

/** What makes a workflow of the file: another name where it is, another place, or a file of its own. */
function wayInto(file: string, workflows: ReadonlySet<string>): string {
  const [, folder = '', name = ''] = /^(?:src\/)?workflows?\/(.*\/)?([^/]+?)(?:\.workflow)?\.\w+$/.exec(file) ?? [];
  const path = `workflows/${name}.workflow.${file.endsWith('x') ? 'tsx' : 'ts'}`;
  if (name === '' || workflows.has(path)) return 'Move the function to a file "workflows/<name>.workflow.ts".';
  return folder === '' && file.startsWith('workflows/')
    ? `Rename the file to "${posix.basename(path)}".`
    : `Move the file to "${path}".`;
}
