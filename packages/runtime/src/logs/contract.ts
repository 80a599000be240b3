import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { toNewEntry } from './entry.ts';
import type { NewLogEntry } from './entry.ts';
import { createMatch } from './filter.ts';
import type { LogFilter } from './filter.ts';
import type { LogStore } from './store.ts';

/** What every home of the log records promises. The caller opens and closes the store. */
export function describeLogStore(name: string, getStore: () => LogStore): void {
  describe(`log store on ${name}`, () => {
    let runId: string;
    const append = (...entries: Partial<NewLogEntry>[]) =>
      getStore().append(entries.map((entry) => ({ ...EMPTY, runId, ...entry })));
    const page = async (filter: LogFilter = {}) => {
      const found = await getStore().page({ runId, ...filter }, { limit: 100 });
      return found.map(({ message }) => message);
    };
    beforeEach(() => {
      runId = randomUUID();
    });

    it('gives back what was stored', async () => {
      const sessionId = randomUUID();
      const entry = {
        at: '2026-01-02T03:04:05.678Z',
        level: 'warn',
        message: 'Not so good: ü, {"a"}, \\u0000, ",", null',
        sessionId,
        name: 'refund',
        step: 'charge',
        requestId: 'r-1',
      } as const;
      const last = await append({ ...entry, fields: JSON.stringify({ list: [1, null, '{'], text: '\\u0000' }) });
      const [found] = await getStore().page({ runId }, { limit: 1 });
      expect(found).toEqual({ ...entry, id: last, runId, fields: { list: [1, null, '{'], text: '\\u0000' } });
    });

    it('stores what no database takes as it is', async () => {
      const record = {
        time: EMPTY.at,
        level: 'info',
        message: 'a\0b\ud800',
        runId,
        deep: { '\0': '\udfff \\ud800' },
      } as const;
      await append(toNewEntry(record));
      const [found] = await getStore().page({ runId }, { limit: 1 });
      expect(found?.message).toBe('a\ufffdb\ufffd');
      expect(found?.fields).toEqual({ deep: { '\ufffd': '\ufffd \\ud800' } });
    });

    it('counts up in the order of a batch, and answers the id of the last one', async () => {
      const last = await append({ message: 'one' }, { message: 'two' }, { message: 'three' });
      const found = await getStore().page({ runId }, { limit: 10 });
      expect(found.map(({ message }) => message)).toEqual(['three', 'two', 'one']);
      expect(found[0]?.id).toBe(last);
      expect(await getStore().bounds()).toMatchObject({ newest: last });
    });

    it('gives ids in the order of the commits to those who append at once', async () => {
      const batches = Array.from({ length: 8 }, (_, batch) =>
        append(...Array.from({ length: 50 }, (__, n) => ({ message: `${batch} ${n}` }))),
      );
      await Promise.all(batches);
      const found = await getStore().page({ runId }, { limit: 1_000 });
      const inOrder = found.map(({ message }) => message.split(' ')[0]).filter((batch, n, all) => batch !== all[n - 1]);
      expect(found).toHaveLength(400);
      expect(inOrder).toHaveLength(8);
    });

    it('pages backwards without gaps while new ones arrive', async () => {
      await append(...Array.from({ length: 25 }, (_, n) => ({ message: String(n) })));
      const seen: string[] = [];
      for (let before: number | undefined; ;) {
        const found = await getStore().page({ runId }, { limit: 10, ...(before === undefined ? {} : { before }) });
        seen.push(...found.map(({ message }) => message));
        if (found.length < 10) break;
        before = found.at(-1)?.id;
        await append({ message: 'new' });
      }
      expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => String(24 - n)));
    });

    it('follows forwards from an id up to another', async () => {
      const first = await append({ message: 'one' });
      await append({ message: 'two' });
      const last = await append({ message: 'three' });
      await append({ message: 'four' });
      const found = await getStore().follow({ runId }, { after: first, upTo: last, limit: 10 });
      expect(found.map(({ message }) => message)).toEqual(['two', 'three']);
    });

    it('finds by every filter what the same filter finds in memory', async () => {
      const sessionId = randomUUID();
      await append(
        { message: 'Charged 100% of A_B', level: 'info', step: 'charge', fields: '{"card":"VISA"}' },
        { message: 'careful', level: 'warn', sessionId, name: 'refund', at: '2026-01-02T00:00:00.000Z' },
        { message: 'broken', level: 'error', fields: '{"mark":"p1"}', at: '2026-01-03T00:00:00.000Z' },
        { message: 'chatter', level: 'debug', fields: '{"mark":"p2"}' },
      );
      const all = await getStore().page({ runId }, { limit: 10 });
      const cases: [LogFilter, string[]][] = [
        [{ level: 'warn' }, ['broken', 'careful']],
        [{ step: 'charge' }, ['Charged 100% of A_B']],
        [{ sessionId }, ['careful']],
        [{ name: 'refund' }, ['careful']],
        [{ text: '100% of a_b' }, ['Charged 100% of A_B']],
        [{ text: 'visa' }, ['Charged 100% of A_B']],
        [{ text: 'A%B' }, []],
        [{ from: new Date('2026-01-02') }, ['broken', 'careful']],
        [{ from: new Date('2026-01-02'), to: new Date('2026-01-03') }, ['careful']],
        [{ hidden: { mark: 'mark', unless: 'p1' } }, ['broken', 'careful', 'Charged 100% of A_B']],
        [{ level: 'error', text: 'nothing' }, []],
      ];
      for (const [filter, expected] of cases) {
        const inMemory = all.filter(createMatch(filter)).map(({ message }) => message);
        expect({ filter, stored: await page(filter), inMemory }).toEqual({
          filter,
          stored: expected,
          inMemory: expected,
        });
      }
    });

    it('deletes the records of runs', async () => {
      const other = randomUUID();
      await append({ message: 'mine' }, { message: 'other', runId: other }, { message: 'of none', runId: null });
      await getStore().deleteRuns([runId]);
      expect(await page()).toEqual([]);
      expect(await page({ runId: other })).toEqual(['other']);
    });

    it('deletes what is older than so many days, at most as many as asked for', async () => {
      const now = Date.now();
      const days = (n: number) => new Date(now - n * 24 * 60 * 60 * 1_000).toISOString();
      await append({ message: 'a', at: days(40) }, { message: 'b', at: days(41) }, { message: 'c', at: days(20) });
      for (let n = 1; n > 0;) n = await getStore().deleteOlder(30, 2);
      expect(await page()).toEqual(['c']);
    });
  });
}

// --- internal ---

const EMPTY: NewLogEntry = {
  at: '2026-01-01T00:00:00.000Z',
  level: 'info',
  message: '',
  runId: null,
  sessionId: null,
  name: null,
  step: null,
  requestId: null,
  fields: null,
};
