import { toTraceId } from '../../ids.ts';
import type { Append } from '../../journal/appends.ts';
import { NO_TOKENS } from '../../journal/run.ts';
import type { RunRow } from '../../journal/run.ts';
import { FINAL_STATUSES } from './queries.ts';
import { RUN_COLUMNS, RUN_SELECT, toStored } from './rows.ts';
import type { Statement } from './statements.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

/** The append that ends a run and makes the next of its chain. */
export function toContinued({ runId, nextRunId, continueAs }: Append): Continued {
  if (nextRunId === undefined || !continueAs) throw new Error('The append does not continue its run.');
  return { ...continueAs, runId, nextRunId };
}

export type Continued = Required<Pick<Append, 'runId' | 'nextRunId'>> & NonNullable<Append['continueAs']>;

/** The next run. `old`: as its end has left it. What is not named goes on with the chain. */
export function toNextRun(old: RunRow, { nextRunId, input, codeHash }: Continued, now: number): RunRow {
  return {
    ...old,
    ...NO_TOKENS,
    runId: nextRunId,
    traceId: toTraceId(nextRunId),
    status: 'queued',
    seq: 0,
    epoch: 0,
    owner: null,
    leaseUntil: null,
    wakeAt: null,
    waitingFor: null,
    codeHash,
    movedFrom: null,
    movedAt: null,
    retryOf: null,
    seed: null,
    signals: 0,
    crashCount: 0,
    crashSeq: null,
    mark: null,
    markEpoch: null,
    triggerId: null,
    continuedFrom: old.runId,
    continuedTo: null,
    chainId: old.chainId ?? old.runId,
    input,
    output: null,
    error: null,
    createdAt: now,
    startedAt: null,
    endedAt: null,
  };
}

/** The next run takes over the place its lock has given to the one before. */
export function insertNext({ runs }: Tables, next: RunRow, { runId }: Pick<Continued, 'runId'>): Statement {
  const keys = Object.keys(RUN_COLUMNS) as (keyof RunRow)[];
  const marks = keys.map(() => '?').join(', ');
  return [
    `insert into ${runs} (${Object.values(RUN_COLUMNS).join(', ')}, slot)
    values (${marks}, (select slot from ${runs} where run_id = ?))`,
    [...keys.map((key) => toStored(next[key])), toStoredText(runId)],
  ];
}

/** What goes over to the next run, in this order, before it is inserted. */
export function handOver(tables: Tables, { runId, nextRunId, unread }: Continued): Statement[] {
  const { runs, hooks, hookEvents, queue, keys } = tables;
  const [from, to] = [toStoredText(runId), toStoredText(nextRunId)];
  const statements: Statement[] = [];
  for (let first = 0; first < unread.length; first += TOKENS_AT_ONCE) {
    const some = unread.slice(first, first + TOKENS_AT_ONCE);
    const rows = some.map(() => '(cast(? as text), cast(? as integer))').join(', ');
    statements.push([
      `with w (token, n) as (values ${rows})
      update ${hooks} as h set since = w.n from w where h.run_id = ? and h.token = w.token and h.since < w.n`,
      [...some.flatMap(({ token, n }) => [toStoredText(token), n]), from],
    ]);
  }
  const carried = `h.run_id = ? and h.is_open + 0 = 1 and h.kind = 'hook'`;
  statements.push(
    [
      // What is unread is counted from 0 again.
      `update ${hookEvents} as e set run_id = ?, n = e.n - h.since from ${hooks} h
      where e.run_id = ? and ${carried} and h.token = e.token and e.n >= h.since`,
      [to, from, from],
    ],
    // Before any call of the next run: that makes the hook again.
    [`update ${hooks} as h set run_id = ?, call = -1, since = 0 where ${carried}`, [to, from]],
    [`update ${hooks} as h set is_open = 0 where h.run_id = ? and h.is_open + 0 = 1`, [from]],
    [`update ${runs} set parent_run_id = ? where parent_run_id = ? and status not in ${FINAL_STATUSES}`, [to, from]],
    // An id of its own is held by the run that goes on.
    [`update ${keys} set start_id = ?, kept_with = ? where start_id = ? and kept_with = ?`, [to, to, from, from]],
    [`update ${queue} set parent_run_id = ? where parent_run_id = ?`, [to, from]],
    // An id of its creator's choice, which names a start by its run or its trigger.
    [
      `update ${keys} set start_id = ?, kept_with = ?
      where kept_with = start_id and start_id in (?, (select trigger_id from ${runs} where run_id = ?))`,
      [to, to, from, from],
    ],
    [`update ${runs} set continued_to = ?, chain_id = coalesce(chain_id, run_id) where run_id = ?`, [to, from]],
  );
  return statements;
}

/** Parameter: the id of the first run of the chain. */
export function chainEndQuery({ runs }: Pick<Tables, 'runs'>): string {
  return `select ${RUN_SELECT} from ${runs} where chain_id = ? and chain_id is not null and continued_to is null`;
}

// --- internal ---

/** A statement has a limit of parameters. */
const TOKENS_AT_ONCE = 500;
