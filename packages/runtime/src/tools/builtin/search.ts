import type { StateAnswer } from '../box-tool.ts';
import type { Patterns } from './patterns.ts';
import { refused } from './state-tool.ts';

/** Texts by path. A path has no leading slash. */
export type Files = Readonly<Record<string, string>>;

const MAX_MATCHES = 200;
const MAX_LINE = 500;
const MAX_PATHS = 500;

/** What finds things in files, and whose time it takes. */
export interface Searcher {
  patterns: Patterns;
  whose: object;
}

/** The paths that match a pattern. */
export async function findPaths(
  files: Files,
  { pattern, folder }: { pattern: string; folder: string },
  searcher: Searcher,
): Promise<StateAnswer> {
  const found = await matchPaths(files, { pattern, folder }, searcher);
  if (typeof found === 'string') return refused(found);
  return { content: found.join('\n') || `No file matches "${pattern}".` };
}

export interface LineSearch {
  pattern: string;
  folder: string;
  glob?: string | undefined;
  ignore_case: boolean;
}

/** The lines that match a regular expression, at most 200 of them. */
export async function findLines(
  files: Files,
  { pattern, folder, glob, ignore_case: ignoreCase }: LineSearch,
  searcher: Searcher,
): Promise<StateAnswer> {
  const chosen = glob === undefined ? undefined : await matchPaths(files, { pattern: glob, folder }, searcher);
  if (typeof chosen === 'string') return refused(chosen);
  const paths = (chosen ?? Object.keys(files)).toSorted();
  const found = await searcher.patterns.search(searcher.whose, {
    source: pattern,
    isCaseIgnored: ignoreCase,
    texts: paths.map((path) => files[path] ?? ''),
    byLine: true,
    most: MAX_MATCHES + 1,
    width: MAX_LINE + 1,
  });
  if (typeof found === 'string') return refused(found);
  const shown = found
    .slice(0, MAX_MATCHES)
    .map(({ text, line, shown: words }) => `${paths[text]}:${line + 1}: ${shorten(words)}`);
  const rest = found.length > shown.length ? [`(more lines match; the first ${shown.length} are shown)`] : [];
  return { content: [...shown, ...rest].join('\n') || `No line matches "${pattern}".` };
}

// --- internal ---

/** Whole paths, in their order. */
async function matchPaths(
  files: Files,
  { pattern, folder }: { pattern: string; folder: string },
  { patterns, whose }: Searcher,
): Promise<string[] | string> {
  const texts = belowFolder(files, folder).toSorted();
  const search = { source: toSource(pattern), texts, byLine: false, most: MAX_PATHS, width: Infinity };
  const found = await patterns.search(whose, search);
  const prefix = folder === '' ? '' : `${folder}/`;
  return typeof found === 'string' ? found : found.map(({ shown }) => prefix + shown);
}

function shorten(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
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
