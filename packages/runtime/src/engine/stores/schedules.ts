import type { Schedule, ScheduleStore } from '../journal.ts';
import { decodeText, toSelect, toStored } from './rows.ts';
import type { StoredRow } from './rows.ts';
import type { Statement, Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createScheduleStore({ tables, query, commit, now }: Statements): ScheduleStore {
  const { schedules } = tables;
  const upsert = `
    insert into ${schedules} as stored (id, name, cron, time_zone, input, next_at, is_paused)
    values (?, ?, ?, ?, ?, ?, 0)
    on conflict (id) do update set name = excluded.name, cron = excluded.cron, time_zone = excluded.time_zone,
      input = excluded.input, next_at = case
        when stored.cron = excluded.cron and stored.input = excluded.input
          and stored.time_zone is not distinct from excluded.time_zone then stored.next_at
        else excluded.next_at end`;
  return {
    async list() {
      return (await query(`select ${SELECT} from ${schedules} order by id`, [])).map(toSchedule);
    },
    async reconcile(given) {
      const ids = given.map((schedule) => toStoredText(schedule.id));
      const others = ids.length > 0 ? `where id not in (${ids.map(() => '?').join(', ')})` : '';
      const upserts = given.map(({ id, name, cron, timeZone, input, nextAt }): Statement => {
        return [upsert, [id, name, cron, timeZone, input, nextAt].map(toStored)];
      });
      await commit([[`delete from ${schedules} ${others}`, ids], ...upserts]);
    },
    async due(limit) {
      const where = 'where is_paused = 0 and next_at <= ?';
      const rows = await query(`select ${SELECT} from ${schedules} ${where} order by next_at, id limit ?`, [
        await now(),
        limit,
      ]);
      return rows.map(toSchedule);
    },
    async advance(id, expected, nextAt, fired) {
      const rows = await query(
        `update ${schedules} set next_at = ?, last_at = ?, last_run_id = ? where id = ? and next_at = ? returning id`,
        [nextAt, fired.at, toStored(fired.runId), toStoredText(id), expected],
      );
      return rows.length > 0;
    },
    async setPaused(id, isPaused, nextAt) {
      const rows = await query(`update ${schedules} set is_paused = ?, next_at = ? where id = ? returning id`, [
        Number(isPaused),
        nextAt,
        toStoredText(id),
      ]);
      return rows.length > 0;
    },
  };
}

// --- internal ---

const COLUMNS = {
  id: 'id',
  name: 'name',
  cron: 'cron',
  timeZone: 'time_zone',
  input: 'input',
  nextAt: 'next_at',
  isPaused: 'is_paused',
  lastAt: 'last_at',
  lastRunId: 'last_run_id',
} as const satisfies Record<keyof Schedule, string>;

const SELECT = toSelect(COLUMNS);

function toSchedule(row: StoredRow): Schedule {
  return { ...decodeText(row), isPaused: row.isPaused === 1 } as unknown as Schedule;
}
