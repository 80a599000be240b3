import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import { checkFolder } from '../dev/project.ts';
import { CliError } from '../errors.ts';
import type { Context } from '../context.ts';

/** The argument of every verb that reads a workspace. */
export const DIR_ARG = {
  type: 'positional',
  default: '.',
  description: 'The workspace folder. Default: this one.',
} as const;

/** The workspace a verb was pointed at, by its real path. Throws `no_project`. */
export function resolveWorkspace(dir: string, { cwd }: Pick<Context, 'cwd'>, command: string): string {
  const folder = resolve(cwd, dir);
  const root = existsSync(folder) ? realpathSync(folder) : folder;
  checkFolder(root, command);
  return root;
}

/** A failure that shows each problem with its place. */
export function problemsError(
  code: string,
  problems: readonly Problem[],
  words: { what: string; suggestion: string },
): CliError {
  const places = problems.map(({ file, line, code: found }) => `${file}:${line} ${found}`).join(', ');
  return new CliError(code, `${words.what}: ${places}.`, { suggestion: words.suggestion, details: { problems } });
}

/** `1 problem`, `2 problems`. */
export function countOf(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}
