// @ts-check
/** Starts of a serial workflow queue up and run one at a time, in the order they were answered, whatever is killed. */
import { play } from './_scene.mjs';
import { until, wait } from './_until.mjs';

/** @typedef {{ starts: number, kills: number, url?: string }} SerialSize */
export const QUICK = { starts: 100, kills: 4 };
export const FULL = { starts: 1_000, kills: 25 };

/** @param {SerialSize} size */
export function run({ starts, kills, url }) {
  return play(url ? { url, worker: { engine: { leaseMs: 500, sweepMs: 100 } } } : {}, async (scene) => {
    const count = url ? 2 : 1;
    const boxes = await Promise.all(Array.from({ length: count }, () => scene.boot()));
    /** @type {(string | undefined)[]} */
    const ids = [];
    // One after the other, so that the order of the answers is the order of the commits.
    for (let place = 0; place < starts; place++) {
      const input = { place, ...(place === 0 ? { hold: 'first' } : {}) };
      ids.push(await scene.start({ workflow: 'line', input, key: `place ${place}` }));
    }
    const queued = await scene.journal.queue.list({}, { limit: starts });
    scene.receiver.release('first');
    for (let killed = 0; killed < kills; killed++) {
      // Now and then over the whole length of the line.
      const goal = Math.floor(((killed + 1) * 2 * starts) / (kills + 1));
      await until(() => scene.receiver.effects.size >= goal);
      await wait(Math.random() * 20);
      await boxes.shift()?.kill();
      boxes.push(await scene.boot());
    }
    await until(async () => (await scene.journal.queue.list({}, { limit: 1 })).length === 0, 120_000);
    await until(() => scene.receiver.effects.size === 2 * starts, 60_000);
    const expected = Array.from({ length: starts }, (_, place) => [`in ${place}`, `out ${place}`]).flat();
    const found = [...scene.receiver.effects.values()].map(({ body }) => body.what);
    const wrong = expected.findIndex((what, index) => what !== found[index]);
    const problems = [
      queued.every(({ triggerId }, index) => triggerId === ids[index + 1]) ? '' : 'The queue is in another order.',
      queued.length === starts - 1 ? '' : `${queued.length} starts of ${starts - 1} were queued.`,
      wrong < 0 ? '' : `"${expected[wrong]}" was due and "${found[wrong]}" came, as effect ${wrong + 1}.`,
    ].filter(Boolean);
    return { problems, starts, kills, repeated: scene.receiver.repeated() };
  });
}
