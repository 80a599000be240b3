import type { REFUSED_WORKFLOW_NAMES } from '@svc/runtime/host';
import type { Position } from '../ast.ts';
import type { Scan, ScannedEntry, ScannedWorkflow } from '../scan.ts';
import { workflowFileName } from '../workflow-names.ts';
import type { FoundIn } from './frame.ts';

/** Names that cannot stand in a route, and names a person would take for one. */
export function checkNames({ agents, workflows, guardrails, connections, scorers, files }: Scan): FoundIn[] {
  return [
    ...agents.flatMap((entry) => checkName(entry, { what: 'an agent', named: 'folder', ending: '' })),
    ...workflows.flatMap((entry) => [...checkName(entry, namedBy(entry)), ...checkRefused(entry)]),
    ...guardrails.flatMap((entry) => checkName(entry, declaredAs('guardrail', entry))),
    ...checkTwins('guardrail', guardrails),
    ...connections.flatMap(checkId),
    ...checkTwins('connection', connections),
    ...scorers.flatMap((entry) => checkName(entry, declaredAs('scorer', entry))),
    ...checkTwins('scorer', scorers),
    ...checkClashes('agents', agents),
    ...checkClashes('workflows', workflows),
    ...checkDuplicates(workflows, files),
  ];
}

export function isUsableName(name: string): boolean {
  return NAME.test(name);
}

// --- internal ---

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;
const CONNECTION_ID = /^[a-z][a-z0-9-]{0,62}$/;

// The compiler takes only types from the runtime; the annotation keeps the two lists equal.
const REFUSED: typeof REFUSED_WORKFLOW_NAMES = ['runs', 'hooks'];

const TOP = { line: 1, column: 1 };

interface Named {
  what: string;
  /** What has to be renamed. */
  named: string;
  ending: string;
}

/** Of a file with several workflows the functions have the names. */
function namedBy({ name, file, exportName }: ScannedWorkflow): Named {
  const what = 'a workflow';
  if (name === workflowFileName(file))
    return { what, named: 'file', ending: file.slice(file.lastIndexOf('.workflow')) };
  return { what, named: `function "${exportName}"`, ending: '' };
}

function declaredAs(kind: 'guardrail' | 'scorer', { file }: ScannedEntry): Named {
  return { what: `a ${kind}`, named: 'file', ending: file.slice(file.lastIndexOf(`.${kind}`)) };
}

function checkName({ name, file }: ScannedEntry, { what, named, ending }: Named): FoundIn[] {
  if (isUsableName(name)) return [];
  const better = suggestName(name);
  const renamed = better && !named.startsWith('function') ? ` to "${better}${ending}"` : '';
  const message = `"${name}" cannot be the name of ${what}. Use 1 to 64 lower-case letters, digits, "-" and "_", beginning with a letter or a digit: rename the ${named}${renamed}.`;
  return [{ code: 'name_invalid', message, file, ...TOP }];
}

function suggestName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, MAX_LENGTH);
}

function checkRefused(entry: ScannedWorkflow): FoundIn[] {
  const { name, file } = entry;
  if (!REFUSED.some((refused) => refused === name)) return [];
  const message = `A workflow cannot be named "${name}": /api/workflows/${name} is a route of the box. Rename the ${namedBy(entry).named}.`;
  return [{ code: 'name_refused', message, file, ...TOP }];
}

/** Every workflow has a route of its own. */
function checkDuplicates(workflows: ScannedWorkflow[], files: Scan['files']): FoundIn[] {
  const owners = new Map<string, ScannedWorkflow>();
  return workflows.flatMap((entry) => {
    const first = owners.get(entry.name);
    owners.set(entry.name, first ?? entry);
    if (!first) return [];
    const describe = (one: ScannedWorkflow) => {
      const { line } = placeOf(one, files);
      return `${one.exportName === null ? 'the workflow' : `"${one.exportName}"`} in ${one.file}:${line}`;
    };
    const message = `There are two workflows "${entry.name}": ${describe(first)} and ${describe(entry)}. Rename one of them.`;
    return [{ code: 'workflow_duplicate', message, file: entry.file, ...placeOf(entry, files) }];
  });
}

/** `a.guardrail.ts` and `a.guardrail.tsx`. */
function checkTwins(kind: 'guardrail' | 'connection' | 'scorer', entries: ScannedEntry[]): FoundIn[] {
  return entries.flatMap(({ name, file }, index) => {
    const twin = entries[index - 1]?.name === name ? entries[index - 1] : entries[index + 1];
    if (twin?.name !== name) return [];
    const message = `There are two ${kind}s "${name}": ${file} and ${twin.file}. Rename one of them.`;
    return [{ code: `${kind}_duplicate` as const, message, file, ...TOP }];
  });
}

/** Of a connection: as the box takes it over the API. */
function checkId({ name, file }: ScannedEntry): FoundIn[] {
  if (CONNECTION_ID.test(name) && name !== 'providers') return [];
  const advice =
    name === 'providers'
      ? '/api/connections/providers is a route of the box: rename the file'
      : 'Use 1 to 63 lower-case letters, digits and "-", beginning with a letter: rename the file';
  return [{ code: 'name_invalid', message: `"${name}" cannot be the id of a connection. ${advice}.`, file, ...TOP }];
}

function placeOf({ file, exportName }: ScannedWorkflow, files: Scan['files']): Position {
  const found = files[file]?.workflows.find((one) => one.exportName !== null && one.exportName === exportName);
  return found ? { line: found.line, column: found.column } : TOP;
}

function checkClashes(kind: 'agents' | 'workflows', entries: ScannedEntry[]): FoundIn[] {
  const alike = new Map<string, ScannedEntry[]>();
  for (const entry of entries) {
    const key = entry.name.toLowerCase();
    alike.set(key, [...(alike.get(key) ?? []), entry]);
  }
  return entries.flatMap(({ name, file }) => {
    const other = alike.get(name.toLowerCase())?.find((one) => one.file !== file);
    if (!other) return [];
    if (other.name === name) return [];
    const message = `The ${kind} "${name}" and "${other.name}" differ only in case. Rename one of them.`;
    return [{ code: 'name_clash', message, file, ...TOP }];
  });
}
