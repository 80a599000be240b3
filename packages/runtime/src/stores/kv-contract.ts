import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../test/_setup.ts';
import type { KeyValueStore } from './kv.ts';

/** One place that several stores share, as replicas do. */
export interface KvPlace {
  open(): KeyValueStore;
}

/** What every adapter of `KeyValueStore` promises. */
export function describeKeyValueStore(name: string, createPlace: () => KvPlace): void {
  describe(`key-value store: ${name}`, () => {
    const opened: KeyValueStore[] = [];
    let place: KvPlace;
    let kv: KeyValueStore;
    const open = (): KeyValueStore => {
      const another = place.open();
      opened.push(another);
      return another;
    };
    beforeEach(() => {
      place = createPlace();
      kv = open();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
    });

    test('a message reaches every listener of its topic, in order, and no other', async () => {
      const heard: string[] = [];
      const elsewhere: string[] = [];
      const other: string[] = [];
      await kv.subscribe('a', (message) => heard.push(message));
      await open().subscribe('a', (message) => elsewhere.push(message));
      await kv.subscribe('b', (message) => other.push(message));
      for (const message of ['1', '2', 'ü "x"\n']) await kv.publish('a', message);
      await kv.publish('b', 'last');
      await until(() => other.length === 1 && elsewhere.length === 3);
      expect([heard, elsewhere, other]).toEqual([['1', '2', 'ü "x"\n'], ['1', '2', 'ü "x"\n'], ['last']]);
    });

    test('a listener that stops hears no more, and leaves the others', async () => {
      const first: string[] = [];
      const second: string[] = [];
      const listener = (message: string) => first.push(message);
      const stop = await kv.subscribe('a', listener);
      await kv.subscribe('a', (message) => second.push(message));
      stop();
      stop();
      await kv.publish('a', '1');
      await until(() => second.length === 1);
      const again = await kv.subscribe('a', listener);
      await kv.publish('a', '2');
      await until(() => second.length === 2);
      again();
      expect(first).toEqual(['2']);
    });

    test('one of two listeners that are the same function can stop', async () => {
      let heard = 0;
      const listener = () => heard++;
      const stop = await kv.subscribe('a', listener);
      await kv.subscribe('a', listener);
      await kv.publish('a', '1');
      await until(() => heard === 2);
      stop();
      await kv.publish('a', '2');
      await until(() => heard === 3);
    });

    test('a value is kept until its time is over', async () => {
      expect(await kv.get('key')).toBeUndefined();
      await kv.set('key', 'one', 60_000);
      await kv.set('key', '', 60_000);
      expect(await open().get('key')).toBe('');
      await kv.set('key', 'short', 20);
      await until(async () => (await kv.get('key')) === undefined);
    });

    test('a count goes up by one for each, over all who share it', async () => {
      const other = open();
      const counts = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 ? kv : other).increment('n', 60_000)),
      );
      expect(counts.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await kv.increment('m', 60_000)).toBe(1);
    });

    test('a count is changed by any number', async () => {
      expect(await kv.increment('n', 60_000, 5)).toBe(5);
      expect(await open().increment('n', 60_000, -2)).toBe(3);
      expect(await kv.get('n')).toBe('3');
    });

    test('there are as many places as there are, over all who share them', async () => {
      const other = open();
      const asked = { most: 3, ttlMs: 60_000 };
      const taken = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 ? kv : other).takePlace('a', `holder ${n}`, asked)),
      );
      expect(taken.filter(Boolean)).toHaveLength(3);
      const holder = `holder ${taken.indexOf(true)}`;
      // Who has one keeps it.
      expect(await kv.takePlace('a', holder, asked)).toBe(true);
      expect([await other.countPlaces('a'), await kv.countPlaces('b')]).toEqual([3, 0]);
      await other.leavePlace('a', holder);
      await other.leavePlace('a', holder);
      expect([await kv.takePlace('a', 'x', asked), await kv.takePlace('a', 'y', asked)]).toEqual([true, false]);
      expect(await kv.takePlace('a', 'y', { ...asked, most: 4 })).toBe(true);
    });

    test('a place that is not renewed is free again', async () => {
      const asked = { most: 2, ttlMs: 60_000 };
      await kv.takePlace('a', 'gone', { ...asked, ttlMs: 300 });
      await kv.takePlace('a', 'renewed', { ...asked, ttlMs: 300 });
      await kv.takePlace('a', 'renewed', asked);
      expect(await kv.takePlace('a', 'next', asked)).toBe(false);
      await until(() => kv.takePlace('a', 'next', asked));
      expect(await kv.takePlace('a', 'gone', asked)).toBe(false);
      expect(await kv.countPlaces('a')).toBe(2);
    });

    test('a window ends by its first count, however many come after', async () => {
      const begun = performance.now();
      await kv.increment('n', 200);
      await until(async () => (await kv.increment('n', 60_000)) === 1);
      expect(performance.now() - begun).toBeGreaterThan(100);
    });

    test('it answers pings until it is closed, and rejects everything afterwards', async () => {
      await kv.ping();
      await kv.close();
      await kv.close();
      const calls = [
        kv.ping(),
        kv.get('key'),
        kv.set('key', '1', 1_000),
        kv.increment('n', 1_000),
        kv.takePlace('n', 'x', { most: 1, ttlMs: 1_000 }),
        kv.leavePlace('n', 'x'),
        kv.countPlaces('n'),
        kv.publish('a', ''),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'store_unavailable' });
    });
  });
}
