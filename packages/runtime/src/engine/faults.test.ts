import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import type { SqlClient } from '../stores/sql.ts';
import { findFlaws, openWorld } from './_faults.ts';
import type { World } from './_faults.ts';
import { newJournalPath, runOf, step, until } from './_setup.ts';
import type { Code } from './_setup.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { requestApproval } from './primitives/approval.ts';
import { createHook } from './primitives/hook.ts';
import type { Journal } from './journal.ts';
import { getStepMetadata } from './primitives/metadata.ts';
import { STREAM_END } from './values/stream-ref.ts';
import { decode } from './serialize.ts';
import { sleep } from './primitives/sleep.ts';
import { createDatabase, openPgClient } from './stores/_clients.ts';
import { FAULTS } from './stores/faulty.ts';
import type { Fault } from './stores/faulty.ts';
import { openPostgresJournal } from './stores/postgres/journal.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';
import { getWritable } from './primitives/writable.ts';

interface Scenario {
  code(world: World): Code;
  /** What a client does, and what it must find. */
  drive(world: World): Promise<void>;
  /** Effects outside, each under one key. */
  effects: unknown[];
}

const SCENARIOS: Record<string, Scenario> = {
  'steps, one of which is retried': {
    code: ({ effect }) => ({
      go: async (n: number) => {
        const one = await effect<number>('one')(n);
        return (await effect<number>('two', 2)(one + 1)) + 1;
      },
    }),
    drive: async (world) => expect(await world.output(await world.start('go', 1))).toBe(3),
    effects: [1, 2],
  },
  'parallel steps': {
    code: ({ effect }) => ({ go: async () => Promise.all([1, 2, 3].map((n) => effect<number>(`s${n}`)(n))) }),
    drive: async (world) => expect(await world.output(await world.start('go'))).toEqual([1, 2, 3]),
    effects: [1, 2, 3],
  },
  'a sleep that parks': {
    code: ({ effect }) => ({
      go: async () => {
        await effect('before')('a');
        await sleep(80);
        return effect('after')('b');
      },
    }),
    drive: async (world) => expect(await world.output(await world.start('go'))).toBe('b'),
    effects: ['a', 'b'],
  },
  'a hook that is resumed': {
    code: ({ effect }) => ({ go: async () => effect('after')(await createHook({ token: 'token' })) }),
    async drive(world) {
      const runId = await world.start('go');
      await world.until(runId, ({ status }) => status === 'waiting');
      const result = await world.insist(() => world.engine.resumeHook('token', 7));
      expect(result && 'event' in result && decode(result.event.payload)).toBe(7);
      expect(await world.output(runId)).toBe(7);
    },
    effects: [7],
  },
  'an approval whose time is up': {
    code: ({ effect }) => ({
      go: async () => effect('after')((await requestApproval({ title: 'Ship it?', timeout: 20 })).decision),
    }),
    drive: async (world) => expect(await world.output(await world.start('go'))).toBe('reject'),
    effects: ['reject'],
  },
  'a child that is waited for': {
    code: ({ effect }) => ({
      go: async () => startWorkflowAndWait('child', 4),
      child: async (n: number) => effect<number>('work')(n * 2),
    }),
    drive: async (world) => expect(await world.output(await world.start('go'))).toBe(8),
    effects: [8],
  },
  'a serial queue': {
    code: ({ effect }) => ({
      go: async (n: number) => {
        if (n === 1) await createHook({ token: 'first' });
        return effect<number>('work')(n);
      },
    }),
    async drive(world) {
      const serial = { key: 'one', whenTaken: 'queue' as const };
      const first = await world.start('go', 1, { serial });
      const later = [2, 3].map((n) => world.start('go', n, { serial }));
      await world.until(first, ({ status }) => status === 'waiting');
      await world.insist(() => world.engine.resumeHook('first', null));
      const runs = await Promise.all([first, ...(await Promise.all(later))].map((runId) => world.output(runId)));
      expect(runs.sort()).toEqual([1, 2, 3]);
    },
    effects: [1, 2, 3],
  },
  'a stream of a step': {
    code: ({ effect }) => ({
      go: async () => {
        const writer = getWritable<string>();
        await step('write', async (stream: WritableStream<string>) => {
          const sink = stream.getWriter();
          for (const word of ['a', 'b']) await sink.write(word);
          await sink.close();
        })(writer);
        return effect('after')('done');
      },
    }),
    async drive(world) {
      const runId = await world.start('go');
      expect(await world.output(runId)).toBe('done');
      const chunks = await world.journal.chunks.read(runId, 'default', { after: 0, limit: 99 });
      const words = chunks.filter(({ payload }) => payload !== STREAM_END).map(({ payload }) => decode(payload));
      // In order. A frame whose answer was lost may be there twice, and so may all of a step that was repeated.
      expect([words[0], words.at(-1), new Set(words).size]).toEqual(['a', 'b', 2]);
    },
    effects: ['done'],
  },
  'a retry of a failed run': {
    code: ({ effect }) => {
      let isBroken = true;
      const second = effect<string>('second');
      return {
        go: async (input: string) => {
          await effect('first')(input);
          return second(await step('check', () => check(), { maxRetries: 0 })());
        },
        mend: async () => void (isBroken = false),
      };
      function check(): string {
        if (isBroken) throw new Error('broken');
        return 'mended';
      }
    },
    async drive(world) {
      const failed = await world.final(await world.start('go', 'x'));
      expect(failed.status).toBe('failed');
      await world.final(await world.start('mend'));
      await world.insist(() => world.engine.retry(failed, 'failed-step'));
      // A retry has no key: one whose answer was lost has made a run too.
      const retries = (await world.journal.listRuns({ trigger: 'retry' }, { limit: 9 })).filter(
        ({ retryOf }) => retryOf === failed.runId,
      );
      for (const { runId } of retries) {
        world.runIds.add(runId);
        expect(await world.output(runId)).toBe('mended');
      }
      for (const key of [...world.received.keys()].filter((each) =>
        retries.slice(1).some((r) => each.startsWith(r.runId)),
      ))
        world.received.delete(key);
    },
    effects: ['mended', 'x'],
  },
  'a cancelled tree': {
    code: ({ effect }) => ({
      go: async () => {
        await effect('before')('a');
        return startWorkflowAndWait('child', null);
      },
      child: async () =>
        step('endless', async () => {
          const { signal, idempotencyKey } = getStepMetadata();
          begun.add(idempotencyKey.slice(0, 36));
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          aborted.add(idempotencyKey.slice(0, 36));
        })(),
    }),
    async drive(world) {
      const runId = await world.start('go');
      await world.until(runId, ({ waitingFor }) => waitingFor !== null);
      const [child] = await world.journal.listRuns({ parentRunId: runId }, { limit: 1 });
      // Cancelled before, the step would have nothing to learn.
      await until(() => begun.has(child?.runId ?? ''), 10_000);
      await world.insist(() => world.engine.cancel(runId, new Error('enough')));
      for (const id of [runId, child?.runId ?? '']) expect((await world.final(id)).status).toBe('cancelled');
      // However the cancel was answered, the step under way learns of it.
      await until(() => aborted.has(child?.runId ?? ''), 10_000);
    },
    effects: ['a'],
  },
  'a fork': {
    code: ({ effect }) => ({
      go: async () => [await effect<number>('one')(1), await effect<number>('two')(2)],
    }),
    async drive(world) {
      const { engine, insist } = world;
      const runId = await world.start('go');
      expect(await world.output(runId)).toEqual([1, 2]);
      const run = await world.final(runId);
      const plan = await insist(() => engine.planFork(run, 1, { ends: false }));
      // However the first was answered, the same key means the same run.
      const idempotency = { key: 'once', digest: plan.etag };
      const forked = runOf(await insist(() => engine.fork(run, { trigger: 'fork', plan, idempotency })));
      world.runIds.add(forked.runId);
      expect(await world.output(forked.runId)).toEqual([1, 2]);
      expect(await world.journal.listRuns({ forkedFrom: runId }, { limit: 5 })).toHaveLength(1);
    },
    effects: [1, 2, 2],
  },
};

const begun = new Set<string>();
const aborted = new Set<string>();

describe('on SQLite, whichever call of the journal', () => {
  const open = async () => {
    const path = newJournalPath();
    const journal = await openSqliteJournal({ path });
    return {
      journal,
      async close() {
        await journal.close();
        await rm(dirname(path), { recursive: true, force: true });
      },
    };
  };
  describe.each(FAULTS)('meets a fault of the kind "%s"', (fault) => {
    test.each(Object.keys(SCENARIOS))(
      '%s ends as without it',
      (name) => sweepFaults({ name, fault, open, together: 12 }),
      120_000,
    );
  });
  describe('begins an outage longer than the lease, and runs are dropped', () => {
    test.each(Object.keys(SCENARIOS))(
      '%s ends as without it',
      (name) => sweepFaults({ name, fault: 'cut', open, together: 12, isOutage: true }),
      120_000,
    );
  });
});

describeWhen(realServers.database, 'on Postgres, whichever call of the journal', (server) => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
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
  // One database for all: a case must not see the runs of another.
  const open = async () => ({ journal, close: async () => {} });
  const names = ['steps, one of which is retried', 'a child that is waited for', 'a cancelled tree', 'a fork'];
  describe.each(FAULTS)('meets a fault of the kind "%s"', (fault) => {
    test.each(names)(
      '%s ends as without it',
      (name) => sweepFaults({ name, fault, open, together: 1, callMs: 400 }),
      120_000,
    );
  });
});

// --- internal ---

interface Sweep {
  name: string;
  fault: Fault;
  open(): Promise<{ journal: Journal; close(): Promise<void> }>;
  /** Cases at a time. */
  together: number;
  callMs?: number;
  /** From the call on all of them suffer, until the engine has given up what it holds. */
  isOutage?: boolean;
}

/** Breaks every call in turn, until there is none to break. */
async function sweepFaults({ name, fault, open, together, callMs = 60, isOutage = false }: Sweep): Promise<void> {
  const scenario = SCENARIOS[name] as Scenario;
  const attempt = async (n: number): Promise<boolean> => {
    const place = await open();
    const world = await openWorld(place.journal, scenario.code, { callMs, ...(isOutage ? { leaseMs: 100 } : {}) });
    try {
      world.faulty.break(fault, n, isOutage ? Infinity : 1);
      if (isOutage) void until(() => world.faulty.suffered().length >= 15, 60_000).then(world.faulty.heal, () => {});
      await scenario.drive(world);
      const suffered = world.faulty.suffered();
      world.faulty.heal();
      for (const runId of world.runIds) expect(await findFlaws(place.journal, runId)).toEqual([]);
      expect([...world.received.values()].sort()).toEqual(scenario.effects);
      return suffered.length > 0;
    } catch (error) {
      const call = world.faulty.calls()[n - 1];
      throw new Error(`It went wrong when call ${n}, "${call}", met "${fault}".`, { cause: error });
    } finally {
      await world.close();
      await place.close();
    }
  };
  for (let n = 1; ; n += together) {
    const met = await Promise.all(Array.from({ length: together }, (_, index) => attempt(n + index)));
    if (!met.every(Boolean)) return;
  }
}
