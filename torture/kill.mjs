// @ts-check
/** Boxes are killed while they work, again and again; clients send a start until it is answered. */
import { play } from './_scene.mjs';
import { wait } from './_until.mjs';

/**
 * @typedef {{ loops: number, runs: number, steps: number, url?: string }} KillSize
 *   with a server two boxes run at once, without one a single box on a file
 */
export const QUICK = { loops: 5, runs: 10, steps: 10 };
export const FULL = { loops: 50, runs: 60, steps: 10 };

/** @param {KillSize} size */
export function run({ loops, runs, steps, url }) {
  return play(url ? { url, worker: { engine: { leaseMs: 1_000, sweepMs: 100 } } } : {}, async (scene) => {
    const count = url ? 2 : 1;
    const boot = () => Promise.all(Array.from({ length: count }, () => scene.boot()));
    /** @type {Promise<unknown>[]} */
    const starts = [];
    for (let loop = 0; loop < loops; loop++) {
      const workers = await boot();
      while (starts.length < (runs * (loop + 1)) / loops)
        starts.push(scene.start({ workflow: 'work', input: { steps }, key: `start ${starts.length}` }));
      await wait(10 + Math.random() * 200);
      await Promise.all(workers.map((worker) => worker.kill()));
    }
    await boot();
    await Promise.all(starts);
    return { kills: loops * count, effects: scene.receiver.effects.size, repeated: scene.receiver.repeated() };
  });
}
