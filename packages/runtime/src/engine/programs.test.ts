import fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import type { SqlClient } from '../stores/sql.ts';
import { findFlaws } from './_faults.ts';
import { CLEAN_UP, findWrong, listPayloads, programs, toCode } from './_programs.ts';
import type { Program } from './_programs.ts';
import { createLife } from './_lives.ts';
import type { Room, Trouble } from './_lives.ts';
import { errorOf, newJournalPath, outputOf } from './_setup.ts';
import type { Journal } from './journal.ts';
import type { RunRow } from './journal/run.ts';
import { replay } from './run/replay.ts';
import { createDatabase, openPgClient } from './stores/_clients.ts';
import { openPostgresJournal } from './stores/postgres/journal.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';

/**
 * Random programs. Each runs once in peace; then again and again, in a journal of its own, and meets something at each of
 * its writes in turn. Whatever it meets, its result is one that its text allows, no step runs after its answer was
 * recorded, the journal is whole, and a replay of it comes to the same result.
 */

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
  const newPlace: NewRoom = ({ isClockSet }) => {
    const schema = free.pop() ?? `programs_${++schemas}`;
    let clock: SqlClient | undefined;
    return {
      async setClock(ms) {
        await sql.query(`update "${schema}".clock set ms = $1`, [ms]);
      },
      async open() {
        if (isClockSet) clock ??= await openClock({ url: database.url, sql, schema });
        return openPostgresJournal({ sql: clock ?? sql, schema });
      },
      async remove() {
        await clock?.close();
        const tables = await sql.query<{ tablename: string }>(
          `select tablename from pg_tables where schemaname = $1 and tablename not in ('schema_version', 'clock')`,
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

type NewRoom = (how: { isClockSet: boolean }) => Room;

function newSqlitePlace(): Room {
  const file = newJournalPath();
  let offset = 0;
  return {
    async setClock(ms) {
      offset = ms;
    },
    open: () => openSqliteJournal({ path: file, clock: () => Date.now() + offset }),
    remove: () => rm(dirname(file), { recursive: true, force: true }),
  };
}

/** Sessions whose `clock_timestamp()` is one that `setClock` sets, as it is found before that of the server. */
async function openClock({ url, sql, schema }: { url: string; sql: SqlClient; schema: string }): Promise<SqlClient> {
  await sql.exec(`
    create schema if not exists "${schema}";
    create table if not exists "${schema}".clock (ms int8);
    delete from "${schema}".clock;
    insert into "${schema}".clock values (0);
    create or replace function "${schema}".clock_timestamp() returns timestamptz language sql volatile as
      'select pg_catalog.clock_timestamp() + (select ms from "${schema}".clock) * interval ''1 millisecond''';`);
  const address = new URL(url);
  address.searchParams.set('options', `-c search_path=${schema},pg_catalog`);
  return openPgClient(address.href);
}

async function playAll(program: Program, newRoom: NewRoom): Promise<void> {
  const writes = await play(program, { kind: 'none' }, newRoom({ isClockSet: false }));
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
    { kind: 'rival', at: some(0.35) },
    { kind: 'rival', at: some(0.8) },
    { kind: 'pause', at: some(0.45) },
    { kind: 'retry' },
  ];
  while (troubles.length > 0)
    await Promise.all(
      troubles
        .splice(0, TOGETHER)
        .map((trouble) => play(program, trouble, newRoom({ isClockSet: trouble.kind === 'jump' }))),
    );
}

const TOGETHER = 10;

/** Runs the program to its end. Answers how many writes it took. */
async function play(program: Program, trouble: Trouble, room: Room): Promise<number> {
  const life = createLife(room, trouble);
  let journal: Journal | undefined;
  try {
    const row = await life.live({ ...program, breaks: trouble.kind === 'retry' });
    const ops = (row.continuedFrom === null ? undefined : program.next) ?? program.ops;
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
    for (const { runId, kind } of await journal.listRuns({}, { limit: 99 }))
      if (kind === 'workflow' && (runId === row.runId || row.continuedFrom === runId))
        expect(await findFlaws(journal, runId)).toEqual([]);
    expect(life.repeated).toEqual([]);
    return life.writes;
  } catch (error) {
    throw new Error(`${JSON.stringify(program)} went wrong. It met ${JSON.stringify(trouble)}.`, { cause: error });
  } finally {
    await life.bench?.kill().catch(() => {});
    void life.bench?.close().catch(() => {});
    await journal?.close();
    await room.remove();
  }
}

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
