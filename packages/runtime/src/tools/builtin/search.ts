import { createContext, Script } from 'node:vm';
import type { StateAnswer } from '../box-tool.ts';
import { refused } from './state-tool.ts';

/** Texts by path. A path has no leading slash. */
export type Files = Readonly<Record<string, string>>;

/** A pattern that takes longer is given up: a regular expression a model wrote may take for ever. */
const SEARCH_MS = 250;
const MAX_MATCHES = 200;
const MAX_LINE = 500;

/** The paths that match a pattern. */
export function findPaths(files: Files, { pattern, folder }: { pattern: string; folder: string }): StateAnswer {
  const found = search(toSource(pattern), '', belowFolder(files, folder).sort());
  if (!Array.isArray(found)) return refused(found.reason);
  const prefix = folder === '' ? '' : `${folder}/`;
  return { content: found.map(({ line }) => prefix + line).join('\n') || `No file matches "${pattern}".` };
}

export interface LineSearch {
  pattern: string;
  folder: string;
  glob?: string | undefined;
  ignore_case: boolean;
}

/** The lines that match a regular expression, at most 200 of them. */
export function findLines(files: Files, { pattern, folder, glob, ignore_case: ignoreCase }: LineSearch): StateAnswer {
  const chosen = glob === undefined ? undefined : search(toSource(glob), '', belowFolder(files, folder));
  if (chosen && !Array.isArray(chosen)) return refused(chosen.reason);
  const prefix = folder === '' ? '' : `${folder}/`;
  const paths = (chosen ? chosen.map(({ line }) => prefix + line) : Object.keys(files)).sort();
  const lines = paths.flatMap((path) => (files[path] ?? '').split('\n').map((text, n) => ({ path, text, n: n + 1 })));
  const found = search(
    pattern,
    ignoreCase ? 'i' : '',
    lines.map(({ text }) => text),
  );
  if (!Array.isArray(found)) return refused(found.reason);
  const shown = found.slice(0, MAX_MATCHES).flatMap(({ index }) => lines[index] ?? []);
  const rest = found.length > shown.length ? [`(more lines match; the first ${shown.length} are shown)`] : [];
  const numbered = shown.map(
    ({ path, text, n }) => `${path}:${n}: ${text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text}`,
  );
  return { content: [...numbered, ...rest].join('\n') || `No line matches "${pattern}".` };
}

// --- internal ---

interface Match {
  index: number;
  line: string;
}

const SCRIPT = new Script(`
  const expression = new RegExp(source, flags);
  const found = [];
  for (let i = 0; i < lines.length && found.length <= most; i++) if (expression.test(lines[i])) found.push(i);
  found.join(',');
`);

/** Runs where it can be stopped: nothing else ends a regular expression that has begun. */
function search(source: string, flags: string, lines: readonly string[]): Match[] | { reason: string } {
  try {
    const context = createContext({ source, flags, lines, most: Math.max(MAX_MATCHES, 500) });
    const found = String(SCRIPT.runInContext(context, { timeout: SEARCH_MS }));
    return found === '' ? [] : found.split(',').map((n) => ({ index: Number(n), line: lines[Number(n)] ?? '' }));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return { reason: `The pattern took longer than ${SEARCH_MS} ms. Write one without nested repetition.` };
    return { reason: `The pattern is not a regular expression: ${message}` };
  }
}

/** Paths as a pattern sees them that is meant from the folder. */
function belowFolder(files: Files, folder: string): string[] {
  return Object.keys(files).map((path) => (folder === '' ? path : path.slice(folder.length + 1)));
}

const PARTS = /\*\*\/|\*\*|\*|\?|\{|\}|,|\[[!^]?[^\]/]+\]|[^]/g;

/** A glob as the source of a regular expression over a whole path. */
function toSource(glob: string): string {
  let depth = 0;
  const parts = Array.from(glob.replace(/^\/+/, '').matchAll(PARTS), ([part]) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    if (part === '{') return (depth++, '(?:');
    if (part === '}' && depth > 0) return (depth--, ')');
    if (part === ',' && depth > 0) return '|';
    if (part.length > 2) return part.replace(/^\[!/, '[^').replaceAll('\\', '\\\\');
    return part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  });
  return `^${parts.join('')}${')'.repeat(depth)}$`;
}
