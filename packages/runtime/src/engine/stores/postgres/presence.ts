import { randomBytes } from 'node:crypto';
import type { SqlClient, SqlConnection } from '../../../stores/sql.ts';
import { real } from '../../real.ts';
import type { RunLeases } from '../../journal/leases.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import { attendQuery, expireLeasesQuery, expireOwnersQuery, forgetLocksQuery } from './owners.ts';

/**
 * A process holds an advisory lock on the connection of its leases. When it is gone, the server closes that session and
 * gives up the lock, which is how others know. One that is only paused keeps it, and of one that cannot be reached any more
 * the server knows no better: there the lease decides.
 */
export interface Presence extends Pick<RunLeases, 'attend' | 'expire'> {
  /** What a look has found silent, unless this process cannot tell. */
  judge(silent: string[]): string[];
}

export interface PresenceOptions {
  sql: SqlClient;
  tables: Tables;
  /** Undefined: no lock is held. */
  connection: SqlConnection | undefined;
}

export function createPresence({ sql, tables, connection }: PresenceOptions): Presence {
  const queries = {
    attend: attendQuery(tables),
    owners: expireOwnersQuery(tables),
    leases: expireLeasesQuery(tables),
    forget: forgetLocksQuery(tables),
  };
  /** False: some are held up by commits under way. */
  const expireLeases = async (owners: string[]): Promise<boolean> => {
    let before = Infinity;
    for (let pause = 0; pause < MOST_PAUSES;) {
      const [row] = await sql.query<{ left: number }>(queries.leases, [owners]);
      const left = row?.left ?? 0;
      if (left === 0) return true;
      if (left >= before) {
        pause += 1;
        await new Promise((resolve) => real.setTimeout(resolve, PAUSE_MS));
      }
      before = left;
    }
    return false;
  };
  return {
    judge: (silent) => (connection && !connection.isSteady ? [] : silent.map(fromStoredText)),
    async attend(owner) {
      // A lock of its own for each session: none waits for the one before, which the server may take for alive.
      await connection?.keep(async (session) => {
        const key = randomBytes(8).readBigInt64BE().toString();
        await session.query(queries.attend, [toStoredText(owner), key]);
      });
    },
    async expire(given) {
      const gone = await sql.query<{ owner: string; key: string }>(queries.owners, [given.map(toStoredText)]);
      const owners = gone.map(({ owner }) => owner);
      if (owners.length > 0 && (await expireLeases(owners)))
        await sql.query(queries.forget, [owners, gone.map(({ key }) => key)]);
      return owners.map(fromStoredText);
    },
  };
}

// --- internal ---

const MOST_PAUSES = 20;
const PAUSE_MS = 10;
