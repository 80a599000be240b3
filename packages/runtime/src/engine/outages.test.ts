import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import { findFlaws, openWorld } from './_faults.ts';
import type { World } from './_faults.ts';
import { newJournalPath, step, until } from './_setup.ts';
import type { Journal } from './journal.ts';
import { createDatabase, openPgClient } from './stores/_clients.ts';
import { openPostgresJournal } from './stores/postgres/journal.ts';
import { findSqlite } from './stores/sqlite/driver.ts';
import type { SqliteDatabase } from './stores/sqlite/driver.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';
import { POISON_LIMIT } from './worker/suspects.ts';

// A store that is away for longer than a lease looks to others like a process that has died.

const LEASE_MS = 150;

/** One long step, on so many processes, through more outages than deaths would convict it. */
async function goThroughOutages(journal: Journal, processes: number): Promise<void> {
  let isOpen = false;
  const code = () => ({
    go: async () =>
      step('long', async () => {
        await until(() => isOpen, 60_000);
        return 'done';
      })(),
  });
  const worlds: World[] = [];
  for (let n = 0; n < processes; n++) worlds.push(await openWorld(journal, code, { leaseMs: LEASE_MS }));
  try {
    const [first] = worlds as [World];
    const runId = await first.start('go');
    let { epoch } = await first.until(runId, ({ owner }) => owner !== null);
    for (let outage = 0; outage <= POISON_LIMIT + 1; outage++) {
      const held = await journal.getRun(runId);
      const holder = worlds.find(({ owner }) => owner === held?.owner) ?? first;
      holder.faulty.break('fail', 1, Infinity);
      // Alone, it has its run still: no one else was there to take it.
      if (processes === 1) await until(() => holder.faulty.suffered().length >= 15, 20_000);
      else ({ epoch } = await first.until(runId, (run) => run.epoch > epoch && run.owner !== held?.owner));
      holder.faulty.heal();
    }
    isOpen = true;
    const run = await first.final(runId);
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(run.crashCount).toBeLessThan(POISON_LIMIT);
  } finally {
    isOpen = true;
    for (const world of worlds) await world.close();
  }
}

/** The last records of a run are gone while it works, as after a failover to a server that had not got them yet. */
async function goThroughLoss(journal: Journal, remove: (runId: string, from: number) => unknown): Promise<void> {
  const begun: number[] = [];
  const gates = new Map<number, () => void>();
  const code = () => ({
    async go() {
      const work = step('work', async (n: number) => {
        begun.push(n);
        if (n >= 3) await new Promise<void>((resolve) => gates.set(n, resolve));
        return n;
      });
      return [await work(0), await work(1), await work(2), await work(3), await work(4)];
    },
  });
  const world = await openWorld(journal, code);
  try {
    const runId = await world.start('go');
    await until(() => gates.has(3));
    await world.until(runId, ({ seq }) => seq === 3);
    await remove(runId, 1);
    gates.get(3)?.();
    // It begins again behind what is left.
    gates.delete(3);
    for (const n of [3, 4]) {
      await until(() => gates.has(n), 20_000);
      gates.get(n)?.();
    }
    expect(await world.output(runId)).toEqual([0, 1, 2, 3, 4]);
    expect(begun).toEqual([0, 1, 2, 3, 1, 2, 3, 4]);
    expect(await findFlaws(journal, runId)).toEqual([]);
  } finally {
    for (const go of gates.values()) go();
    await world.close();
  }
}

describe('a store that is away', () => {
  test('again and again during a long step convicts no run, on SQLite', { timeout: 60_000 }, async () => {
    const path = newJournalPath();
    const journal = await openSqliteJournal({ path });
    await goThroughOutages(journal, 1);
    await journal.close();
    await rm(dirname(path), { recursive: true, force: true });
  });

  test('and records that are lost are made again, on SQLite', { timeout: 60_000 }, async () => {
    const path = newJournalPath();
    const journal = await openSqliteJournal({ path });
    const db = (await findSqlite()).opener?.open(path) as SqliteDatabase;
    await goThroughLoss(journal, (runId, from) => {
      db.exec(`delete from run_events where run_id = '${runId}' and seq >= ${from}`);
      db.exec(`update runs set seq = ${from} where run_id = '${runId}'`);
    });
    db.close();
    await journal.close();
    await rm(dirname(path), { recursive: true, force: true });
  });

  describeWhen(realServers.database, 'on Postgres', (server) => {
    let database: { url: string; drop(): Promise<void> };
    let sql: ReturnType<typeof openPgClient>;
    let journal: Journal;
    beforeAll(async () => {
      database = await createDatabase(server);
      sql = openPgClient(database.url);
      journal = await openPostgresJournal({ sql });
    });
    afterAll(async () => {
      await journal.close();
      await sql.close();
      await database.drop();
    });

    test('and records that are lost are made again', { timeout: 60_000 }, () =>
      goThroughLoss(journal, (runId, from) =>
        sql.exec(`
          delete from journal.run_events where run_id = '${runId}' and seq >= ${from};
          update journal.runs set seq = ${from} where run_id = '${runId}'`),
      ),
    );

    test.each([1, 2])(
      'again and again during a long step convicts no run, with %i replicas',
      { timeout: 60_000 },
      (replicas) => goThroughOutages(journal, replicas),
    );
  });
});
