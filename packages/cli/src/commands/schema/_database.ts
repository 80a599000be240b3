import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoreClient } from '@svc/runtime/host';
import { CliError } from '../../errors.ts';
import type { Context } from '../../context.ts';

/** The database of a workspace, for one command. */
export interface WorkspaceDatabase {
  client: StoreClient;
  /** Whether it is the one in `.svc`, opened here or by a running `svc dev`. */
  isEmbedded: boolean;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  root: string;
  env: Context['env'];
  /** Whether an embedded database that is not there yet is made. */
  mayCreate: boolean;
}

/**
 * The server of DATABASE_URL, else that of a running `svc dev`, else the embedded database in `.svc`. Undefined: there is
 * none yet.
 */
export async function openWorkspaceDatabase(options: DatabaseOptions): Promise<WorkspaceDatabase | undefined> {
  const { root, env, mayCreate } = options;
  const { acquireLock, openDatabase, openPg, openPglite } = await import('@svc/runtime/host');
  const { readDatabaseUrl } = await import('../../dev/environment.ts');
  const url = readDatabaseUrl(env);
  if (url !== undefined) return openServer(openPg(url), { isEmbedded: false });
  const dataDir = join(root, '.svc/pgdata');
  if (!mayCreate && !existsSync(dataDir)) return undefined;
  const lock = await acquireLock(join(root, '.svc/dev.lock')).catch((error: { code?: string }) => {
    if (error.code === 'already_running') return undefined;
    throw error;
  });
  if (!lock) return openServer(openPg(readDevUrl(root)), { isEmbedded: true });
  // The box's own tables as well: the project's may use what comes with them, vectors for example.
  const database = openDatabase(openPglite({ dataDir }));
  const close = async (): Promise<void> => {
    await database.close();
    lock.release();
  };
  return opened({ client: database.client, isEmbedded: true, close }, database.ready);
}

// --- internal ---

function openServer(client: StoreClient, { isEmbedded }: { isEmbedded: boolean }): Promise<WorkspaceDatabase> {
  return opened({ client, isEmbedded, close: () => client.close() }, client.ready);
}

async function opened(database: WorkspaceDatabase, ready: Promise<void>): Promise<WorkspaceDatabase> {
  try {
    await ready;
    return database;
  } catch (error) {
    await database.close().catch(() => {});
    const { code, message, details = {} } = error as { code?: string; message: string; details?: object };
    throw new CliError(code && /^[a-z_]+$/.test(code) ? code : 'store_unavailable', message, {
      suggestion: 'Start the database, or correct DATABASE_URL.',
      details: { ...details },
    });
  }
}

/** The port on which `svc dev` serves its database to other programs. */
function readDevUrl(root: string): string {
  const file = join(root, '.svc/services.env');
  const [, url] = /^DATABASE_URL=(.+)$/m.exec(existsSync(file) ? readFileSync(file, 'utf8') : '') ?? [];
  if (url) return url;
  throw new CliError('dev_not_running', 'A svc dev has this workspace, and does not serve its database yet.', {
    suggestion: 'Wait until it serves, then run the command again.',
  });
}
