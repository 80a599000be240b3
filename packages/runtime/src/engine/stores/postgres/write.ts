import type { SqlClient } from '../../../stores/sql.ts';
import type { Append } from '../../journal/appends.ts';
import type { NewRun } from '../../journal/starts.ts';
import { UnstorableError } from '../../journal/unstorable.ts';
import { endInTransaction, isPlainAppend, listRefused, toAppendQuery, toCommitted } from './append.ts';
import type { Committed, CommitRow } from './append.ts';
import { commitQuery } from './batch.ts';
import { isInvalidData, isRetryable, isRolledBack, isUnstorable } from './errors.ts';
import { createQuery } from './one.ts';
import { runScript } from './script.ts';
import type { PostgresSerial } from './serial.ts';
import type { Query } from './sql.ts';
import { readRuns, readStandings } from './standing.ts';
import type { Standings } from './standing.ts';
import { beforeRetry, RETRIES, unavailable } from './transaction.ts';
import { createdRun } from '../sql/rows.ts';
import { isPlainCreate } from '../sql/starting.ts';
import type { Tables } from '../sql/tables.ts';
import { toAppended } from '../sql/verdict.ts';
import { endsIn, runIdOf } from '../sql/write.ts';
import type { Write, Written } from '../sql/write.ts';

export interface PostgresWriter {
  /**
   * Commits writes to different runs: those that can in one statement, each of the others in a transaction of its own.
   * When the connection is lost and the outcome is unknown, it reads back what the journal holds; a write that is not
   * there rejects, and its caller may repeat it.
   */
  write(writes: Write[]): Promise<(Written | Error)[]>;
  /** The outcome of writes whose commit has failed with this error, which does not say it. */
  readBack(writes: Write[], error: unknown): Promise<(Written | Error)[]>;
}

export function createPostgresWriter(sql: SqlClient, tables: Tables, serial: PostgresSerial): PostgresWriter {
  async function commit(batch: Batch, retries: number): Promise<(Written | Error)[]> {
    const { writes } = batch;
    try {
      return await send(batch);
    } catch (error) {
      if (!isRolledBack(error)) return readBack(writes, error);
      if (isRetryable(error)) {
        await beforeRetry(error, retries);
        return commit(batch, retries - 1);
      }
      // One write the database cannot hold must not take its neighbours along.
      if (isInvalidData(error) && writes.length > 1) return commitEach(writes);
      throw isUnstorable(error) ? new UnstorableError(error) : error;
    }
  }

  async function commitEach(writes: Write[]): Promise<(Written | Error)[]> {
    const results: (Written | Error)[] = [];
    for (const write of writes) results.push(...(await settle({ writes: [write] })));
    return results;
  }

  /** A failure is the answer of each write. */
  async function settle(batch: Batch): Promise<(Written | Error)[]> {
    if (batch.writes.length === 0) return [];
    return commit(batch, RETRIES).catch((error: unknown) => batch.writes.map(() => toError(error)));
  }

  async function settleAll(batches: Batch[]): Promise<Map<Write, Written | Error>> {
    const settled = await Promise.all(batches.map(settle));
    const writes = batches.flatMap((batch) => batch.writes);
    return new Map(settled.flat().map((result, index) => [writes[index] as Write, result]));
  }

  function send(batch: Batch): Promise<(Written | Error)[]> {
    const [first] = batch.writes;
    return first && !isPlain(first) ? sendAlone(first) : sendTogether(batch);
  }

  async function sendTogether(batch: Batch): Promise<(Written | Error)[]> {
    const { writes } = batch;
    const { text, params, prepared } = toQuery(tables, batch);
    const done = toCommitted(await sql.query<CommitRow>(text, params, { prepared }));
    const refused = writes.filter((write) => !done.at.has(runIdOf(write)));
    if (refused.length === 0) return writes.map((write) => toWritten(write, done));
    const found = await read(refused);
    const later = await settleAll(isFamily(batch) ? [] : found.families(refused));
    return writes.map((write) =>
      done.at.has(runIdOf(write)) ? toWritten(write, done) : (later.get(write) ?? found.answer(write)),
    );
  }

  async function sendAlone(write: Write): Promise<Written[]> {
    const written = await sql.transaction<Written | undefined>((tx) =>
      write.type === 'create'
        ? runScript(tx, serial.starting.create(write.run))
        : endInTransaction(tx, { tables, serial }, write.entry),
    );
    return [written ?? (await read([write])).answer(write)];
  }

  async function readBack(writes: Write[], error: unknown): Promise<(Written | Error)[]> {
    const found = await read(writes).catch(() => undefined);
    if (!found) throw unavailable(error);
    return writes.map((write) => (found.isOpen(write) ? unavailable(error) : found.answer(write)));
  }

  /** What the journal holds of these writes. */
  async function read(writes: Write[]): Promise<Found> {
    const [created, standings] = await Promise.all([readCreated(runsOf(writes)), readAppended(entriesOf(writes))]);
    return {
      isOpen: (write) => (write.type === 'create' ? !created.has(write.run.runId) : standings.isOpen(write.entry)),
      families: (refused) => groupByParent(refused, standings),
      answer: (write) =>
        write.type === 'create' ? (created.get(write.run.runId) as Written) : standings.answer(write.entry),
    };
  }

  async function readCreated(runs: NewRun[]): Promise<Map<string, Written>> {
    const found = new Map<string, Written>();
    const plain = await readRuns(
      sql,
      tables,
      runs.filter(isPlainCreate).map((run) => run.runId),
    );
    for (const [runId, run] of plain) found.set(runId, { outcome: 'created', run });
    for (const run of runs.filter((each) => !isPlainCreate(each))) {
      const repeat = await runScript(sql, serial.starting.findRepeat(run));
      if (repeat) found.set(run.runId, repeat);
    }
    return found;
  }

  const readAppended = (entries: Append[]): ReturnType<typeof readStandings> => readStandings(sql, tables, entries);

  return {
    async write(writes) {
      if (writes.every(isPlain)) return commit({ writes }, RETRIES);
      const others = writes.filter((write) => !isPlain(write));
      // The statement goes first: the transactions may be more than there are connections.
      const batches = [{ writes: writes.filter(isPlain) }, ...others.map((write) => ({ writes: [write] }))];
      const settled = await settleAll(batches);
      return writes.map((write) => settled.get(write) as Written | Error);
    },
    readBack,
  };
}

/** Whether the write may share a statement with others. */
export function isPlain(write: Write): boolean {
  return write.type === 'create' ? isPlainCreate(write.run) : isPlainAppend(write.entry);
}

// --- internal ---

interface Batch {
  writes: Write[];
  /** All of them end children of one parent. */
  areSiblings?: boolean;
}

interface Found {
  /** The journal would still take the write: it has not happened. */
  isOpen(write: Write): boolean;
  /** The ends a statement has left out, those of each parent together. */
  families(writes: Write[]): Batch[];
  answer(write: Write): Written;
}

function isFamily({ writes, areSiblings }: Batch): boolean {
  return areSiblings === true || writes.length === 1;
}

function groupByParent(writes: Write[], standings: Standings): Batch[] {
  const families = new Map<string, Write[]>();
  for (const write of writes) {
    if (write.type === 'create' || !endsIn(write.entry.patch) || !standings.isOpen(write.entry)) continue;
    const parent = standings.parentOf(write.entry);
    if (parent !== null) families.set(parent, [...(families.get(parent) ?? []), write]);
  }
  return [...families.values()].map((family) => ({ writes: family, areSiblings: true }));
}

/** The outcome of a write that the statement took. */
function toWritten(write: Write, { at, tokens }: Committed): Written {
  const runId = runIdOf(write);
  const now = at.get(runId) ?? 0;
  if (write.type === 'create') return { outcome: 'created', run: createdRun(write.run, now) };
  return toAppended(now, listRefused(write.entry, tokens.get(runId)));
}

/** A write that is alone in its commit has a statement of its own, unless it has many records, or hooks. */
function toQuery(tables: Tables, { writes, areSiblings }: Batch): Query {
  const [first] = writes;
  if (first && writes.length === 1)
    return first.type === 'create' ? createQuery(tables, first.run) : toAppendQuery(tables, first.entry);
  const runs = runsOf(writes);
  return commitQuery(tables, { runs, entries: entriesOf(writes), areSiblings: areSiblings ?? false });
}

function runsOf(writes: Write[]): NewRun[] {
  return writes.flatMap((write) => (write.type === 'create' ? [write.run] : []));
}

function entriesOf(writes: Write[]): Append[] {
  return writes.flatMap((write) => (write.type === 'append' ? [write.entry] : []));
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
