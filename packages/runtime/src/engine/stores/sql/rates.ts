import type { Rate } from '../../journal/starts.ts';
import { ask, askOne } from './script.ts';
import type { Dialect, Script } from './script.ts';
import { toStoredText } from './text.ts';

/**
 * How many starts there were of a key: the n-th of them and its time are a row. A further one is due a period after the
 * one that is `limit` before it, which is one look-up however many there are. The caller has locked the key.
 */
export interface Rates {
  nameOf(rate: Rate): string;
  /** When the next one of the key may be, from `at` on. */
  next(rate: Rate, at: number): Script<number>;
  /** There is one at this time, or will be. */
  note(rate: Rate, at: number): Script<void>;
}

export function createRates({ tables: { rates } }: Dialect): Rates {
  const last = `select n from ${rates} where key = ? order by n desc limit 1`;
  const nth = `select at from ${rates} where key = ? and n = ?`;
  const insert = `insert into ${rates} (key, n, at, until) values (?, ?, ?, ?)`;

  function* readLast({ key }: Rate): Script<number> {
    return Number((yield* askOne(last, toStoredText(key)))?.n ?? 0);
  }
  return {
    nameOf: ({ key }) => toStoredText(`${rates}:${key}`),
    *next(rate, at) {
      const before = yield* askOne(nth, toStoredText(rate.key), (yield* readLast(rate)) + 1 - rate.limit);
      return before ? Math.max(at, Number(before.at) + rate.periodMs) : at;
    },
    *note(rate, at) {
      yield* ask(insert, toStoredText(rate.key), (yield* readLast(rate)) + 1, at, at + rate.periodMs);
    },
  };
}
