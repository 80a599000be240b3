import type { HookEvent, ResumeOptions, ResumeResult } from '../../journal/hooks.ts';
import { findFirstQuery, findHookQuery, findKeyedQuery, setVerdictQuery } from '../sql/hooks.ts';
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
  const { idempotency, verdict } = options;
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
    `with signalled as (
      update ${runs} set ${signalSets('', '1', NOW)} where run_id = $1 and status not in ${FINAL_STATUSES})
    insert into ${hookEvents} (run_id, token, n, payload, at, idempotency_key, idempotency_digest)
    select $1, $2, coalesce(max(n) + 1, 0), $3, ${NOW}, $4::text, $5::text from ${hookEvents} where run_id = $1 and token = $2
    returning n, at`,
    [...key, toStoredText(payload), toStored(idempotency?.key), toStored(idempotency?.digest)],
  );
  if (verdict !== undefined) await tx.query(toNumbered(setVerdictQuery(tables)), [toStoredText(verdict), ...key]);
  return {
    outcome: 'resumed',
    hook: { ...hook, verdict: hook.verdict ?? verdict ?? null },
    event: { token, payload, ...event } as HookEvent,
  };
}
