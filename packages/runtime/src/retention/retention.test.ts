import { expect, test, vi } from 'vitest';
import type { EndedRun } from '../engine/journal/ends.ts';
import { BoxError } from '../errors.ts';
import { createLog } from '../log.ts';
import { createRetention } from './retention.ts';
import type { RetentionSources } from './retention.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW = 100 * DAY_MS;
const log = createLog({ level: 'silent', write() {} });

/** Runs that have all ended on their day, of which some cannot be deleted. */
function open({ runs, broken = new Set(), ...sources }: Partial<RetentionSources> & Stored) {
  let stored = runs;
  const batches: number[] = [];
  const retention = createRetention({
    settings: () => ({ runDays: 30, sessionDays: 30 }),
    sessions: { listIdle: async () => [], remove: async () => {} },
    journal: {
      now: async () => NOW,
      listEnded: async (before, { limit, after }) =>
        stored.filter((run) => run.endedAt < before && (!after || after.runId < run.runId)).slice(0, limit),
    },
    async deleteRuns(runIds) {
      const bad = runIds.find((runId) => broken.has(runId));
      if (bad) throw new Error(`"${bad}" cannot be deleted.`);
      batches.push(runIds.length);
      stored = stored.filter(({ runId }) => !runIds.includes(runId));
      return runIds;
    },
    log,
    ...sources,
  });
  return { retention, batches, left: () => stored.map(({ runId }) => runId) };
}

interface Stored {
  runs: EndedRun[];
  broken?: Set<string>;
}

const listRuns = (count: number, fields: Partial<EndedRun> = {}): EndedRun[] =>
  Array.from({ length: count }, (_, n) => ({ runId: String(n).padStart(6, '0'), endedAt: n, seq: 1, ...fields }));

test('one look deletes all that is over, however much it is', async () => {
  const { retention, left } = open({ runs: listRuns(3_000) });
  retention.sweep();
  await vi.waitFor(() => expect(left()).toEqual([]), 20_000);
  await retention.close();
});

test('runs that cannot be deleted keep no other from it', async () => {
  const broken = new Set(listRuns(250).map(({ runId }) => runId));
  const { retention, left } = open({ runs: listRuns(600), broken });
  retention.sweep();
  await vi.waitFor(() => expect(left()).toEqual([...broken]), 20_000);
  await retention.close();
});

test('sessions that are kept or cannot be deleted keep none behind them', async () => {
  let stored = Array.from({ length: 350 }, (_, n) => ({ id: String(n).padStart(4, '0'), lastActiveAt: '' }));
  const { retention } = open({
    runs: [],
    sessions: {
      listIdle: async (_days, { limit, after }) => stored.filter(({ id }) => !after || id > after.id).slice(0, limit),
      async remove(id) {
        if (id < '0120') throw new BoxError('turn_in_progress', 'It waits.');
        if (id < '0240') throw new Error('It is broken.');
        stored = stored.filter((session) => session.id !== id);
      },
    },
  });
  retention.sweep();
  await vi.waitFor(() => expect(stored).toHaveLength(240), 20_000);
  await retention.close();
});

test('logs that cannot be deleted keep no run from it', async () => {
  const logs = { deleteOlder: async () => Promise.reject(new Error('No.')) };
  const { retention, left } = open({ runs: listRuns(3), logs });
  retention.sweep();
  await vi.waitFor(() => expect(left()).toEqual([]), 20_000);
  await retention.close();
});

test('a commit deletes a bounded number of records, and at least one run', async () => {
  const { retention, left, batches } = open({ runs: [...listRuns(12, { seq: 2_000 })] });
  retention.sweep();
  await vi.waitFor(() => expect(left()).toEqual([]), 20_000);
  expect(batches).toEqual([2, 2, 2, 2, 2, 2]);
  await retention.close();
});

test('a store that is away ends the look', async () => {
  let asked = 0;
  const { retention } = open({
    runs: listRuns(500),
    deleteRuns: async () => Promise.reject(new BoxError('store_unavailable', 'It is away.')),
    journal: {
      now: async () => {
        if (asked++ > 0) throw new BoxError('store_unavailable', 'It is away.');
        return NOW;
      },
      listEnded: async () => listRuns(200),
    },
  });
  retention.sweep();
  await retention.close();
  expect(asked).toBe(2);
});
