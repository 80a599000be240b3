import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import type { Journal } from '../engine/journal.ts';
import { createDatabase } from '../engine/stores/_clients.ts';
import { openPostgresJournal } from '../engine/stores/postgres/journal.ts';
import { openSqliteJournal } from '../engine/stores/sqlite/journal.ts';
import { BoxError } from '../errors.ts';
import { createLog } from '../log.ts';
import { openPg } from '../stores/pg.ts';
import { createFiring } from './fire.ts';
import type { StartJob } from './fire.ts';

const log = createLog({ level: 'silent', write() {} });

describe('timers on SQLite', () => {
  describeFiring(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fire-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    return async () => {
      const journal = await openSqliteJournal({ path: join(folder, 'journal.db') });
      onTestFinished(() => journal.close());
      return journal;
    };
  });
});

describeWhen(realServers.database, 'timers on Postgres', (server) => {
  describeFiring(async () => {
    const made = await createDatabase(server);
    onTestFinished(() => made.drop());
    return async () => {
      const sql = openPg(made.url);
      onTestFinished(() => sql.close());
      return openPostgresJournal({ sql });
    };
  });
});

function describeFiring(createPlace: () => Promise<() => Promise<Journal>>): void {
  /** One replica of several. */
  const createReplica = (journal: Journal, start: StartJob, isRollingOut = false) =>
    createFiring({
      schedules: journal.schedules,
      clock: { now: () => Date.now() } as never,
      log,
      start,
      lookForRollout: async () => isRollingOut,
    });
  const arm = (journal: Journal, id: string, nextAt: number) =>
    journal.schedules.make({ id, name: 'w', cron: null, timeZone: null, input: '2null', nextAt, digest: 'd' });

  test.each([1, 4])('that are due at once all fire in one look of %i, each once', async (count) => {
    const open = await createPlace();
    const journals = await Promise.all(Array.from({ length: count }, open));
    for (let n = 0; n < 450; n++) await arm(journals[0] as Journal, `w@${n}`, Date.now() - 1);
    const started: string[] = [];
    const start: StartJob = async (_name, _input, { idempotencyKey: key }) => {
      started.push(key);
      return { runId: key };
    };
    await Promise.all(journals.map((journal) => createReplica(journal, start).fireDue()));
    expect(new Set(started).size).toBe(450);
    expect(started).toHaveLength(450);
    await createReplica(journals[0] as Journal, start).fireDue();
    expect(started).toHaveLength(450);
  });

  test.each(['workflow_busy', 'store_unavailable'] as const)('that fire once come back after %s', async (code) => {
    const journal = await (await createPlace())();
    await arm(journal, 'w@x', Date.now() - 1);
    const start: StartJob = () => Promise.reject(new BoxError(code, 'Not now.'));
    await createReplica(journal, start).fireDue();
    const { nextAt, lastError } = (await journal.schedules.find('w@x')) ?? {};
    expect(nextAt).toBeGreaterThan(Date.now());
    expect(nextAt).toBeLessThan(Date.now() + 60_000);
    expect(lastError).toContain(code);
  });

  test('that fire once are over when their input is refused', async () => {
    const journal = await (await createPlace())();
    await arm(journal, 'w@x', Date.now() - 1);
    const start: StartJob = () => Promise.reject(new BoxError('workflow_input_invalid', 'No.'));
    await createReplica(journal, start).fireDue();
    expect(await journal.schedules.find('w@x')).toMatchObject({ nextAt: null });
  });

  test.each(['workflow_not_found', 'workflow_input_invalid'] as const)(
    'are left to the other replicas while those have other code: %s',
    async (code) => {
      const journal = await (await createPlace())();
      await arm(journal, 'w@x', 1_000);
      const start: StartJob = () => Promise.reject(new BoxError(code, 'Not in this build.'));
      await createReplica(journal, start, true).fireDue();
      expect(await journal.schedules.find('w@x')).toMatchObject({ nextAt: 1_000, lastAt: null });
      await createReplica(journal, start).fireDue();
      // It is held for a while by who tried it.
      expect(await journal.schedules.find('w@x')).toMatchObject({ nextAt: 1_000 });
    },
  );

  test('are left as they are by a box that shuts down', async () => {
    const journal = await (await createPlace())();
    await arm(journal, 'w@x', 1_000);
    const start: StartJob = () => Promise.reject(new BoxError('shutting_down', 'The box shuts down.'));
    await createReplica(journal, start).fireDue();
    expect(await journal.schedules.find('w@x')).toMatchObject({ nextAt: 1_000, lastAt: null });
  });
}
