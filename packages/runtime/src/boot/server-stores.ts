import type { Journal } from '../engine/journal.ts';
import { DEFAULT_SCHEMA, openPostgresJournal } from '../engine/stores/postgres/journal.ts';
import { makeViews } from '../engine/stores/postgres/views.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { openDatabase } from '../stores/database.ts';
import type { Database } from '../stores/database.ts';
import { openRedisKv } from '../stores/kv-redis.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { openPgConnection } from '../stores/pg-connection.ts';
import { openPg } from '../stores/pg.ts';
import type { PgClient } from '../stores/pg.ts';

// What a box keeps on one PostgreSQL server, over pools of their own: code of the workspace may hold every connection of the
// database for as long as it likes, and runs still go on.

/** How long a statement of `svc.database` may take, where nothing else is said. */
export const STATEMENT_TIMEOUT_S = 60;

/** The relational store. Answers at once, as `openDatabase` does. */
export function openServerDatabase(
  url: string,
  { statementTimeoutS = STATEMENT_TIMEOUT_S }: { statementTimeoutS?: number } = {},
): Database<PgClient> {
  return openDatabase(openPg(url, { statementTimeoutMs: statementTimeoutS * 1_000 }));
}

/** The journal, with the views that people read it by. It closes its connections when it is closed. */
export async function openServerJournal(url: string, { schema }: { schema?: string } = {}): Promise<Journal> {
  const sql = openPg(url, { connections: JOURNAL_CONNECTIONS });
  // A lease that is not renewed in time is lost, and every step under way begins again elsewhere.
  const leases = openPgConnection(url);
  const close = () => Promise.all([sql.close(), leases.close()]);
  try {
    const journal = await openPostgresJournal({ sql, leases, ...(schema === undefined ? {} : { schema }) });
    if (schema === undefined) await makeViews(sql, DEFAULT_SCHEMA);
    return { ...journal, close: () => journal.close().finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The key-value store. Its names hold the installation: boxes of one name and other databases, as those that keep the
 * default names, share nothing. The channels of a Redis server are the same in each of its databases.
 */
export function openServerKv({ environment, identity, log }: ServerKvOptions): KeyValueStore {
  const { kvUrl: url, orgSlug } = environment;
  return openRedisKv({ url, prefix: `${orgSlug}:${identity.agentId}:${identity.installationId}`, log });
}

/** What the server or the network says, as a sentence; a refusal of ours is one already. */
export function toDatabaseError(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  const { message, code } = error as { message?: string; code?: string };
  const reason = `The database that DATABASE_URL names cannot be used: ${message || code || String(error)}.`;
  return new BoxError('store_unavailable', `${reason} Start its server, or correct the address.`, { cause: error });
}

// --- internal ---

interface ServerKvOptions {
  environment: { kvUrl: string; orgSlug: string };
  identity: { agentId: string; installationId: string };
  log: Log;
}

/** One commit is under way at a time; the others are for reads, cancels, resumes, and starts with a key or a lock. */
const JOURNAL_CONNECTIONS = 6;
