import type {
  HookEntry,
  HookEvent,
  HookFilter,
  HookRow,
  HookStore,
  ResumeOptions,
  ResumeResult,
} from '../../journal/hooks.ts';
import { decodeText, toSelect, toStored } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

/** All but the resume, which each adapter does in its own way. */
export function createHookReader({ tables, query, commit }: Statements): Omit<HookStore, 'resume'> {
  const find = findHookQuery(tables);
  const listEvents = `
    select r.signals as "signals", e.token as "token", e.n as "n", e.payload as "payload", e.at as "at"
    from ${tables.runs} r left join ${tables.hookEvents} e on e.run_id = r.run_id
    where r.run_id = ? order by e.token, e.n`;
  const close = `update ${tables.hooks} set is_open = 0 where run_id = ? and token = ? and is_open = 1`;
  return {
    close: (runId, token) => commit([[close, [toStoredText(runId), toStoredText(token)]]]),
    async find(token) {
      const [row] = await query(find, [toStoredText(token)]);
      return row && toHookRow(row);
    },
    async listEntries(filter, { limit, after }) {
      const conditions = [`h.kind = ?`];
      const params: StoredValue[] = [toStoredText(filter.kind)];
      const add = (condition: string, ...values: (string | number)[]): void => {
        conditions.push(condition);
        params.push(...values.map(toStored));
      };
      if (filter.token !== undefined) add('h.token = ?', filter.token);
      if (filter.runId !== undefined) add('h.run_id = ?', filter.runId);
      if (filter.verdict !== undefined) add('h.verdict = ?', filter.verdict);
      for (const condition of standingOf(filter)) add(condition);
      if (after) add('(h.created_at, h.run_id, h.token) < (?, ?, ?)', after.createdAt, after.runId, after.token);
      const rows = await query(entries(tables, filter.kind, conditions), [...params, limit]);
      return rows.map(toHookEntry);
    },
    async listEvents(runId) {
      // One statement, so that the signals and the events are of one moment.
      const rows = await query(listEvents, [toStoredText(runId)]);
      const events = rows.filter((row) => row.n !== null).map(toHookEvent);
      return { signals: Number(rows[0]?.signals ?? 0), events };
    },
  };
}

export const HOOK_COLUMNS = {
  token: 'token',
  runId: 'run_id',
  call: 'call',
  kind: 'kind',
  many: 'many',
  detail: 'detail',
  isOpen: 'is_open',
  verdict: 'verdict',
  createdAt: 'created_at',
} as const satisfies Record<keyof HookRow, string>;

const HOOK_SELECT = toSelect(HOOK_COLUMNS);

/** The open hook of a token, else the newest closed one. Parameter: the token. */
export function findHookQuery({ hooks }: Pick<Tables, 'hooks'>): string {
  return `
    select ${HOOK_SELECT} from ${hooks} where token = ?
    order by is_open desc, created_at desc, run_id desc limit 1`;
}

export function toHookRow(row: StoredRow): HookRow {
  return { ...decodeText(row), many: row.many === 1, isOpen: row.isOpen === 1 } as unknown as HookRow;
}

/** From a row that may have other columns too. */
export function toHookEvent(row: StoredRow): HookEvent {
  const { token, n, payload, at } = decodeText(row);
  return { token, n, payload, at } as unknown as HookEvent;
}

/** The resume that a key has made within its life. Parameters: run id, token, key, and the time from which keys count. */
export function findKeyedQuery({ hookEvents }: Pick<Tables, 'hookEvents'>): string {
  return `
    select token, n, payload, at, idempotency_digest as "digest" from ${hookEvents}
    where run_id = ? and token = ? and idempotency_key = ? and at > ? order by n desc limit 1`;
}

/** The first resume. Parameters: run id, token. */
export function findFirstQuery({ hookEvents }: Pick<Tables, 'hookEvents'>): string {
  return `select token, n, payload, at from ${hookEvents} where run_id = ? and token = ? and n = 0`;
}

/** The first verdict stays. Parameters: verdict, run id, token. */
export function setVerdictQuery({ hooks }: Pick<Tables, 'hooks'>): string {
  return `update ${hooks} set verdict = ? where run_id = ? and token = ? and verdict is null`;
}

/** What a key answers that has resumed the hook before. */
export function judgeKey(hook: HookRow, keyed: StoredRow, options: ResumeOptions): ResumeResult {
  if (decodeText(keyed).digest !== options.idempotency?.digest) return { outcome: 'idempotency_conflict' };
  return { outcome: 'repeated', hook, event: toHookEvent(keyed) };
}

/**
 * What a resume answers without recording anything; undefined: it is to be recorded. A decision stays the answer after
 * its run has ended. `first`: the hook's event 0.
 */
export function judgeResume(hook: HookRow, first: HookEvent | undefined): ResumeResult | undefined {
  if (first && !hook.many) return { outcome: 'already', hook, event: first };
  return hook.isOpen ? undefined : { outcome: 'closed', hook };
}

// --- internal ---

const ENTRY_SELECT = Object.entries(HOOK_COLUMNS)
  .map(([key, column]) => `h.${column} as "${key}"`)
  .join(', ');

function entries({ hooks, hookEvents, runs }: Tables, kind: string, conditions: string[]): string {
  // Written out beside its parameter: so the planner sees that the indexes of approvals will do.
  const named = kind === 'approval' ? ` and h.kind = 'approval'` : '';
  return `
    select ${ENTRY_SELECT}, e.n as "n", e.payload as "payload", e.at as "at", r.session_id as "sessionId"
    from ${hooks} h
    left join ${hookEvents} e on e.run_id = h.run_id and e.token = h.token and e.n = 0
    left join ${runs} r on r.run_id = h.run_id
    where ${conditions.join(' and ')}${named}
    order by h.created_at desc, h.run_id desc, h.token desc limit ?`;
}

function standingOf({ isPending, isCancelled }: HookFilter): string[] {
  if (isPending === true) return ['h.is_open = 1', 'h.verdict is null'];
  if (isPending === false) return ['(h.is_open = 0 or h.verdict is not null)'];
  return isCancelled ? ['h.is_open = 0', 'h.verdict is null'] : [];
}

function toHookEntry(row: StoredRow): HookEntry {
  const { n, payload, at, sessionId, ...hook } = row;
  const first = n === null ? undefined : toHookEvent({ token: hook.token ?? null, n, payload, at } as StoredRow);
  return {
    hook: toHookRow(hook),
    first,
    sessionId: decodeText({ sessionId: sessionId ?? null }).sessionId as string | null,
  };
}
