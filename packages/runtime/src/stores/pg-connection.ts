import { setTimeout as sleep } from 'node:timers/promises';
import { openPg } from './pg.ts';
import type { SqlConnection } from './sql.ts';

export interface PgConnectionOptions {
  /**
   * How long it counts as not steady once it has been lost, in milliseconds. What has cost this process its connection may have
   * cost others theirs, and they need a moment to come back. Default: 5,000.
   */
  steadyMs?: number;
}

/** One connection to a PostgreSQL server that stays open, and is reopened as soon as it is lost. */
export function openPgConnection(url: string, { steadyMs = STEADY_MS }: PgConnectionOptions = {}): SqlConnection {
  let work: Parameters<SqlConnection['keep']>[0] | undefined;
  const closing = new AbortController();
  let isLost = false;
  let steadyFrom = 0;
  let reopening: Promise<void> | undefined;

  const reopen = async (): Promise<void> => {
    for (let pause = SOON_MS; !closing.signal.aborted; pause = Math.min(2 * pause, LATEST_MS)) {
      const isOpen = await client.query('select 1').then(
        () => true,
        () => false,
      );
      if (isOpen) return;
      // A process that ends waits for no connection.
      await sleep(pause, undefined, { ref: false });
    }
  };
  const client = openPg(url, {
    connections: 1,
    keepsIdle: true,
    async onOpen(session) {
      if (client.isDirect) await work?.(session).catch(() => {});
      if (isLost) steadyFrom = performance.now() + steadyMs;
      isLost = false;
    },
    onGone() {
      isLost = true;
      if (!closing.signal.aborted) reopening ??= reopen().finally(() => (reopening = undefined));
    },
  });
  return {
    query: client.query,
    exec: client.exec,
    transaction: client.transaction,
    get isSteady() {
      return !isLost && performance.now() >= steadyFrom;
    },
    async keep(given) {
      work = given;
      await client.ready;
      if (client.isDirect) await client.transaction(given);
    },
    close() {
      closing.abort();
      return client.close();
    },
  };
}

// --- internal ---

/** Between two attempts to reopen it, at first and at most, in milliseconds. */
const SOON_MS = 20;
const LATEST_MS = 500;
const STEADY_MS = 5_000;
