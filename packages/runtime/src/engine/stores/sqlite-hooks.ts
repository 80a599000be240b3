import type { HookEvent, ResumeResult } from '../journal.ts';
import { findHookQuery, judgeResume, toHookEvent, toHookRow } from './hooks.ts';
import type { StoredRow } from './rows.ts';
import type { SqliteEffects } from './sqlite-effects.ts';
import type { SqliteDatabase } from './sqlite-open.ts';
import { namesOfTables } from './tables.ts';
import { toStoredText } from './text.ts';

/** To be called in a transaction. */
export function prepareResume(
  db: SqliteDatabase,
  effects: SqliteEffects,
): (token: string, payload: string, now: number) => ResumeResult | undefined {
  const find = db.prepare<StoredRow>(findHookQuery(namesOfTables()));
  const first = db.prepare<StoredRow>(
    'select token, n, payload, at from hook_events where run_id = ? and token = ? and n = 0',
  );
  const last = db.prepare<{ n: number | null }>('select max(n) as n from hook_events where run_id = ? and token = ?');
  const insert = db.prepare('insert into hook_events (run_id, token, n, payload, at) values (?, ?, ?, ?, ?)');

  return (token, payload, now) => {
    const stored = find.get(toStoredText(token));
    if (!stored) return undefined;
    const hook = toHookRow(stored);
    const key = [toStoredText(hook.runId), toStoredText(token)] as const;
    const earlier = first.get(...key);
    const verdict = judgeResume(hook, earlier && toHookEvent(earlier));
    if (verdict) return verdict;
    const event: HookEvent = { token, n: (last.get(...key)?.n ?? -1) + 1, payload, at: now };
    insert.run(...key, event.n, toStoredText(payload), now);
    effects.signal(hook.runId, now);
    return { outcome: 'resumed', hook, event };
  };
}
