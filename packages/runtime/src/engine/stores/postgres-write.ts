import { BoxError } from '../../errors.ts';
import type { SqlClient } from '../../stores/sql.ts';
import type { Append, AppendResult, NewRun, RunRow } from '../journal.ts';
import { isInvalidData, isRetryable, isRolledBack } from './postgres-errors.ts';
import { appendQuery, commitQuery, createQuery, standingQuery } from './postgres-sql.ts';
import type { Query, Tables } from './postgres-sql.ts';
import { createdRun, RUN_SELECT, toRunRow } from './rows.ts';
import type { StoredRow } from './rows.ts';
import { fromStoredText, toStoredText } from './text.ts';
import { judgeRefusal, toStanding } from './verdict.ts';
import type { Standing } from './verdict.ts';
import { runIdOf } from './write.ts';
import type { Write, Written } from './write.ts';

/**
 * Answers a function that commits writes to different runs in one statement. When the connection is lost and the outcome
 * is unknown, it reads back what the journal holds; a write that is not there rejects, and its caller may repeat it.
 */
export function createPostgresWriter(
  sql: SqlClient,
  tables: Tables,
): (writes: Write[]) => Promise<(Written | Error)[]> {
  async function commit(writes: Write[], retries = 3): Promise<(Written | Error)[]> {
    try {
      return await send(writes);
    } catch (error) {
      if (!isRolledBack(error)) return readBack(writes, error);
      if (isRetryable(error) && retries > 0) return commit(writes, retries - 1);
      // One write the database cannot hold must not take its neighbours along.
      if (isInvalidData(error) && writes.length > 1) return commitEach(writes);
      throw error;
    }
  }

  async function commitEach(writes: Write[]): Promise<(Written | Error)[]> {
    const results: (Written | Error)[] = [];
    for (const write of writes) {
      const [result] = await commit([write]).catch((error: unknown) => [toError(error)]);
      results.push(result as Written | Error);
    }
    return results;
  }

  async function send(writes: Write[]): Promise<Written[]> {
    const { text, params, prepared } = toQuery(tables, writes);
    const rows = await sql.query<{ id: string; now: number }>(text, params, { prepared });
    const done = new Map(rows.map((row) => [fromStoredText(row.id), row.now]));
    const refused = writes.filter((write) => !done.has(runIdOf(write)));
    const found = refused.length > 0 ? await read(refused) : undefined;
    return writes.map((write) => {
      const now = done.get(runIdOf(write));
      if (now === undefined) return found?.answer(write) as Written;
      return write.type === 'create' ? createdRun(write.run, now) : { outcome: 'appended', at: now };
    });
  }

  async function readBack(writes: Write[], error: unknown): Promise<(Written | Error)[]> {
    const unavailable = new BoxError(
      'store_unavailable',
      'The journal lost its database while it was writing. Try again.',
      {
        cause: error,
      },
    );
    const found = await read(writes).catch(() => undefined);
    if (!found) throw unavailable;
    return writes.map((write) => (found.isOpen(write) ? unavailable : found.answer(write)));
  }

  /** What the journal holds of these runs. */
  async function read(writes: Write[]): Promise<Found> {
    const runs = runsOf(writes).map((run) => run.runId);
    const entries = entriesOf(writes);
    const [rows, standings] = await Promise.all([
      runs.length > 0 ? readRuns(runs) : [],
      entries.length > 0 ? readStandings(entries) : [],
    ]);
    return toFound(new Map(rows.map((row) => [row.runId, row])), new Map(standings));
  }

  async function readRuns(runIds: string[]): Promise<RunRow[]> {
    const text = `select ${RUN_SELECT} from ${tables.runs} where run_id = any($1::text[])`;
    return (await sql.query<StoredRow>(text, [runIds.map(toStoredText)])).map(toRunRow);
  }

  async function readStandings(entries: Append[]): Promise<[string, StandingAt][]> {
    const rows = await sql.query<StandingRow>(standingQuery(tables), [
      entries.map((entry) => toStoredText(entry.runId)),
      entries.map((entry) => entry.seq),
      entries.map((entry) => entry.records.length),
    ]);
    return rows.map(({ recordIds, now, ...run }) => {
      const standing = toStanding(run, (recordIds ?? []).map(fromStoredText));
      return [fromStoredText(run.runId as string), { standing, now }];
    });
  }

  return (writes) => commit(writes);
}

// --- internal ---

const MAX_PLAIN_RECORDS = 16;

type StandingRow = StoredRow & { now: number } & { recordIds: string[] | null };

interface StandingAt {
  standing: Standing;
  now: number;
}

interface Found {
  /** The journal would still take the write: it has not happened. */
  isOpen(write: Write): boolean;
  answer(write: Write): Written;
}

/** A write that is alone in its commit has a statement of its own, unless its records are many. */
function toQuery(tables: Tables, writes: Write[]): Query {
  const [first] = writes;
  if (first && writes.length === 1) {
    if (first.type === 'create') return createQuery(tables, first.run);
    if (first.entry.records.length <= MAX_PLAIN_RECORDS) return appendQuery(tables, first.entry);
  }
  return commitQuery(tables, runsOf(writes), entriesOf(writes));
}

function toFound(runs: Map<string, RunRow>, standings: Map<string, StandingAt>): Found {
  const answer = (write: Write): Written => {
    if (write.type === 'create') return runs.get(write.run.runId) as RunRow;
    const found = standings.get(write.entry.runId);
    return judgeRefusal(write.entry, found?.standing, found?.now ?? 0);
  };
  return {
    answer,
    isOpen(write) {
      if (write.type === 'create') return !runs.has(write.run.runId);
      const result = answer(write) as AppendResult;
      return result.outcome === 'conflict' && standings.get(write.entry.runId)?.standing.seq === write.entry.seq;
    },
  };
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
