import { describe, expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { createThrottle } from '../src/throttle/throttle.ts';
import type { Throttle } from '../src/throttle/throttle.ts';
import { makeClock, makeStore, SECRET_KEY, STORES } from './_setup.ts';
import type { StoreName } from './_setup.ts';

const MINUTE = 60_000;
const WHO = ['person 1'];

/** Five failures a minute, at the begin of one. */
async function open(store: StoreName) {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...(await makeStore(store)) });
  if (!full) throw new Error('The full mode has a store.');
  const db = await openStore(full);
  onTestFinished(() => db.close());
  const clock = makeClock();
  clock.move(MINUTE - (clock.now() % MINUTE));
  const throttle = createThrottle({ db, now: clock.now, kind: 'test', most: 5, message: 'Too many.' });
  return { throttle, clock };
}

/** How many of a dozen that come at once are borne: each looks first, and fails when all have looked. */
async function failAtOnce(throttle: Throttle): Promise<number> {
  const all = Array.from({ length: 12 }, () => throttle.require(WHO));
  const begun = (await Promise.allSettled(all)).filter(({ status }) => status === 'fulfilled');
  const counted = await Promise.allSettled(begun.map(() => throttle.count(WHO)));
  return counted.filter(({ status }) => status === 'fulfilled').length;
}

describe.each(STORES)('what may fail five times a minute, on %s,', (store) => {
  test('fails no more often at once than one after the other, in a minute that slides', async () => {
    const { throttle, clock } = await open(store);
    for (let n = 0; n < 5; n++) {
      await throttle.require(WHO);
      await throttle.count(WHO);
    }
    await expect(throttle.require(WHO)).rejects.toMatchObject({ code: 'rate_limited' });
    // Half of those five still count.
    clock.move(1.5 * MINUTE);
    expect(await failAtOnce(throttle)).toBe(3);
    clock.move(3 * MINUTE);
    expect(await failAtOnce(throttle)).toBe(5);
  });

  test('is begun no more often than it may fail, and what was not begun has not failed', async () => {
    const { throttle, clock } = await open(store);
    const begin = async () => {
      const all = await Promise.allSettled(Array.from({ length: 12 }, () => throttle.begin(WHO)));
      return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    };
    const begun = await begin();
    expect(begun).toHaveLength(5);
    for (const succeed of begun) await succeed();
    const again = await begin();
    expect(again).toHaveLength(5);
    clock.move(1.5 * MINUTE);
    expect(await begin()).toHaveLength(3);
  });
});
