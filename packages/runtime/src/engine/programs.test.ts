import fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import type { SqlClient } from '../stores/sql.ts';
import { findFlaws } from './_faults.ts';
import { CLEAN_UP, findWrong, listPayloads, programs, toCode } from './_programs.ts';
import type { Op, Program } from './_programs.ts';
import { errorOf, newJournalPath, openBench, outputOf, until } from './_setup.ts';
import type { Bench, Place } from './_setup.ts';
import type { Journal } from './journal.ts';
import { isFinal } from './journal/run.ts';
import type { RunRow } from './journal/run.ts';
import { replay } from './run/replay.ts';
import { createDatabase, openPgClient } from './stores/_clients.ts';
import { createFaultyJournal } from './stores/faulty.ts';
import { openPostgresJournal } from './stores/postgres/journal.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';
import { wrapJournal } from './stores/wrap.ts';

/**
 * Random programs. Each runs once in peace; then again and again, in a journal of its own, and meets something at each of
 * its writes in turn. Whatever it meets, its result is one that its text allows, no step runs after its answer was
 * recorded, the journal is whole, and a replay of it comes to the same result.
 */
type Trouble =
  | { kind: 'none' }
  /** The process dies at the n-th write: before it is made, or once it is made and not answered. */
  | { kind: 'death'; at: number; isMade: boolean }
  /** From the n-th write on the journal is away for a while: writes are not made, or their answers are lost. */
  | { kind: 'outage'; at: number; fault: 'fail' | 'cut' }
  /** The store's clock is set. */
  | { kind: 'jump'; at: number; ms: number }
  | { kind: 'cancel'; at: number }
  /** Cancelled with time to clean up; the process dies so many writes later. */
  | { kind: 'cleaning'; at: number; dies: number };

/** `SVC_TEST_PROGRAMS` makes it search longer; `SVC_TEST_PROGRAMS_SEED` and `_PATH` repeat what it printed. */
const { SVC_TEST_PROGRAMS: count, SVC_TEST_PROGRAMS_SEED: seed, SVC_TEST_PROGRAMS_PATH: path } = process.env;

const search = (playOne: (program: Program) => Promise<void>, numRuns: number): Promise<void> =>
  fc.assert(fc.asyncProperty(programs, playOne), {
    numRuns,
    // To shrink what depends on time takes long and leads astray.
    endOnFailure: true,
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
  });

const onSqlite = Number(count ?? 8);
const onPostgres = Math.ceil(onSqlite / 6);

test(
  'programs come to what they say, whatever they meet, on SQLite',
  () => search((program) => playAll(program, newSqlitePlace), onSqlite),
  120_000 + onSqlite * 15_000,
);

describeWhen(realServers.database, 'on Postgres', (server) => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
  const free: string[] = [];
  let schemas = 0;
  beforeAll(async () => {
    database = await createDatabase(server);
    sql = openPgClient(database.url);
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });
  // Its tables take longer to make than a program takes to run.
  const newPlace = (): Room => {
    const schema = free.pop() ?? `programs_${++schemas}`;
    return {
      setClock: undefined,
      open: () => openPostgresJournal({ sql, schema }),
      async remove() {
        const tables = await sql.query<{ tablename: string }>(
          `select tablename from pg_tables where schemaname = $1 and tablename <> 'schema_version'`,
          [schema],
        );
        await sql.exec(tables.map(({ tablename }) => `delete from "${schema}"."${tablename}";`).join('\n'));
        free.push(schema);
      },
    };
  };
  test(
    'programs come to what they say, whatever they meet',
    () => search((program) => playAll(program, newPlace), onPostgres),
    120_000 + onPostgres * 30_000,
  );
});

// --- internal ---

/** A journal of its own. */
interface Room extends Place {
  /** Undefined: its clock is not ours to set. */
  setClock: ((offset: number) => void) | undefined;
  remove(): Promise<void>;
}

function newSqlitePlace(): Room {
  const file = newJournalPath();
  let offset = 0;
  return {
    setClock: (ms) => void (offset = ms),
    open: () => openSqliteJournal({ path: file, clock: () => Date.now() + offset }),
    remove: () => rm(dirname(file), { recursive: true, force: true }),
  };
}

async function playAll({ ops }: Program, newRoom: () => Room): Promise<void> {
  const writes = await play(ops, { kind: 'none' }, newRoom());
  const all = Array.from({ length: writes }, (_, index) => index + 1);
  const some = (share: number): number => Math.max(1, Math.ceil(writes * share));
  const troubles: Trouble[] = [
    ...all.flatMap((at) => [true, false].map((isMade) => ({ kind: 'death' as const, at, isMade }))),
    { kind: 'outage', at: some(0.3), fault: 'fail' },
    { kind: 'outage', at: some(0.6), fault: 'cut' },
    { kind: 'cancel', at: some(0.5) },
    ...[0, 1, 2, 3, 4].map((dies) => ({ kind: 'cleaning' as const, at: some(0.5), dies })),
    { kind: 'jump', at: some(0.4), ms: 60_000 },
    { kind: 'jump', at: some(0.7), ms: -1_500 },
  ];
  while (troubles.length > 0)
    await Promise.all(troubles.splice(0, TOGETHER).map((trouble) => play(ops, trouble, newRoom())));
}

const TOGETHER = 10;
/** Every payload is another, and later ones are larger. */
let resumes = 0;

const OUTAGE_MS = 60;
const PATIENCE_MS = 60_000;

/** Runs the program to its end. Answers how many writes it took. */
async function play(ops: Op[], trouble: Trouble, room: Room): Promise<number> {
  const life = createLife(room, trouble);
  let journal: Journal | undefined;
  try {
    const row = await life.live(ops);
    // Not the engine's: it may have died with its last write, of which the row is.
    journal = await room.open();
    if (trouble.kind === 'cleaning' && row.status === 'cancelled') {
      const records = await journal.getRecords(row.runId);
      // Once: or the cancel came as the body was at its end, and cleaned up already.
      const cleaned = records.filter(({ stepId, event }) => stepId.endsWith(CLEAN_UP) && event !== 'retry');
      expect(cleaned).toHaveLength(1);
    } else if (trouble.kind !== 'cancel' || row.status === 'completed') {
      expect([row.status, errorOf(row)?.message]).toEqual(['completed', undefined]);
      expect(findWrong(ops, outputOf(row))).toEqual([]);
      expect(findDisorder(listPayloads(outputOf(row)))).toEqual([]);
      expect(await replayOf(journal, row)).toEqual({
        how: 'ended',
        status: 'completed',
        output: row.output,
      });
    } else expect(row.status).toBe('cancelled');
    expect(await findFlaws(journal, row.runId)).toEqual([]);
    expect(life.repeated).toEqual([]);
    return life.writes;
  } catch (error) {
    throw new Error(`${JSON.stringify(ops)} went wrong. It met ${JSON.stringify(trouble)}.`, { cause: error });
  } finally {
    await life.bench?.kill().catch(() => {});
    void life.bench?.close().catch(() => {});
    await journal?.close();
    await room.remove();
  }
}

interface Life {
  bench: Bench;
  writes: number;
  /** Steps that ran although their answer was recorded. */
  repeated: string[];
  /** From the start of the run until it is final. */
  live(ops: Op[]): Promise<RunRow>;
}

function createLife(room: Room, trouble: Trouble): Life {
  const settled = new Set<string>();
  let die: (() => void) | undefined;
  const meet = (n: number): void => {
    if (trouble.kind === 'jump' && n === trouble.at) room.setClock?.(trouble.ms);
    if (trouble.kind === 'cancel' && n === trouble.at) cancel().catch(() => {});
    if (trouble.kind === 'cleaning' && n === trouble.at) cancel(true).catch(() => {});
  };
  const cancel = async (cleansUp = false): Promise<void> => {
    const runId = await life.runId;
    if (runId !== undefined) await life.bench.engine.cancel(runId, new Error('enough'), { cleansUp });
  };
  const life: Life & { runId: Promise<string | undefined> } = {
    bench: undefined as unknown as Bench,
    writes: 0,
    repeated: [],
    runId: Promise.resolve(undefined),
    async live(ops) {
      for (;;) {
        const death = new Promise<'dead'>((resolve) => (die = () => resolve('dead')));
        await open();
        const row = await Promise.race([death, drive(ops)]);
        if (row !== 'dead') return row;
        await life.bench.kill();
        void life.bench.close().catch(() => {});
        await settle();
      }
    },
  };

  const open = async (): Promise<void> => {
    let isDead = false;
    const journal = await room.open();
    const faulty = createFaultyJournal(journal);
    const wrapped = wrapJournal(faulty.journal, async (name, call) => {
      if (isDead) return new Promise(() => {});
      if (!WRITES.has(name)) return call();
      const n = ++life.writes;
      const isLater = trouble.kind === 'cleaning' && trouble.dies > 0 && n === trouble.at + trouble.dies;
      const isDeath = isLater || (trouble.kind === 'death' && n === trouble.at);
      const end = (): Promise<never> => {
        isDead = true;
        die?.();
        return new Promise(() => {});
      };
      if (isDeath && !(trouble.kind === 'death' && trouble.isMade)) return end();
      if (trouble.kind === 'outage' && n === trouble.at) {
        faulty.break(trouble.fault, 1, Infinity);
        setTimeout(() => faulty.heal(), OUTAGE_MS);
      }
      meet(n);
      const answer = await call();
      return isDeath ? end() : answer;
    });
    const code = toCode((key) => {
      if (!isDead && settled.has(key)) life.repeated.push(key);
    });
    life.bench = await openBench({ open: async () => wrapped }, code, {
      sweepMs: 10,
      leaseMs: 2_000,
      limits: { parkAfter: 5 },
      cleanupOf: () => 60_000,
    });
  };

  /** What was recorded when the process died must not be done again. */
  const settle = async (): Promise<void> => {
    const journal = await room.open();
    for (const { runId } of await journal.listRuns({}, { limit: 99 }))
      for (const { event, call, stepId } of await journal.getRecords(runId))
        if (event === 'done' || event === 'failed') settled.add(`${runId}:${call}:${stepId.replace(/^.*#/, '')}`);
    await journal.close();
  };

  const drive = async (ops: Op[]): Promise<RunRow> => {
    const { bench } = life;
    let found: RunRow | undefined;
    life.runId = insist(async () => {
      const result = await bench.create('go', ops, { idempotencyKey: 'the-one' });
      return 'run' in result ? result.run.runId : undefined;
    });
    const runId = await life.runId;
    await until(async () => {
      found = await insist(() => bench.journal.getRun(runId ?? ''));
      if (found && isFinal(found.status)) return true;
      const entries = await insist(() => bench.journal.hooks.listEntries({ kind: 'hook' }, { limit: 20 }));
      for (const { hook } of entries)
        if (hook.isOpen) await insist(() => bench.engine.resumeHook(hook.token, `${hook.token}/${++resumes}`));
      return false;
    }, PATIENCE_MS).catch((error: Error) => {
      throw new Error(`The run is ${JSON.stringify(found)}.`, { cause: error });
    });
    return found as RunRow;
  };
  return life;
}

/** What a client does about a store that is away: the same again, in a moment. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    try {
      return await call();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((done) => setTimeout(done, 5));
    }
  }
}

/** Calls of the journal after each of which a process may be gone. */
const WRITES = new Set(['append', 'create', 'cancel']);

/** A resume that was given twice, or after a later one. */
function findDisorder(payloads: string[]): string[] {
  const last = new Map<string, number>();
  return payloads.filter((payload) => {
    const [token = '', n] = payload.split('/');
    const before = last.get(token) ?? 0;
    last.set(token, Number(n));
    return Number(n) <= before;
  });
}

async function replayOf(journal: Journal, run: RunRow): Promise<unknown> {
  const { [run.name]: body } = toCode(() => {});
  const end = await replay({
    run,
    records: await journal.getRecords(run.runId),
    body: { run: body as never, codeHash: run.codeHash ?? '', durability: 'process' },
    ambient: { webhookUrl: (token) => token, startUrl: (name) => name },
  });
  return end.how === 'ended' ? { how: end.how, status: end.status, output: end.output } : end;
}
