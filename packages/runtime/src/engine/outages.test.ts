import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import { openWorld } from './_faults.ts';
import type { World } from './_faults.ts';
import { newJournalPath, step, until } from './_setup.ts';
import type { Journal } from './journal.ts';
import { createDatabase, openPgClient } from './stores/_clients.ts';
import { openPostgresJournal } from './stores/postgres/journal.ts';
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
      // Alone, it has its run still: nobody else was there to take it.
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

describe('a long step during which the store is away again and again convicts nobody', () => {
  test('on SQLite', { timeout: 60_000 }, async () => {
    const path = newJournalPath();
    const journal = await openSqliteJournal({ path });
    await goThroughOutages(journal, 1);
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

    test.each([1, 2])('with %i replicas', { timeout: 60_000 }, (replicas) => goThroughOutages(journal, replicas));
  });
});
