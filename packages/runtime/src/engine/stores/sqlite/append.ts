import type { Append, AppendResult, RunPatch } from '../../journal/appends.ts';
import type { NewHook } from '../../journal/hooks.ts';
import type { RunRow } from '../../journal/run.ts';
import { HOOK_COLUMNS } from '../sql/hooks.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { PATCH_KEYS, RUN_COLUMNS, toStored } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { insertInto } from '../sql/statements.ts';
import type { SqliteChain } from './chain.ts';
import type { SqliteEffects } from './effects.ts';
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts';
import type { SqliteRuns } from './runs.ts';
import type { SqliteSerial } from './serial.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import { judgeRefusal, toAppended, toStanding } from '../sql/verdict.ts';
import { endsIn } from '../sql/write.ts';

export interface SqliteParts {
  runs: SqliteRuns;
  serial: SqliteSerial;
  effects: SqliteEffects;
  chain: SqliteChain;
}

/** To be called in a transaction. */
export function prepareAppend(db: SqliteDatabase, parts: SqliteParts): (entry: Append, now: number) => AppendResult {
  const { runs } = parts;
  const advance = prepareAdvance(db);
  const judge = prepareJudge(db);
  const hooks = prepareHooks(db);
  const end = prepareEnd(parts);

  /** A repeat gets the first answer again. */
  function repeat(entry: Append, result: AppendResult): AppendResult {
    if (result.outcome !== 'appended') return result;
    const promoted = endsIn(entry.patch) && entry.nextRunId ? runs.find(entry.nextRunId) : undefined;
    return toAppended(result.at, entry.hooks && hooks.listMissing(entry.runId, entry.hooks), promoted);
  }

  return (entry, now) => {
    const moved = advance(entry, now);
    if (!moved) return repeat(entry, judge(entry, now));
    runs.insertRecords(entry.runId, entry.seq, entry.records);
    const refused = entry.hooks && hooks.put(entry.runId, entry.hooks, now);
    return toAppended(now, refused, end(entry, moved, now));
  };
}

// --- internal ---

/** What an end needs of the run it ended. */
interface Moved {
  parent: string | null;
  serial: string | null;
}

const NOT_ENDED: Moved = { parent: null, serial: null };

/** The conditional half of an append. A statement per set of patched columns: a column not named is an index not touched. */
function prepareAdvance(db: SqliteDatabase): (entry: Append, now: number) => Moved | undefined {
  const statements = new Map<string, SqliteStatement<Moved>>();
  const plain = db.prepare(`
    update runs set seq = ? where run_id = ? and seq = ? and epoch = ? and status not in ${FINAL_STATUSES}`);
  return ({ runId, epoch, seq, records, patch, signals }, now) => {
    // What nearly every append is: records, and nothing else that changes.
    if (isEmpty(patch)) {
      const { changes } = plain.run(seq + records.length, toStoredText(runId), seq, epoch);
      return Number(changes) === 1 ? NOT_ENDED : undefined;
    }
    const { sets, values } = toAssignments(patch, signals, now);
    const ends = endsIn(patch);
    const key = sets.join();
    let statement = statements.get(key);
    if (!statement) {
      statement = db.prepare<Moved>(`
        update runs set ${['seq = ?', ...sets].join(', ')}
        where run_id = ? and seq = ? and epoch = ? and status not in ${FINAL_STATUSES}
        ${ends ? 'returning parent_run_id as parent, serial_key as serial' : ''}`);
      statements.set(key, statement);
    }
    const params = [seq + records.length, ...values, toStoredText(runId), seq, epoch];
    if (ends) return statement.get(...params);
    return Number(statement.run(...params).changes) === 1 ? NOT_ENDED : undefined;
  };
}

function isEmpty(patch: RunPatch): boolean {
  for (const _ in patch) return false;
  return true;
}

function toAssignments(
  patch: RunPatch,
  signals: number | undefined,
  now: number,
): { sets: string[]; values: SqliteValue[] } {
  const sets: string[] = [];
  const values: SqliteValue[] = [];
  const assign = (key: keyof RunRow, value: SqliteValue): void => {
    sets.push(`${RUN_COLUMNS[key]} = ?`);
    values.push(value);
  };
  for (const key of PATCH_KEYS) {
    if (patch[key] === undefined) continue;
    if (key === 'wakeAt' && signals !== undefined) {
      sets.push('wake_at = case when signals > ? then ? else ? end');
      values.push(signals, now, toStored(patch[key]));
    } else assign(key, toStored(patch[key]));
  }
  const ends = endsIn(patch);
  if (ends) assign('endedAt', now);
  if (ends || patch.release) {
    assign('owner', null);
    assign('leaseUntil', null);
  }
  return { sets, values };
}

function prepareJudge(db: SqliteDatabase): (entry: Append, now: number) => AppendResult {
  const selectRun = db.prepare<StoredRow>(
    'select parent_run_id as "parentRunId", status, epoch, seq, output, error from runs where run_id = ?',
  );
  const selectIds = db.prepare<{ record_id: string }>(
    'select record_id from run_events where run_id = ? and seq >= ? order by seq limit ?',
  );
  return (entry, now) => {
    const runId = toStoredText(entry.runId);
    const run = selectRun.get(runId);
    const rows = selectIds.all(runId, entry.seq, entry.records.length);
    const recordIds = rows.map((row) => fromStoredText(row.record_id));
    return judgeRefusal(entry, run && toStanding(run, recordIds), now);
  };
}

interface Hooks {
  /** Answers the tokens that another run's open hook has. */
  put(runId: string, hooks: NewHook[], now: number): string[];
  /** The tokens of which the run has no hook. */
  listMissing(runId: string, hooks: NewHook[]): string[];
}

function prepareHooks(db: SqliteDatabase): Hooks {
  const taken = db.prepare('select 1 from hooks where token = ? and is_open = 1 and run_id <> ?');
  const mine = db.prepare('select 1 from hooks where run_id = ? and token = ?');
  const upsert = db.prepare(`
    ${insertInto('hooks', [...Object.values(HOOK_COLUMNS), 'brief'])}
    on conflict (run_id, token) do update set
      many = case when excluded.call = call then max(many, excluded.many) else excluded.many end,
      detail = case when excluded.call = call then detail else excluded.detail end,
      brief = case when excluded.call = call then brief else excluded.brief end,
      since = case when excluded.call = call then since else excluded.since end,
      is_open = case when excluded.call = call then is_open else 1 end,
      verdict = case when excluded.call = call then verdict end,
      created_at = case when excluded.call = call then created_at else excluded.created_at end,
      call = excluded.call
    where excluded.call >= call`);
  return {
    put(runId, hooks, now) {
      const id = toStoredText(runId);
      const refused: string[] = [];
      for (const { token, call, kind, many, detail, brief, since } of hooks) {
        const stored = toStoredText(token);
        if (taken.get(stored, id)) refused.push(token);
        else upsert.run(stored, id, call, kind, Number(many), toStored(detail), 1, null, now, since, toStored(brief));
      }
      return refused;
    },
    listMissing: (runId, hooks) =>
      hooks.map((hook) => hook.token).filter((token) => !mine.get(toStoredText(runId), toStoredText(token))),
  };
}

function prepareEnd({
  effects,
  serial,
  chain,
}: SqliteParts): (entry: Append, moved: Moved, now: number) => RunRow | undefined {
  return (entry, moved, now) => {
    const { runId, patch, nextRunId, continueAs } = entry;
    if (!endsIn(patch)) return undefined;
    if (continueAs) return chain.continue(entry, now);
    effects.closeHooks(runId);
    if (moved.parent !== null) effects.signal(fromStoredText(moved.parent), now);
    // Without an id for it the next start waits for a claim to find it.
    if (moved.serial === null || nextRunId === undefined) return undefined;
    return serial.promote(fromStoredText(moved.serial), () => nextRunId, now);
  };
}
