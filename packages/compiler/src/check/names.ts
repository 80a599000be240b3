import type { REFUSED_WORKFLOW_NAMES } from '@svc/runtime/host';
import type { Scan, ScannedEntry } from '../scan.ts';
import type { FoundIn } from './frame.ts';

/** Names that cannot stand in a route, and names a person would take for one. */
export function checkNames({ agents, workflows }: Scan): FoundIn[] {
  return [
    ...agents.flatMap((entry) => checkName('agent', entry)),
    ...workflows.flatMap((entry) => checkName('workflow', entry)),
    ...workflows.flatMap(checkRefused),
    ...checkClashes('agents', agents),
    ...checkClashes('workflows', workflows),
  ];
}

export function isUsableName(name: string): boolean {
  return NAME.test(name);
}

// --- internal ---

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;

// The compiler takes only types from the runtime; the annotation keeps the two lists equal.
const REFUSED: typeof REFUSED_WORKFLOW_NAMES = ['runs', 'hooks'];

const TOP = { line: 1, column: 1 };

function checkName(kind: 'agent' | 'workflow', { name, file }: ScannedEntry): FoundIn[] {
  if (isUsableName(name)) return [];
  const better = suggestName(name);
  const renamed = better && (kind === 'agent' ? ` to "${better}"` : ` to "${better}.workflow.ts"`);
  const message = `"${name}" cannot be the name of ${kind === 'agent' ? 'an agent' : 'a workflow'}. Use 1 to 64 lower-case letters, digits, "-" and "_", beginning with a letter or a digit: rename the ${kind === 'agent' ? 'folder' : 'file'}${renamed}.`;
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

function checkRefused({ name, file }: ScannedEntry): FoundIn[] {
  if (!REFUSED.some((refused) => refused === name)) return [];
  const message = `A workflow cannot be named "${name}": /api/workflows/${name} is a route of the box. Rename the file.`;
  return [{ code: 'name_refused', message, file, ...TOP }];
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
    const message = `The ${kind} "${name}" and "${other.name}" differ only in case. Rename one of them.`;
    return [{ code: 'name_clash', message, file, ...TOP }];
  });
}
