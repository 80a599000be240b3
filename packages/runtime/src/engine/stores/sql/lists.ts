import { ASKED_BY, CHARGED_TO } from '../../box-marks.ts';
import { LISTED_BYTES } from '../../journal/reading.ts';
import type { BriefRun, CutMember, RunFilter, RunTally } from '../../journal/reading.ts';
import type { RunStatus } from '../../journal/run.ts';
import { FREE, inState, inStateOfName } from './queries.ts';
import { RUN_COLUMNS, RUN_SELECT, toRunRow, toSelect } from './rows.ts';
import type { StoredRow } from './rows.ts';
import type { Statement } from './statements.ts';
import { isPostgres, starterColumns } from './tables.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

interface Query {
  sql: string;
  params: Statement[1];
}

const CUT_MEMBERS = ['input', 'output'] as const satisfies CutMember[];
const BYTES_PREFIX = 'bytes ';
const CUT_LENGTH = 2_000;
const { input: _input, output: _output, ...WITHOUT_VALUES } = RUN_COLUMNS;

/** The page of runs that match, newest first. */
export function listQuery(
  tables: Tables,
  filter: RunFilter,
  page: { limit: number; before?: string },
  select: string = RUN_SELECT,
): Query {
  const { from, id, where, params } = conditionsOf(tables, filter, page.before);
  return {
    sql: `select ${select} from ${from} ${where} order by ${id} desc limit ?`,
    params: [...params, page.limit],
  };
}

/** What `toBriefRun` is made of. */
export const BRIEF_SELECT: string = [
  toSelect(WITHOUT_VALUES),
  ...CUT_MEMBERS.map((member) => {
    const bytes = `coalesce(octet_length(${member}), 0)`;
    const value = `case when ${bytes} > ${LISTED_BYTES} then substr(${member}, 1, ${CUT_LENGTH}) else ${member} end as "${member}"`;
    return `${value}, ${bytes} as "${BYTES_PREFIX}${member}"`;
  }),
].join(', ');

export function toBriefRun(row: StoredRow): BriefRun {
  const entries = Object.entries(row).filter(([key]) => !key.startsWith(BYTES_PREFIX));
  const bytesOf = (member: CutMember) => Number(row[BYTES_PREFIX + member]);
  const bytes = { input: bytesOf('input'), output: bytesOf('output') };
  const cut = CUT_MEMBERS.filter((member) => bytes[member] > LISTED_BYTES);
  return { ...toRunRow(Object.fromEntries(entries)), cut, bytes };
}

/** The runs that match, counted by status and stretch of time. Answers rows for `toTally`. */
export function tallyQuery(tables: Tables, filter: RunFilter, bucketMs: number): Query {
  const { from, where, params } = conditionsOf(tables, filter);
  const bucket = `created_at / ${Math.floor(bucketMs)}`;
  const duration = 'ended_at - started_at';
  const sums = TOKENS.map(([key, column]) => `cast(sum(${column}) as bigint) as "${key}"`).join(', ');
  return {
    sql: `
      select ${bucket} as "bucket", status as "status", count(*) as "count", count(${duration}) as "timed",
        cast(coalesce(sum(${duration}), 0) as bigint) as "durationSum", coalesce(max(${duration}), 0) as "durationMax",
        ${sums}
      from ${from} ${where} group by ${bucket}, status order by 1, 2`,
    params,
  };
}

export function toTally(row: StoredRow): RunTally {
  return { ...row } as unknown as RunTally;
}

// --- internal ---

const TOKENS = Object.entries(RUN_COLUMNS).filter(([key]) => key.endsWith('Tokens'));

const EQUAL_KEYS = ['name', 'kind', 'trigger', 'sessionId', 'parentRunId'] as const;

const FORKS = `('fork', 'rewind')`;

/**
 * Run ids are ordered by the clock of the process that made them, `created_at` is the store's. A stretch of time is found by
 * id, with room for a process whose clock is a day off, and then cut exactly.
 */
const CLOCK_SLACK_MS = 25 * 60 * 60 * 1000;

interface Conditions {
  /** The table, or the tables, to read. */
  from: string;
  /** The column with the id of the run in which they are found in order. */
  id: string;
  where: string;
  params: Statement[1];
}

function conditionsOf(tables: Tables, filter: RunFilter, before?: string): Conditions {
  const { runs } = tables;
  const isIndexed = filter.attribute !== undefined && !UNINDEXED.has(filter.attribute.name);
  const id = isIndexed ? 'of_run' : 'run_id';
  const conditions: string[] = [];
  const params: Statement[1] = [];
  const add = (condition: string, ...values: (string | number)[]): void => {
    conditions.push(condition);
    params.push(...values.map((value) => (typeof value === 'string' ? toStoredText(value) : value)));
  };
  for (const key of EQUAL_KEYS) {
    const value = filter[key];
    if (value !== undefined) add(`${RUN_COLUMNS[key]} = ?`, value);
  }
  if (filter.retryOf !== undefined) add(`retry_of = ? and trigger not in ${FORKS}`, filter.retryOf);
  if (filter.forkedFrom !== undefined) add(`retry_of = ? and trigger in ${FORKS}`, filter.forkedFrom);
  // Beside the parameters, so that the planner sees that the small indexes will do.
  if (filter.kind === 'agent') add(`kind = 'agent'`);
  if (filter.trigger !== undefined && filter.trigger !== 'api') add(`trigger <> 'api'`);
  if (filter.status !== undefined) add(STATUS_CONDITIONS[filter.status](runs));
  const ofName = filter.name !== undefined && filter.status !== undefined && inStateOfName(filter.status);
  if (ofName && !isPostgres(runs)) add(ofName);
  if (filter.attribute) addAttribute(add, filter.attribute);
  if (filter.attribute && isIndexed) {
    const keys = markKeys(filter.attribute);
    conditions.push(`pair in (${keys.map(() => `substr(?, 1, ${MARK_LENGTH})`).join(', ')})`);
    params.push(...keys);
  }
  const starter = starterColumns(tables);
  if (filter.client !== undefined) add(`${starter.client} = ?`, filter.client);
  if (filter.user !== undefined) add(`${starter.user} = ?`, filter.user);
  if (filter.hidden) addHidden(add, filter.hidden);
  if (filter.from !== undefined) add(`created_at >= ? and ${id} >= ?`, filter.from, idAt(filter.from - CLOCK_SLACK_MS));
  if (filter.to !== undefined) add(`created_at < ? and ${id} < ?`, filter.to, idAt(filter.to + CLOCK_SLACK_MS));
  if (before !== undefined) add(`${id} < ?`, before);
  return {
    from: isIndexed ? `${runs} join ${tables.attributes} on of_run = run_id` : runs,
    id,
    where: conditions.length > 0 ? `where ${conditions.join(' and ')}` : '',
    params,
  };
}

/** What runs or is about to is in the indexes that claims use. */
const among = (status: RunStatus, parts: string[]) => (runs: string) =>
  `status = '${status}' and run_id in (${parts.map((part) => `select run_id from ${runs} where ${part}`).join(' union all ')})`;

const IS_PAUSED = 'paused_at is not null';
const UNOWNED_PAUSED = `${IS_PAUSED} and owner is null`;

/**
 * SQLite takes a partial index where its condition stands word for word. Postgres proves it of the status, and would take the
 * matching rows for fewer than they are with each condition more: it reads all of them then, and sorts.
 */
function inPartOf(status: Parameters<typeof inState>[0]): (runs: string) => string {
  return (runs) => (isPostgres(runs) ? `status = '${status}'` : inState(status));
}

const STATUS_CONDITIONS: Record<RunStatus, (runs: string) => string> = {
  queued: among('queued', [`${FREE} and status = 'queued'`, IS_PAUSED]),
  running: among('running', ['owner is not null', `${FREE} and status = 'running'`, UNOWNED_PAUSED]),
  waiting: inPartOf('waiting'),
  blocked: inPartOf('blocked'),
  failed: inPartOf('failed'),
  cancelled: inPartOf('cancelled'),
  completed: () => `status = 'completed'`,
};

/** Runs are not searched by these, and most that a key starts have one. */
const UNINDEXED = new Set<string>([ASKED_BY, CHARGED_TO]);

/** So much of a mark is in its index; Postgres takes no entry above 2,700 bytes. */
const MARK_LENGTH = 200;

/**
 * What the index has of a mark. It may have more runs than match: `addAttribute` says which do. A number with a fraction is
 * written by SQLite in a way of its own, and is there as `#`.
 */
function markKeys({ name, value }: { name: string; value: string }): string[] {
  const isFraction = isPlainWord(value) && !['true', 'false'].includes(value) && !Number.isSafeInteger(Number(value));
  return [value, ...(isFraction ? ['#'] : [])].map((text) => `${name}:${text}`);
}

/**
 * Marks are JSON text of one object without objects in it. A member is in it, with what ends it, exactly when the run has
 * that mark: inside of a text value every quote has a backslash before it.
 */
function addAttribute(
  add: (condition: string, ...values: string[]) => void,
  given: { name: string; value: string },
): void {
  const { name, value } = given;
  const forms = [JSON.stringify(value), ...(isPlainWord(value) ? [value] : [])];
  const members = forms.flatMap((form) => [',', '}'].map((end) => `${JSON.stringify(name)}:${form}${end}`));
  const any = members.map(() => `replace(attributes, ?, '') <> attributes`).join(' or ');
  add(`attributes is not null and (${any})`, ...members);
}

/** A mark of the box, whose value is a text. */
function addHidden(
  add: (condition: string, ...values: string[]) => void,
  { mark, unless }: { mark: string; unless: string },
): void {
  const name = JSON.stringify(mark);
  const own = [',', '}'].map((end) => `${name}:${JSON.stringify(unless)}${end}`);
  const lacks = `replace(attributes, ?, '') = attributes`;
  const has = `replace(attributes, ?, '') <> attributes`;
  add(`(attributes is null or ${lacks} or ${has} or ${has})`, `${name}:`, ...own);
}

/** How JSON writes a number or a boolean. */
function isPlainWord(text: string): boolean {
  if (text === 'true' || text === 'false') return true;
  return Number.isFinite(Number(text)) && String(Number(text)) === text;
}

/** The smallest run id of a time. */
function idAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
