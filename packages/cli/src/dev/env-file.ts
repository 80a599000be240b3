import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { usageError } from '../errors.ts';

export const ENV_FILE = '.env';

export interface EnvFile {
  values: Record<string, string>;
  /** What of it sets nothing, as a sentence. */
  warning?: string;
}

/** The variables of `<root>/.env`; none where there is no such file. Throws where it is there and cannot be read. */
export function readEnvFile(root: string): EnvFile {
  const file = join(root, ENV_FILE);
  const text = readText(file);
  return text === undefined ? { values: {} } : parse(text, file);
}

export interface EnvFileOptions {
  root: string;
  /** Is given the variables it has not set. */
  env: NodeJS.ProcessEnv;
  verbose: boolean;
  say(line: string): void;
}

/** Puts `.env` in force, and says when it changes from then on. Answers how to undo both. */
export function useEnvFile({ root, env, verbose, say }: EnvFileOptions): () => Promise<void> {
  const { values, warning } = readEnvFile(root);
  const names = Object.keys(values);
  const used = names.filter((name) => env[name] === undefined);
  for (const name of used) env[name] = values[name];
  if (warning) say(warning);
  if (names.length > 0) say(formatUsed({ names, used, verbose }));
  const stop = watchText(join(root, ENV_FILE), () => say(`${ENV_FILE} has changed. Restart svc dev to use it.`));
  return async () => {
    stop();
    for (const name of used) delete env[name];
  };
}

// --- internal ---

/** A line that sets a name, with the lines a quoted value goes on for. */
const ASSIGNMENT =
  /^[ \t]*(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_.-]*[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`|.*)[ \t]*(?:#.*)?$/gm;
const POLL_MS = 500;

/** Undefined: there is none. A folder of that name is none either: some keep a Python environment there. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EISDIR') return undefined;
    throw usageError(`"${file}" cannot be read: ${message}.`, 'Make it readable, or move it away: svc dev needs none.');
  }
}

/** Nothing of its text is repeated: it holds secrets. */
function parse(text: string, file: string): EnvFile {
  if (/[\0\uFFFD]/.test(text)) throw usageError(`"${file}" is no text in UTF-8.`, 'Save it as UTF-8.');
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const misfits = listMisfits(lines);
  // The parser takes a line that is none for the beginning of the next name.
  const fit = lines.filter((_, index) => !misfits.includes(index));
  const values = parseEnv(fit.join('\n')) as Record<string, string>;
  return { values, ...(misfits.length > 0 ? { warning: formatMisfits(misfits) } : {}) };
}

/** Which lines are neither an assignment nor empty nor a comment. */
function listMisfits(lines: string[]): number[] {
  const left = lines.join('\n').replaceAll(ASSIGNMENT, (found) => found.replaceAll(/[^\n]/g, ''));
  return left.split('\n').flatMap((line, index) => (/^\s*(?:#.*)?$/.test(line) ? [] : [index]));
}

function formatMisfits(misfits: number[]): string {
  const numbers = misfits.map((index) => index + 1).join(', ');
  const which = misfits.length === 1 ? `Line ${numbers} of ${ENV_FILE} sets` : `Lines ${numbers} of ${ENV_FILE} set`;
  return `${which} no variable. Write NAME=value, or begin a comment with "#".`;
}

function formatUsed({ names, used, verbose }: { names: string[]; used: string[]; verbose: boolean }): string {
  const list = verbose && used.length > 0 ? `: ${used.join(', ')}` : '';
  if (used.length < names.length)
    return `${used.length} of the ${names.length} variables in ${ENV_FILE} are used; the environment sets the others${list}.`;
  return `${used.length} ${used.length === 1 ? 'variable comes' : 'variables come'} from ${ENV_FILE}${list}.`;
}

/** Calls when the text becomes another than it was at first. Asked for by name, so that the file may come and go. */
function watchText(file: string, onChange: () => void): () => void {
  const first = findText(file);
  let last = first;
  const look = (): void => {
    const text = findText(file);
    if (text === last) return;
    last = text;
    if (text !== first) onChange();
  };
  watchFile(file, { interval: POLL_MS, persistent: false }, look);
  return () => unwatchFile(file, look);
}

function findText(file: string): string | undefined {
  try {
    return readText(file);
  } catch {
    return undefined;
  }
}
