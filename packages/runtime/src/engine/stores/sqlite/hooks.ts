import type { HookEvent, ResumeOptions, ResumeResult } from '../../journal/hooks.ts';
import { findFirstQuery, findHookQuery, findKeyedQuery, setVerdictQuery } from '../sql/hooks.ts';
import { judgeKey, judgeResume, toHookEvent, toHookRow } from '../sql/hooks.ts';
import { KEY_LIFE_MS } from '../sql/queries.ts';
import { toStored } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { SqliteEffects } from './effects.ts';
import type { SqliteDatabase } from './driver.ts';
import { namesOfTables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

/** To be called in a transaction. */
export function prepareResume(
  db: SqliteDatabase,
  effects: SqliteEffects,
): (given: { token: string; payload: string; options: ResumeOptions }, now: number) => ResumeResult | undefined {
  const find = db.prepare<StoredRow>(findHookQuery(namesOfTables()));
  const first = db.prepare<StoredRow>(findFirstQuery(namesOfTables()));
  const last = db.prepare<{ n: number | null }>('select max(n) as n from hook_events where run_id = ? and token = ?');
  const keyed = db.prepare<StoredRow>(findKeyedQuery(namesOfTables()));
  const insert = db.prepare(`
    insert into hook_events (run_id, token, n, payload, at, idempotency_key, idempotency_digest)
    values (?, ?, ?, ?, ?, ?, ?)`);
  const judge = db.prepare(setVerdictQuery(namesOfTables()));

  return ({ token, payload, options }, now) => {
    const { idempotency, verdict } = options;
    const stored = find.get(toStoredText(token));
    if (!stored) return undefined;
    const hook = toHookRow(stored);
    const key = [toStoredText(hook.runId), toStoredText(token)] as const;
    const used = idempotency && keyed.get(...key, toStoredText(idempotency.key), now - KEY_LIFE_MS);
    if (used) return judgeKey(hook, used, options);
    const earlier = first.get(...key, hook.since);
    const settled = judgeResume(hook, earlier && toHookEvent(earlier));
    if (settled) return settled;
    const event: HookEvent = { token, n: (last.get(...key)?.n ?? -1) + 1, payload, at: now };
    if (event.n - hook.since >= (options.most ?? Infinity)) return { outcome: 'full' };
    const use = [toStored(idempotency?.key), toStored(idempotency?.digest)];
    insert.run(...key, event.n, toStoredText(payload), now, ...use);
    if (verdict !== undefined) judge.run(toStoredText(verdict), ...key);
    effects.signal(hook.runId, now);
    return { outcome: 'resumed', hook: { ...hook, verdict: hook.verdict ?? verdict ?? null }, event };
  };
}
