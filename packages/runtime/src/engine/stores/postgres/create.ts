import { newRunId } from '../../ids.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import { enqueue, findHolder, insertRun, lockKey, promote } from './serial.ts';
import { NOW } from './sql.ts';
import { toNumbered } from './statements.ts';
import type { Transaction } from './transaction.ts';
import { isSameUse, keyQuery, toKeyUse } from '../sql/keys.ts';
import type { KeyUse } from '../sql/keys.ts';
import { KEY_LIFE_MS } from '../sql/queries.ts';
import { createdRun, RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

/** Whether a statement of many rows can create the run. */
export function isPlainCreate({ idempotency, serial, records }: NewRun): boolean {
  return !idempotency && !serial && !records?.length;
}

/** Creates a run that has a key, a lock or records. */
export async function createInTransaction(tx: Transaction, tables: Tables, run: NewRun): Promise<CreateResult> {
  const { idempotency } = run;
  const now = await lockAll(tx, tables, run);
  const repeat = await findRepeat(tx, tables, run);
  if (repeat) return repeat;
  if (!idempotency) return place(tx, tables, run, now);
  const used = await findKey(tx, tables, idempotency.key, now);
  const start = used && (await findStart(tx, tables, used.startId));
  if (start) return isSameUse(used, idempotency.digest) ? start : { outcome: 'idempotency_conflict' };
  const result = await place(tx, tables, run, now);
  if (result.outcome === 'created') await putKey(tx, tables, { ...idempotency, startId: result.run.runId, now });
  if (result.outcome === 'queued') await putKey(tx, tables, { ...idempotency, startId: result.triggerId, now });
  return result;
}

/** The same start again, by its ids: its first answer may have been lost. */
export async function findRepeat(tx: Transaction, tables: Tables, run: NewRun): Promise<CreateResult | undefined> {
  const triggerId = run.serial?.triggerId ?? '';
  const found = await findStart(tx, tables, run.runId, triggerId);
  if (found?.outcome !== 'repeated') return found && { outcome: 'queued', triggerId };
  return found.run.runId === run.runId ? { outcome: 'created', run: found.run } : { outcome: 'queued', triggerId };
}

// --- internal ---

/** The key before the lock, as everywhere. Answers the store's time from then on. */
async function lockAll(tx: Transaction, tables: Tables, { idempotency, serial }: NewRun): Promise<number> {
  const locks: string[] = [];
  const params: string[] = [];
  if (idempotency) {
    const key = `$${params.push(toStoredText(idempotency.key))}::text`;
    locks.push(`pg_advisory_xact_lock(hashtextextended('${tables.keys}:' || ${key}, 0))`);
  }
  if (serial) locks.push(lockKey(tables, `$${params.push(toStoredText(serial.key))}::text`));
  if (locks.length > 0) await tx.query(`select ${locks.join(', ')}`, params);
  const [row] = await tx.query<{ now: number }>(`select ${NOW} as now`);
  return row?.now ?? 0;
}

async function place(tx: Transaction, tables: Tables, run: NewRun, now: number): Promise<CreateResult> {
  const { serial } = run;
  if (serial) {
    // A free lock goes to the first queued start before it goes to a new one.
    const holder = (await findHolder(tx, tables, serial.key)) ?? (await promote(tx, tables, serial.key, newRunId));
    if (holder && serial.whenTaken === 'refuse') return { outcome: 'refused', holder };
    if (holder) {
      await enqueue(tx, tables, run, now);
      return { outcome: 'queued', triggerId: serial.triggerId };
    }
  }
  const row = createdRun(run, now);
  await insertRun(tx, tables, row, run.records);
  return { outcome: 'created', run: row };
}

/** A use within the last 24 hours. */
async function findKey(tx: Transaction, tables: Tables, key: string, now: number): Promise<KeyUse | undefined> {
  const use = [toStoredText(key), now - KEY_LIFE_MS];
  const [row] = await tx.query<StoredRow>(toNumbered(keyQuery(tables)), use);
  return row && toKeyUse(row);
}

/** The run of a start, or its place in the queue. Undefined: it has been removed. */
async function findStart(
  tx: Transaction,
  { runs, queue }: Tables,
  startId: string,
  triggerId: string = startId,
): Promise<Extract<CreateResult, { outcome: 'repeated' | 'repeated_queued' | 'queued' }> | undefined> {
  const ids = [toStoredText(startId), toStoredText(triggerId)];
  const [run] = await tx.query<StoredRow>(
    `select ${RUN_SELECT} from ${runs} where run_id = $1 or trigger_id = $2 limit 1`,
    ids,
  );
  if (run) return { outcome: 'repeated', run: toRunRow(run) };
  const queued = await tx.query(`select 1 from ${queue} where trigger_id = $1`, ids.slice(1));
  return queued.length > 0 ? { outcome: 'repeated_queued', triggerId } : undefined;
}

async function putKey(
  tx: Transaction,
  { keys }: Tables,
  use: { key: string; digest: string; startId: string; now: number },
): Promise<void> {
  await tx.query(
    `insert into ${keys} (key, digest, start_id, created_at) values ($1, $2, $3, $4)
    on conflict (key) do update set digest = $2, start_id = $3, created_at = $4`,
    [toStoredText(use.key), toStoredText(use.digest), toStoredText(use.startId), use.now],
  );
}
