import type { HookEvent, HookRow, HookStore, ResumeResult } from '../journal.ts';
import { decodeText, toSelect, toStored } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

/** The reading half; each adapter resumes in its own way. */
export function createHookReader({ tables, query }: Statements): Omit<HookStore, 'resume'> {
  const find = findHookQuery(tables);
  const listEvents = `
    select r.signals as "signals", e.token as "token", e.n as "n", e.payload as "payload", e.at as "at"
    from ${tables.runs} r left join ${tables.hookEvents} e on e.run_id = r.run_id
    where r.run_id = ? order by e.token, e.n`;
  return {
    async find(token) {
      const [row] = await query(find, [toStoredText(token)]);
      return row && toHookRow(row);
    },
    async list({ runId, kind, isOpen }, { limit }) {
      const conditions: string[] = [];
      const params: StoredValue[] = [];
      const add = (column: string, value: StoredValue | undefined): void => {
        if (value === undefined) return;
        conditions.push(`${column} = ?`);
        params.push(toStored(value));
      };
      add('run_id', runId);
      add('kind', kind);
      // Written out: so the planner sees that the index of open hooks will do.
      if (isOpen !== undefined) conditions.push(`is_open = ${Number(isOpen)}`);
      const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
      const order = 'order by created_at desc, run_id desc, call desc';
      const rows = await query(`select ${HOOK_SELECT} from ${tables.hooks} ${where} ${order} limit ?`, [
        ...params,
        limit,
      ]);
      return rows.map(toHookRow);
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
  createdAt: 'created_at',
} as const satisfies Record<keyof HookRow, string>;

export const HOOK_SELECT = toSelect(HOOK_COLUMNS);

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

/**
 * What a resume answers without recording anything; undefined: it is to be recorded. A decision stays the answer after
 * its run has ended. `first`: the hook's event 0.
 */
export function judgeResume(hook: HookRow, first: HookEvent | undefined): ResumeResult | undefined {
  if (first && !hook.many) return { outcome: 'already', hook, event: first };
  return hook.isOpen ? undefined : { outcome: 'closed', hook };
}
