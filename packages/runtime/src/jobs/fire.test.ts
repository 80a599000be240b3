import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import type { Journal } from '../engine/journal.ts';
import type { Schedule } from '../engine/journal/schedules.ts';
import { createDatabase } from '../engine/stores/_clients.ts';
import { openPostgresJournal } from '../engine/stores/postgres/journal.ts';
import { openSqliteJournal } from '../engine/stores/sqlite/journal.ts';
import { BoxError } from '../errors.ts';
import { createLog } from '../log.ts';
import { openPg } from '../stores/pg.ts';
import { createFiring } from './fire.ts';
import type { StartJob } from './fire.ts';
import { findWait } from './wait.ts';

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
  const createReplica = (journal: Journal, start: StartJob, isRollingOut = false, look = vi.fn<() => void>()) =>
    createFiring({
      schedules: journal.schedules,
      clock: { now: () => Date.now() } as never,
      log,
      start,
      lookForRollout: async () => {
        look();
        return isRollingOut;
      },
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

  test('of the next batches are started while those of the first are written down', async () => {
    const journal = await (await createPlace())();
    for (let n = 0; n < 600; n++) await arm(journal, `w@${n}`, Date.now() - 1);
    const started = new Set<string>();
    let startedAll = (): void => {};
    const all = new Promise<void>((resolve) => (startedAll = resolve));
    const start: StartJob = async (_name, _input, { idempotencyKey: key }) => {
      if (started.add(key).size === 600) startedAll();
      return { runId: key };
    };
    // None moves on before all are started: a batch at a time would wait for good.
    const advance: Journal['schedules']['advance'] = (...moved) => all.then(() => journal.schedules.advance(...moved));
    await createReplica({ ...journal, schedules: { ...journal.schedules, advance } }, start).fireDue();
    expect(await journal.schedules.find('w@599')).toMatchObject({ nextAt: null, lastError: null });
  });

  test('with large inputs are taken a few at a time, and all are fired in one look', async () => {
    const journal = await (await createPlace())();
    const { schedules } = journal;
    const count = 40;
    const input = `2"${'x'.repeat(1_048_576)}"`;
    const timer = { name: 'w', cron: null, timeZone: null, input, nextAt: Date.now() - 1, digest: 'd' };
    for (let n = 0; n < count; n++) await schedules.make({ id: `w@${n}`, ...timer });
    let held = 0;
    let most = 0;
    const takeDue: typeof schedules.takeDue = async (...how) => {
      const taken = await schedules.takeDue(...how);
      held += taken.length;
      most = Math.max(most, held);
      return taken;
    };
    const advance: typeof schedules.advance = async (...moved) => {
      held -= 1;
      return schedules.advance(...moved);
    };
    const start = vi.fn<StartJob>(async (_name, _input, { idempotencyKey: key }) => ({ runId: key }));
    await createReplica({ ...journal, schedules: { ...schedules, takeDue, advance } }, start).fireDue();
    expect(start).toHaveBeenCalledTimes(count);
    // Four batches of 4 MiB each, and of what goes over that.
    expect(most).toBeLessThanOrEqual(20);
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

  test.each(['workflow_not_found', 'workflow_compile_failed', 'workflow_input_invalid'] as const)(
    'are left to the other replicas while those have other code: %s',
    async (code) => {
      const journal = await (await createPlace())();
      await arm(journal, 'w@x', 1_000);
      const start: StartJob = () => Promise.reject(new BoxError(code, 'Not in this build.'));
      await createReplica(journal, start, true).fireDue();
      const left = await journal.schedules.find('w@x');
      expect(left).toMatchObject({ nextAt: 1_000, lastAt: null });
      expect(findWait(left as Schedule, Date.now())).toEqual({ code, message: expect.stringMatching(/"w".*Not in/) });
      // Who does not roll out is the last of its build: what it refuses is refused.
      await createReplica(journal, start).fireDue();
      expect(await journal.schedules.find('w@x')).toMatchObject({ lastAt: expect.any(Number) as number });
    },
  );

  test('fire at the first look of the one replica that has their workflow, however many have not', async () => {
    const open = await createPlace();
    const journal = await open();
    for (let n = 0; n < 300; n++) await arm(journal, `w@${n}`, 1_000);
    const refuse = vi.fn<StartJob>(() => Promise.reject(new BoxError('workflow_not_found', 'Not in this build.')));
    const old = Array.from({ length: 12 }, () => createReplica(journal, refuse, true));
    for (let round = 0; round < 3; round++) for (const replica of old) await replica.fireDue();
    // Each has tried them once, and passes over them.
    expect(refuse).toHaveBeenCalledTimes(12 * 300);
    const start = vi.fn<StartJob>(async (_name, _input, { idempotencyKey: key }) => ({ runId: key }));
    await createReplica(journal, start, true).fireDue();
    expect(start).toHaveBeenCalledTimes(300);
    expect(await journal.schedules.find('w@7')).toMatchObject({ nextAt: null, lastError: null });
  });

  test('are tried again some time later by who left them, and the others are looked for once a batch', async () => {
    const journal = await (await createPlace())();
    for (let n = 0; n < 300; n++) await arm(journal, `w@${n}`, 1_000);
    const refuse = vi.fn<StartJob>(() => Promise.reject(new BoxError('workflow_not_found', 'Not in this build.')));
    const look = vi.fn<() => void>();
    const replica = createReplica(journal, refuse, true, look);
    await replica.fireDue();
    expect([refuse.mock.calls.length, look.mock.calls.length]).toEqual([300, 2]);
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 16_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await replica.fireDue();
    expect([refuse.mock.calls.length, look.mock.calls.length]).toEqual([600, 4]);
  });

  test('whose times have changed as they were started fire next by the new ones', async () => {
    const journal = await (await createPlace())();
    const { schedules } = journal;
    const timer = { id: 'w:0', name: 'w', cron: '* * * * *', timeZone: null, input: '2null', nextAt: 1_000 };
    await schedules.reconcile([timer]);
    const nextYear = new Date().getUTCFullYear() + 1;
    const start: StartJob = async () => {
      await schedules.reconcile([{ ...timer, cron: '0 0 1 1 *', nextAt: Date.UTC(nextYear) }]);
      return { runId: 'r' };
    };
    await createReplica(journal, start).fireDue();
    expect(await schedules.find('w:0')).toMatchObject({ nextAt: Date.UTC(nextYear), lastRunId: null });
    expect(await schedules.listFirings('w:0')).toHaveLength(1);
  });

  test('are left as they are by a box that shuts down', async () => {
    const journal = await (await createPlace())();
    await arm(journal, 'w@x', 1_000);
    const start: StartJob = () => Promise.reject(new BoxError('shutting_down', 'The box shuts down.'));
    await createReplica(journal, start).fireDue();
    expect(await journal.schedules.find('w@x')).toMatchObject({ nextAt: 1_000, lastAt: null });
  });
}
