import type { Firing, Schedule, ScheduleStore } from '../../journal/schedules.ts';
import { createAdvances, firingStatements, giveBackStatement, KEPT_FIRINGS } from './firings.ts';
import { decodeText, toStored } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statement, Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

export function createScheduleStore(statements: Statements): ScheduleStore {
  const { tables, query, commit, now } = statements;
  const { schedules, firings } = tables;
  const { declare, make } = upsertsOf(tables);
  const read: Read = async (rest, params) =>
    (await query(`${selectOf(tables)} where s.gone_at is null and ${rest}`, params)).map(toSchedule);
  const find = async (id: string): Promise<Schedule | undefined> => (await read('s.id = ?', [toStoredText(id)]))[0];
  const listDeclared = async (): ReturnType<ScheduleStore['listDeclared']> => {
    const rows = await query(
      `select id as "id", name as "name", cron as "cron", time_zone as "timeZone", input as "input", next_at as "nextAt",
        digest as "codeHash", case when gone_at is null then 0 else 1 end as "isGone"
      from ${schedules} where origin = 'declared' order by id`,
      [],
    );
    type Declared = Awaited<ReturnType<ScheduleStore['listDeclared']>>[number];
    return rows.map((row) => ({ ...(decodeText(row) as unknown as Declared), isGone: row.isGone === 1 }));
  };
  const advances = createAdvances({ tables, query, commit });
  return {
    find,
    list({ name } = {}, page) {
      const conditions: string[] = [];
      const params: StoredValue[] = [];
      const add = (condition: string, value: string | undefined): void => {
        if (value === undefined) return;
        conditions.push(condition);
        params.push(toStoredText(value));
      };
      add('s.name = ?', name);
      add('s.id > ?', page?.after);
      const where = ['true', ...conditions].join(' and ');
      return read(`${where} order by s.id ${page ? 'limit ?' : ''}`, page ? [...params, page.limit] : params);
    },
    async reconcile(given) {
      const ids = given.map((schedule) => toStoredText(schedule.id));
      const others = ids.length > 0 ? `and id not in (${ids.map(() => '?').join(', ')})` : '';
      const at = await now();
      const upserts = given.map(({ id, name, cron, timeZone, input, nextAt, codeHash = '' }): Statement => {
        return [declare, [...[id, name, cron, timeZone, input].map(toStored), nextAt, toStoredText(codeHash), at, at]];
      });
      await commit([
        [`update ${schedules} set gone_at = ? where origin = 'declared' and gone_at is null ${others}`, [at, ...ids]],
        ...upserts,
      ]);
      const stored = new Map((await listDeclared()).map((schedule) => [schedule.id, schedule]));
      return given.every(({ id, cron, timeZone, input }) => {
        const kept = stored.get(id);
        return kept?.cron === cron && kept.timeZone === timeZone && kept.input === input;
      });
    },
    listDeclared,
    async make({ id, name, cron, timeZone, input, nextAt, digest, armedBy = null }) {
      const texts = [id, name, cron, timeZone, input].map(toStored);
      await query(make, [...texts, nextAt, toStoredText(digest), await now(), toStored(armedBy)]);
      return (await find(id)) as Schedule;
    },
    async remove(id) {
      const key = toStoredText(id);
      const rows = await query(`delete from ${schedules} where id = ? returning id`, [key]);
      await commit([[`delete from ${firings} where id = ?`, [key]]]);
      return rows.length > 0;
    },
    takeDue: createTakeDue(statements, read),
    async giveBack(left) {
      if (left.length > 0) await commit([giveBackStatement(tables, left)]);
    },
    advance: (id, expected, nextAt, fired, times) => advances.add({ id, expected, nextAt, fired, times }),
    async noteFiring(id, fired) {
      const started = [fired.runId ?? null, fired.triggerId ?? null].map(toStored);
      const noted = await query(
        `select 1 as found from ${firings} where id = ? and (run_id = ? or trigger_id = ?) limit 1`,
        [toStoredText(id), ...started],
      );
      if (noted.length === 0) await commit(firingStatements(tables, id, fired));
    },
    async listFirings(id) {
      const rows = await query(
        `select s.at as "at", s.error as "error", ${RUN_ID} as "runId", ${STATUS} as "status"
        ${joinsOf(tables, `${firings} s`, 's.run_id', 's.trigger_id')}
        where s.id = ? order by s.firing_no desc limit ${KEPT_FIRINGS}`,
        [toStoredText(id)],
      );
      return rows.map(decodeText) as unknown as Firing[];
    },
    async setPaused(id, isPaused, nextAt, armedBy = null) {
      const armed = isPaused ? '' : ', armed_by = ?';
      const rows = await query(
        `update ${schedules} set is_paused = ?, taken_until = null, next_at = case when next_at is null then null else cast(? as bigint) end
        ${armed} where id = ? and is_paused <> ? returning id`,
        [Number(isPaused), nextAt, ...(isPaused ? [] : [toStored(armedBy)]), toStoredText(id), Number(isPaused)],
      );
      return rows.length > 0;
    },
    async forgetSpent(before, goneBefore) {
      const spent = `((next_at is null and last_at < ?) or gone_at < ?)`;
      const times = [before, goneBefore];
      await commit([
        [`delete from ${firings} where id in (select id from ${schedules} where ${spent})`, times],
        [`delete from ${schedules} where ${spent}`, times],
      ]);
    },
  };
}

// --- internal ---

type Read = (rest: string, params: StoredValue[]) => Promise<Schedule[]>;

function createTakeDue({ tables, lock, query, now, isAmong }: Statements, read: Read): ScheduleStore['takeDue'] {
  const { schedules } = tables;
  return async (limit, holdMs, passed = [], mostBytes = Number.MAX_SAFE_INTEGER) => {
    const at = await now();
    const others = passed.length > 0 ? `and not (${isAmong('id')})` : '';
    const due = `
      select id, next_at from ${schedules} where is_paused = 0 and gone_at is null and next_at <= ? and (taken_until is null or taken_until <= ?) ${others}
      order by next_at, id limit ? ${lock}`;
    // Behind the order and the limit: what is ordered would be carried along with its input.
    const sized = `select found.id, next_at, (select octet_length(input) from ${schedules} s where s.id = found.id) as size from (${due}) found`;
    const before = 'sum(size) over (order by next_at, id rows unbounded preceding) - size';
    const within = `select id from (select id, ${before} as before_it from (${sized}) sized) counted where before_it < ?`;
    const taken = await query(`update ${schedules} set taken_until = ? where id in (${within}) returning id`, [
      at + holdMs,
      at,
      at,
      ...(passed.length > 0 ? [JSON.stringify(passed.map(toStoredText))] : []),
      limit,
      mostBytes,
    ]);
    if (taken.length === 0) return [];
    const ids = taken.map(({ id }) => id as string);
    return read(`s.id in (${ids.map(() => '?').join(', ')}) order by s.next_at, s.id`, ids);
  };
}

const SCHEDULE_COLUMNS = {
  id: 'id',
  name: 'name',
  cron: 'cron',
  timeZone: 'time_zone',
  input: 'input',
  nextAt: 'next_at',
  isPaused: 'is_paused',
  origin: 'origin',
  digest: 'digest',
  armedBy: 'armed_by',
  createdAt: 'created_at',
  lastAt: 'last_at',
  lastError: 'last_error',
} as const;

/** The run that was started, or that the queued start has become. */
const RUN_ID = 'coalesce(r.run_id, t.run_id)';
const STATUS = `coalesce(r.status, t.status, case when q.trigger_id is null then null else 'queued' end)`;

function joinsOf({ runs, queue }: Tables, table: string, runId: string, triggerId: string): string {
  return `
    from ${table}
    left join ${runs} r on r.run_id = ${runId}
    left join ${runs} t on t.trigger_id = ${triggerId}
    left join ${queue} q on q.trigger_id = ${triggerId}`;
}

function selectOf(tables: Tables): string {
  const columns = Object.entries(SCHEDULE_COLUMNS).map(([key, column]) => `s.${column} as "${key}"`);
  const last = `${RUN_ID} as "lastRunId", ${STATUS} as "lastStatus"`;
  const joins = joinsOf(tables, `${tables.schedules} s`, 's.last_run_id', 's.last_trigger_id');
  return `select ${columns.join(', ')}, ${last} ${joins}`;
}

function upsertsOf({ schedules }: Tables): { declare: string; make: string } {
  const columns = 'id, name, cron, time_zone, input, next_at, is_paused';
  const replaced = 'name = excluded.name, cron = excluded.cron, time_zone = excluded.time_zone, input = excluded.input';
  return {
    declare: `
      insert into ${schedules} as stored (${columns}, origin, digest, created_at)
      values (?, ?, ?, ?, ?, ?, 0, 'declared', ?, ?)
      on conflict (id) do update set ${replaced}, digest = excluded.digest, gone_at = null, next_at = case
        when stored.gone_at is null and (stored.next_at <= ? or (stored.cron = excluded.cron and stored.input = excluded.input
          and stored.time_zone is not distinct from excluded.time_zone)) then stored.next_at
        else excluded.next_at end`,
    make: `
      insert into ${schedules} as stored (${columns}, origin, digest, created_at, armed_by)
      values (?, ?, ?, ?, ?, ?, 0, 'made', ?, ?, ?)
      on conflict (id) do update set ${replaced}, next_at = excluded.next_at, is_paused = 0, taken_until = null, digest = excluded.digest,
        created_at = excluded.created_at, armed_by = excluded.armed_by
      where stored.digest <> excluded.digest returning id`,
  };
}

function toSchedule(row: StoredRow): Schedule {
  return { ...decodeText(row), isPaused: row.isPaused === 1 } as unknown as Schedule;
}
