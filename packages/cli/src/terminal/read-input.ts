import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from '../errors.ts';
import type { Context } from '../context.ts';

/** A file of the command line as text; `-` is what a pipe brings. Throws `file_unreadable`. */
export async function readTextFile(
  file: string,
  { flag, context }: { flag: string; context: Pick<Context, 'cwd' | 'readStdin'> },
): Promise<string> {
  if (file === '-') {
    const piped = await context.readStdin();
    if (piped !== undefined) return piped;
    throw new CliError('file_unreadable', `--${flag} - reads what a pipe brings, and there is none.`, {
      suggestion: 'Name a file, or pipe one in.',
    });
  }
  const text = await readFile(resolve(context.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      'file_unreadable',
      `The file "${file}" cannot be read: ${READ_PROBLEMS[error.code ?? ''] ?? error.message}.`,
      { suggestion: `Check the path of --${flag}; it is relative to the current folder.` },
    );
  });
  return text.replace(/^\uFEFF/, '');
}

export interface JsonFlag {
  /** Without its dashes; that of the file has `-file` behind it. */
  flag: string;
  text: string | undefined;
  file: string | undefined;
}

/** The JSON value of a flag, which wins over that of a file; undefined without both. Throws `invalid_json`. */
export async function readJson(
  { flag, text, file }: JsonFlag,
  context: Pick<Context, 'cwd' | 'readStdin'>,
): Promise<unknown> {
  if (text !== undefined) return parseJson(text, `The value of --${flag}`, flag);
  if (file === undefined) return undefined;
  return parseJson(await readTextFile(file, { flag: `${flag}-file`, context }), `The file "${file}"`, flag);
}

/** Why a file is not read, in words. */
export const READ_PROBLEMS: Record<string, string | undefined> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission is denied',
  ENOTDIR: 'a part of the path is a file',
  ENAMETOOLONG: 'the name is too long',
};

// --- internal ---

function parseJson(text: string, subject: string, flag: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CliError('invalid_json', `${subject} is not valid JSON: ${(error as Error).message}.`, {
      suggestion: `Quote JSON for the shell, as in --${flag} '{"name":"Ada"}', or put it into a file for --${flag}-file.`,
    });
  }
}
