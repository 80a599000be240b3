import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { CliError, usageError } from '../../errors.ts';
import { checkPlace } from '../../workspace/place.ts';

export const KEY_FILE = 'secret.key';
export const DATABASE_FILE = 'plane.db';

export const DATA_ARG = {
  type: 'string',
  valueHint: 'folder',
  description: 'Where its database and its key are. Default: ~/.local/share/svc/plane, or under XDG_DATA_HOME.',
} as const;

/** Where the control plane of this machine keeps what it knows: what is named, else a folder of the person's own. */
export function findDataFolder(named: string | undefined, { env, cwd }: Pick<Context, 'env' | 'cwd'>): string {
  if (named !== undefined) {
    const folder = resolve(cwd, named);
    checkPlace(folder, { flag: 'data-dir', kind: 'folder' });
    return folder;
  }
  const { XDG_DATA_HOME: data = '', HOME: home = '' } = env;
  // The XDG rules: a path that is not absolute is to be ignored.
  if (isAbsolute(data)) return join(data, 'svc/plane');
  if (isAbsolute(home)) return join(home, '.local/share/svc/plane');
  throw usageError('There is no place for the data: HOME is not set.', 'Name a folder: svc plane --data-dir ./plane');
}

/**
 * The folder of a command beside a control plane. Throws where the environment says that its people are in PostgreSQL, and no
 * folder is named: another control plane than that one would be read, or written.
 */
export function findFolderBeside(named: string | undefined, context: Pick<Context, 'env' | 'cwd'>): string {
  if (named !== undefined || !context.env.PLANE_DATABASE_URL) return findDataFolder(named, context);
  throw usageError(
    'PLANE_DATABASE_URL is set: that control plane has its people in PostgreSQL, which this verb does not reach.',
    'Use `svc-control-plane` of its image, which does; or name a folder of this machine with --data-dir <folder>.',
  );
}

/**
 * The same, where a control plane has been. Throws `not_found`; `also`: what else does not come of it, as the message says it.
 */
export function requireStore(
  named: string | undefined,
  context: Pick<Context, 'env' | 'cwd'>,
  { also = '', suggestion = 'Name its folder with --data-dir <folder>.' } = {},
): string {
  const folder = findFolderBeside(named, context);
  if (existsSync(join(folder, DATABASE_FILE))) return folder;
  throw new CliError('not_found', `"${folder}" has no control plane in it${also}.`, { suggestion });
}

/** The key in the folder, which is made where there is none. A folder that has a database and no key is refused. */
export async function readSecretKey(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const file = join(folder, KEY_FILE);
  if (!existsSync(file) && existsSync(join(folder, DATABASE_FILE)))
    throw new CliError('secret_key_missing', `"${folder}" has a database, and its key "${KEY_FILE}" is missing.`, {
      suggestion: 'Bring the file back from where the backup of it is, or begin in another folder with --data-dir.',
    });
  const { openKeyFile } = await import('@svc/control-plane');
  const key = (await openKeyFile(file)).trim();
  if (Buffer.from(key, 'base64').length === KEY_BYTES) return key;
  throw new CliError('secret_key_invalid', `"${file}" does not hold 32 bytes in base64.`, {
    suggestion: 'Bring back the file it was; without it nothing the database has sealed opens.',
  });
}

// --- internal ---

const KEY_BYTES = 32;
