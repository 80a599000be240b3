import { MAX_EVENTS, MAX_LARGE_EVENTS, SMALL_EVENT } from '../../journal/hooks.ts';
import type {
  HookEntry,
  HookEvent,
  HookEvents,
  HookFilter,
  HookPlace,
  HookRow,
  HookStore,
  OpenWait,
  ResumeOptions,
  ResumeResult,
} from '../../journal/hooks.ts';
import { decodeText, toSelect, toStored } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';
import { isSameDigest } from '../../values/digest.ts';
import { starterColumns } from './tables.ts';
import type { Tables } from './tables.ts';
import { fromStoredText, toStoredText } from './text.ts';

/** All but the resume, which each adapter does in its own way. */
export function createHookReader({ tables, query, commit }: Statements): Omit<HookStore, 'resume'> {
  const find = findHookQuery(tables);
  const signals = `select signals as "signals" from ${tables.runs} where run_id = ?`;
  const close = `update ${tables.hooks} set is_open = 0 where run_id = ? and token = ? and call = ? and is_open = 1`;
  const listWith = async (select: string, filter: HookFilter, { limit, after }: HookPage): Promise<HookEntry[]> => {
    const conditions = [`h.kind = ?`];
    const params: StoredValue[] = [toStoredText(filter.kind)];
    const add = (condition: string, ...values: (string | number)[]): void => {
      conditions.push(condition);
      params.push(...values.map(toStored));
    };
    if (filter.token !== undefined) add('h.token = ?', filter.token);
    if (filter.runId !== undefined) add('h.run_id = ?', filter.runId);
    if (filter.verdict !== undefined) add('h.verdict = ?', filter.verdict);
    const starter = starterColumns(tables);
    if (filter.client !== undefined) add(`${starter.client} = ?`, filter.client);
    if (filter.user !== undefined) add(`${starter.user} = ?`, filter.user);
    for (const condition of standingOf(filter)) add(condition);
    if (after) add('(h.created_at, h.run_id, h.token) < (?, ?, ?)', after.createdAt, after.runId, after.token);
    const rows = await query(entries(tables, { select, kind: filter.kind, conditions }), [...params, limit]);
    return rows.map(toHookEntry);
  };
  return {
    close: (runId, token, call) => commit([[close, [toStoredText(runId), toStoredText(token), call]]]),
    async find(token) {
      const [row] = await query(find, [toStoredText(token)]);
      return row && toHookRow(row);
    },
    async countGiven(token) {
      const [row] = await query(givenQuery(tables), [toStoredText(token)]);
      return row && { runId: decodeText(row).runId as string, given: Number(row.given) };
    },
    async countTaken(runId) {
      const [row] = await query(
        `select count(*) as "taken" from ${tables.events} where run_id = ? and kind = 'hook' and event = 'done'
          and step_id in ('await hook', 'await webhook')`,
        [toStoredText(runId)],
      );
      return Number(row?.taken ?? 0);
    },
    async listOpen({ scope, until }, { limit, after }) {
      // The character behind that which ends the scope.
      const end = scope.slice(0, -1) + String.fromCharCode(scope.charCodeAt(scope.length - 1) + 1);
      const from = after > scope ? after : scope;
      const params = [toStoredText(from), toStoredText(end), until, limit];
      return (await query(openQuery(tables), params)).map((row) => decodeText(row) as unknown as OpenWait);
    },
    listEntries: (filter, page) => listWith(ENTRY_SELECT, filter, page),
    listBriefEntries: (filter, page) => listWith(BRIEF_SELECT, filter, page),
    async listEvents(runId, waits) {
      const id = toStoredText(runId);
      if (waits.length === 0) {
        const [row] = await query(signals, [id]);
        return { signals: Number(row?.signals ?? 0), events: [], more: [], missing: [] };
      }
      const found: HookEvents = { signals: Infinity, events: [], more: [], missing: [] };
      const cut = new Set<string>();
      for (let from = 0; from < waits.length; from += WAITS_AT_ONCE) {
        const some = waits.slice(from, from + WAITS_AT_ONCE);
        const params = some.flatMap(({ token, n }) => [toStoredText(token), n]);
        const rows = await query(eventsQuery(tables, some.length), [...params, id, id, id]);
        // The fewest: what came after them is signalled again.
        found.signals = Math.min(found.signals, Number(rows[0]?.signals ?? 0));
        for (const { isMade, signals: _, nth, ...event } of rows) {
          const token = event.token as string;
          if (isMade === 0) found.missing.push(fromStoredText(token));
          if (event.n === null || cut.has(token)) continue;
          if (event.payload !== null) found.events.push(toHookEvent(event));
          if (event.payload === null || Number(nth) === MAX_EVENTS) cut.add(token);
        }
      }
      found.more = [...cut].map(fromStoredText);
      return found;
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
  since: 'since',
} as const satisfies Record<keyof HookRow, string>;

const HOOK_SELECT = toSelect(HOOK_COLUMNS);

/** The open hook of a token, else the newest closed one. Parameter: the token. */
export function findHookQuery({ hooks }: Pick<Tables, 'hooks'>): string {
  return `
    select ${HOOK_SELECT} from ${hooks} where token = ?
    order by is_open desc, created_at desc, run_id desc limit 1`;
}

/** The same of several, each once. Parameter: the tokens, as an array. In Postgres alone. */
export function findHooksQuery({ hooks }: Pick<Tables, 'hooks'>): string {
  return `
    select found.* from (select distinct unnest($1::text[]) as token) as given cross join lateral (
      select ${HOOK_SELECT} from ${hooks} where token = given.token
      order by is_open desc, created_at desc, run_id desc limit 1) as found`;
}

export function toHookRow(row: StoredRow): HookRow {
  return { ...decodeText(row), many: row.many === 1, isOpen: row.isOpen === 1 } as unknown as HookRow;
}

/** From a row that may have other columns too. */
export function toHookEvent(row: StoredRow): HookEvent {
  const { token, n, payload, at } = decodeText(row);
  return { token, n, payload, at } as unknown as HookEvent;
}

/** The resume that a key has made within its life, of the run or of one before it in its chain. Parameters: run id, token, key, and the time from which keys count. */
export function findKeyedQuery({ runs, hookEvents }: Pick<Tables, 'runs' | 'hookEvents'>): string {
  return `
    with asked (id) as (select cast(? as text))
    select token, n, payload, at, idempotency_digest as "digest" from ${hookEvents} e, asked
    where token = ? and idempotency_key = ? and at > ? and (e.run_id = asked.id or exists (
      select 1 from ${runs} a, ${runs} b where a.run_id = e.run_id and b.run_id = asked.id and a.chain_id = b.chain_id))
    order by at desc, n desc limit 1`;
}

/** The first resume. Parameters: run id, token, the hook's `since`. */
export function findFirstQuery({ hookEvents }: Pick<Tables, 'hookEvents'>): string {
  return `select token, n, payload, at from ${hookEvents} where run_id = ? and token = ? and n = ?`;
}

/** The first verdict stays; of a wait for an event, it is over. Parameters: verdict, run id, token. */
export function setVerdictQuery({ hooks }: Pick<Tables, 'hooks'>): string {
  return `
    update ${hooks} set verdict = ?, is_open = case when kind = 'event' then 0 else is_open end
    where run_id = ? and token = ? and verdict is null`;
}

/** What a key answers that has resumed the hook before. */
export function judgeKey(hook: HookRow, keyed: StoredRow, options: ResumeOptions): ResumeResult {
  const { digest } = decodeText(keyed) as { digest: string };
  if (!options.idempotency || !isSameDigest(digest, options.idempotency)) return { outcome: 'idempotency_conflict' };
  return { outcome: 'repeated', hook, event: toHookEvent(keyed) };
}

/**
 * What a resume answers without recording anything; undefined: it is to be recorded. A decision stays the answer after
 * its run has ended. `first`: the hook's first resume.
 */
export function judgeResume(hook: HookRow, first: HookEvent | undefined): ResumeResult | undefined {
  if (first && !hook.many) return { outcome: 'already', hook, event: first };
  return hook.isOpen ? undefined : { outcome: 'closed', hook };
}

// --- internal ---

const ENTRY_SELECT = Object.entries(HOOK_COLUMNS)
  .map(([key, column]) => `h.${column} as "${key}"`)
  .join(', ');

const BRIEF_SELECT = ENTRY_SELECT.replace('h.detail as', 'coalesce(h.brief, h.detail) as');

interface HookPage {
  limit: number;
  after?: HookPlace;
}

interface Entries {
  select: string;
  kind: string;
  conditions: string[];
}

function entries({ hooks, hookEvents, runs }: Tables, { select, kind, conditions }: Entries): string {
  // Written out beside its parameter: so the planner sees that the indexes of approvals will do.
  const named = kind === 'approval' ? ` and h.kind = 'approval'` : '';
  return `
    select ${select}, e.n as "n", e.payload as "payload", e.at as "at", r.session_id as "sessionId"
    from ${hooks} h
    left join ${hookEvents} e on e.run_id = h.run_id and e.token = h.token and e.n = h.since
    left join ${runs} r on r.run_id = h.run_id
    where ${conditions.join(' and ')}${named}
    order by h.created_at desc, h.run_id desc, h.token desc limit ?`;
}

/** By the index of open tokens. Parameters: two tokens between which they are, the latest time, the limit. */
function openQuery({ hooks, runs }: Tables): string {
  return `
    select h.token as "token", h.detail as "detail", r.started_by as "startedBy"
    from ${hooks} h join ${runs} r on r.run_id = h.run_id
    where h.token > ? and h.token < ? and h.is_open = 1 and h.kind = 'event' and h.created_at <= cast(? as bigint)
    order by h.token limit ?`;
}

/** By the last number there is: the numbers of a hook have no gaps. Parameter: the token. */
function givenQuery({ hooks, hookEvents }: Tables): string {
  return `
    select h.run_id as "runId", coalesce(
      (select max(e.n) from ${hookEvents} e where e.run_id = h.run_id and e.token = h.token) + 1 - h.since, 0) as "given"
    from ${hooks} h where h.token = ? and h.is_open = 1`;
}

/**
 * Each wait is a row of its own, so that each is looked up by the key. `payload`: null where it is not read this time; the
 * numbers of a hook have no gaps. Parameters: token and `n` of each, run id thrice.
 */
function eventsQuery({ runs, hooks, hookEvents }: Tables, count: number): string {
  const waits = Array.from({ length: count }, () => '(cast(? as text), cast(? as integer))').join(', ');
  return `
    with w (token, n) as (values ${waits})
    select w.token as "token", case when h.token is null then 0 else 1 end as "isMade",
      e.n as "n", e.at as "at", e.n - w.n + 1 as "nth",
      case when e.n < w.n + ${MAX_LARGE_EVENTS} or length(e.payload) <= ${SMALL_EVENT} then e.payload end as "payload",
      (select signals from ${runs} where run_id = ?) as "signals"
    from w
    left join ${hooks} h on h.run_id = ? and h.token = w.token
    left join ${hookEvents} e on e.run_id = ? and e.token = w.token and e.n >= w.n and e.n < w.n + ${MAX_EVENTS}
    order by w.token, e.n`;
}

/** A statement has a limit of parameters. */
const WAITS_AT_ONCE = 500;

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
