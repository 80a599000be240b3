// @ts-check
/** Boxes are killed while they work, again and again; clients send a start until it is answered. */
import { listRuns } from './_audit.mjs';
import { play } from './_scene.mjs';
import { until, wait } from './_until.mjs';

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
      // The engine takes a run for poison that sees its fifth process die; these die for another reason.
      if (loop % KILLS_IN_A_ROW === KILLS_IN_A_ROW - 1) await finish(scene, starts);
      else await wait(10 + Math.random() * 200);
      await Promise.all(workers.map((worker) => worker.kill()));
    }
    await boot();
    await Promise.all(starts);
    return { kills: loops * count, effects: scene.receiver.effects.size, repeated: scene.receiver.repeated() };
  });
}

// --- internal ---

const KILLS_IN_A_ROW = 4;

/**
 * @param {import('./_scene.mjs').Scene} scene
 * @param {Promise<unknown>[]} starts
 */
async function finish({ journal }, starts) {
  await Promise.all(starts);
  await until(async () => (await listRuns(journal)).every(({ endedAt }) => endedAt !== null));
}
