import type { SqlClient } from '../../../stores/sql.ts';
import type { HookEvent, HookRow, ResumeOptions, ResumeResult } from '../../journal/hooks.ts';
import { findFirstQuery, findHookQuery, findHooksQuery, findKeyedQuery, setVerdictQuery } from '../sql/hooks.ts';
import { judgeKey, judgeResume, toHookEvent, toHookRow } from '../sql/hooks.ts';
import { NOW, signalSets } from './sql.ts';
import { toNumbered } from './statements.ts';
import type { Transaction } from './transaction.ts';
import { FINAL_STATUSES, KEY_LIFE_MS } from '../sql/queries.ts';
import { toStored } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

export async function resumeInTransaction(
  tx: Transaction,
  tables: Tables,
  given: { token: string; payload: string; options: ResumeOptions },
): Promise<ResumeResult | undefined> {
  const { runs, hooks, hookEvents } = tables;
  const { token, payload, options } = given;
  const { idempotency, verdict, most } = options;
  const name = toStoredText(token);
  // The run's row and not the hook's: the end of the run takes them in this order too. Its lock excludes
  // every other change of the run's hooks, so what is read afterwards stays true.
  const [locked] = await tx.query<{ id: string }>(
    `select run_id as id from ${runs} where run_id = (select run_id from ${hooks} where token = $1 and is_open = 1)
      and status not in ${FINAL_STATUSES} for update`,
    [name],
  );
  const [stored] = await tx.query<StoredRow>(toNumbered(findHookQuery(tables)), [name]);
  if (!stored) return undefined;
  const hook = toHookRow(stored);
  // Between the two statements the token went to another run.
  if (hook.isOpen && locked?.id !== stored.runId) return resumeInTransaction(tx, tables, given);
  const key = [toStoredText(hook.runId), name];
  if (idempotency) {
    const [row] = await tx.query<{ now: number }>(`select ${NOW} as now`);
    const use = [...key, toStoredText(idempotency.key), (row?.now ?? 0) - KEY_LIFE_MS];
    const [used] = await tx.query<StoredRow>(toNumbered(findKeyedQuery(tables)), use);
    if (used) return judgeKey(hook, used, options);
  }
  const [first] = await tx.query<StoredRow>(toNumbered(findFirstQuery(tables)), [...key, hook.since]);
  const settled = judgeResume(hook, first && toHookEvent(first));
  if (settled) return settled;
  const [event] = await tx.query<{ n: number; at: number }>(
    `with written as (
      insert into ${hookEvents} (run_id, token, n, payload, at, idempotency_key, idempotency_digest)
      select $1, $2, coalesce(max(n) + 1, 0), $3, ${NOW}, $4::text, $5::text from ${hookEvents} where run_id = $1 and token = $2
      having coalesce(max(n) + 1, 0) < coalesce($6::int8, ${NO_LIMIT}) returning n, at),
    signalled as (
      update ${runs} set ${signalSets('', '1', NOW)} where run_id = (select $1 from written) and status not in ${FINAL_STATUSES})
    select n, at from written`,
    [
      ...key,
      toStoredText(payload),
      toStored(idempotency?.key),
      toStored(idempotency?.digest),
      Number.isSafeInteger(most) ? hook.since + (most ?? 0) : null,
    ],
  );
  if (!event) return { outcome: 'full' };
  if (verdict !== undefined) await tx.query(toNumbered(setVerdictQuery(tables)), [toStoredText(verdict), ...key]);
  return {
    outcome: 'resumed',
    hook: { ...hook, verdict: hook.verdict ?? verdict ?? null },
    event: { token, payload, ...event } as HookEvent,
  };
}

/** Answers a function that finds the hooks of tokens as `find` does, in one statement. */
export function createHookFinder(
  sql: SqlClient,
  tables: Tables,
): (tokens: string[]) => Promise<(HookRow | undefined)[]> {
  const one = toNumbered(findHookQuery(tables));
  return async (tokens) => {
    const names = tokens.map(toStoredText);
    const rows =
      names.length === 1
        ? await sql.query<StoredRow>(one, names)
        : await sql.query<StoredRow>(findHooksQuery(tables), [names]);
    const found = new Map(rows.map((row) => [String(row.token), row]));
    return names.map((name) => {
      const row = found.get(name);
      return row && toHookRow(row);
    });
  };
}

// --- internal ---

/** More than the number of a resume can be. */
const NO_LIMIT = '4294967296';
