import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Problem } from '@svc/runtime/host';
import { frameOf } from './code-frame.ts';
import { placeMissing } from './missing-export.ts';

/** Where in the workspace a module failed to load: a syntax error by its place, a thrown one by its stack. */
export function toProblem(thrown: unknown, { root, file }: { root: string; file: string }): Problem {
  const error: LoadError = thrown instanceof Error ? thrown : new Error(String(thrown));
  const found =
    findMissingExport(error, root) ??
    findSyntaxError(error, root, file) ??
    findMissingModule(error, root) ??
    findThrow(error, root, file);
  return { ...found, frame: frameOf(root, found) };
}

// --- internal ---

/** What a parser or Vite adds to an error. */
interface LoadError extends Error {
  id?: unknown;
  loc?: Location;
  /** Vite's own parser reports several at once. */
  errors?: BundleError[];
}

interface BundleError {
  message: string;
  loc?: Location;
  code?: string;
  /** The module an import is from. */
  exporter?: string;
}

interface Location {
  file?: string;
  line: number;
  /** 0-based. */
  column: number;
}

type Found = Omit<Problem, 'frame'>;

function findMissingExport({ errors }: LoadError, root: string): Found | undefined {
  const [first] = errors ?? [];
  if (first?.code !== 'MISSING_EXPORT' || !first.exporter || !first.loc?.file) return undefined;
  const { file, line, column } = first.loc;
  const [, name = ''] = /"([^"]+)" is not exported/.exec(first.message) ?? [];
  const place = { file: toPosix(relative(root, file)), module: toPosix(relative(root, first.exporter)), name };
  // The bundler names the line of what the file was made to: only the file as it is written says where the import is.
  const { message, at = { line, column: column + 1 } } = placeMissing(root, place);
  return { code: 'export_missing', message, file: place.file, ...at };
}

function findSyntaxError(error: LoadError, root: string, file: string): Found | undefined {
  const first = error.errors?.[0];
  const loc = first?.loc ?? error.loc;
  if (!loc) return undefined;
  const path = loc.file ?? (typeof error.id === 'string' ? error.id.split('?')[0] : undefined);
  const reason = firstLine(first?.message ?? error.message).replace(/^\[\w+\]\s*/, '');
  return {
    code: 'syntax_error',
    message: first ? `This file does not parse: ${reason}.` : reason,
    file: path ? toPosix(relative(root, path)) : file,
    line: loc.line,
    column: loc.column + 1,
  };
}

/** The two sentences in which Vite says that an import leads nowhere: to no file, to no package. */
const MISSING = [
  /^Failed to load url (?<name>\S+) \(resolved id: .*\) in (?<importer>.+)\. Does the file exist\?$/,
  /^Cannot find module '(?<name>.+)' imported from '(?<importer>.+)'$/,
];

function findMissingModule(error: Error, root: string): Found | undefined {
  const { name, importer } =
    MISSING.map((pattern) => pattern.exec(firstLine(error.message))?.groups).find(Boolean) ?? {};
  if (!name || !importer?.startsWith(root + sep)) return undefined;
  const file = toPosix(relative(root, importer));
  const lines = readLines(root, file);
  const index = lines.findIndex((line) => line.includes(`'${name}'`) || line.includes(`"${name}"`));
  const what = /^[./]/.test(name) ? 'Correct the path, or write the file' : 'Install the package, or correct its name';
  return {
    code: 'module_not_found',
    message: `The module "${name}" cannot be found. ${what}.`,
    file,
    line: Math.max(0, index) + 1,
    column: Math.max(0, lines[index]?.indexOf(name) ?? 0) + 1,
  };
}

function findThrow(error: LoadError, root: string, file: string): Found {
  return {
    code: 'module_load_failed',
    message: sentenceOf(error),
    ...(placeOfStack(error, root) ?? { file, line: 1, column: 1 }),
  };
}

/** What went wrong; where Vite's parser says only how many errors there are, the first of them. */
function sentenceOf({ errors, message }: LoadError): string {
  const text = firstLine(errors?.[0]?.message ?? message).replace(/^\[\w+\]\s*/, '');
  return text || 'The module does not load.';
}

function placeOfStack(error: Error, root: string): Pick<Found, 'file' | 'line' | 'column'> | undefined {
  for (const line of error.stack?.split('\n') ?? []) {
    const match = /(?:\(|at )(?:file:\/\/)?([^():]+):(\d+):(\d+)\)?$/.exec(line.trim());
    if (!match?.[1]?.startsWith(root + sep) || match[1].includes(`${sep}node_modules${sep}`)) continue;
    return { file: toPosix(relative(root, match[1])), line: Number(match[2]), column: Number(match[3]) };
  }
  return undefined;
}

function readLines(root: string, file: string): string[] {
  try {
    return readFileSync(join(root, file), 'utf8').split('\n');
  } catch {
    return [];
  }
}

/** The first line that says something; Vite's parser puts a title and colours around it. */
function firstLine(text: string): string {
  return stripVTControlCharacters(text).trim().split('\n')[0]?.trim() ?? '';
}

function toPosix(path: string): string {
  return path.split(sep).join('/');
}
