import type { Rate } from '../../journal/starts.ts';
import type { Places } from './places.ts';
import { QUEUE_SELECT, toPromoted } from './queue.ts';
import type { Rates } from './rates.ts';
import { decodeText } from './rows.ts';
import { ask, askOne, takeLocks } from './script.ts';
import type { Dialect, Script } from './script.ts';
import { toStoredText } from './text.ts';

/** Starts that wait for a time. Once it has come they wait for the lock like others, or are runs. */
export interface DueStarts {
  /** Those whose time has come, the earliest first, a bounded number. Parameter: the time. */
  readonly query: string;
  /** Moves one of them on. Nothing, where another process has, or it has got another time meanwhile. */
  move(start: DueStart, newRunId: () => string): Script<void>;
}

export interface DueStart {
  triggerId: string;
  serialKey: string;
  throttle: string | null;
  debounceKey: string | null;
}

export function createDueStarts(dialect: Dialect, { places, rates }: { places: Places; rates: Rates }): DueStarts {
  const { queue } = dialect.tables;
  const find = `
    select ${QUEUE_SELECT}, lock_limit as "limit", is_reserved as "isReserved", ready_at as "readyAt" from ${queue}
    where trigger_id = ? and ready_at <= ? ${dialect.lock}`;
  const remove = `delete from ${queue} where trigger_id = ?`;
  const delay = `update ${queue} set ready_at = ?, is_reserved = 1, debounce_key = null where trigger_id = ?`;
  // Who comes from here on makes a start of its own.
  const enter = `update ${queue} set ready_at = null, debounce_key = null where trigger_id = ?`;

  /** When the start may go on: now, or when its throttle has room. */
  function* timeOf(throttle: Rate | undefined, reservedAt: number | undefined, now: number): Script<number> {
    if (!throttle) return now;
    // A reservation holds for as long as it is kept: after an hour without any box not all of that hour begin at once.
    if (reservedAt !== undefined && now - reservedAt <= LATE_MS) return now;
    const at = yield* rates.next(throttle, now);
    yield* rates.note(throttle, at);
    return at;
  }

  return {
    query: `
      select trigger_id as "triggerId", serial_key as "serialKey", throttle, debounce_key as "debounceKey" from ${queue}
      where ready_at is not null and ready_at <= ? order by ready_at, queue_no limit ${BATCH}`,
    *move({ triggerId, serialKey, throttle, debounceKey }, newRunId) {
      const rate = toRate(throttle);
      const names = [
        ...(debounceKey === null ? [] : [debounceName(dialect, debounceKey)]),
        ...(rate ? [rates.nameOf(rate)] : []),
        ...(serialKey === '' ? [] : [places.nameOf(serialKey)]),
      ];
      const now = yield* takeLocks(names);
      const id = toStoredText(triggerId);
      const row = yield* askOne(find, id, now);
      if (!row) return;
      const { limit, isReserved, readyAt, ...start } = row;
      const at = yield* timeOf(rate, Number(isReserved) === 1 ? Number(readyAt) : undefined, now);
      if (at > now) return void (yield* ask(delay, at, id));
      if (Number(limit) > 0) {
        yield* ask(enter, id);
        yield* places.promote(serialKey, { newRunId, now, max: 1 });
        return;
      }
      const { run, records } = toPromoted(start, newRunId(), now);
      yield* ask(remove, id);
      yield* places.insert(run, records);
    },
  };
}

/** The name under which the one start of a debounce is locked. */
export function debounceName({ tables: { queue } }: Dialect, key: string): string {
  return toStoredText(`${queue} debounce:${key}`);
}

export function toDueStart(row: Parameters<typeof decodeText>[0]): DueStart {
  return decodeText(row) as unknown as DueStart;
}

// --- internal ---

const BATCH = 100;
const LATE_MS = 5_000;

function toRate(throttle: string | null): Rate | undefined {
  return throttle === null ? undefined : (JSON.parse(throttle) as Rate);
}
