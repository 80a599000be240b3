// @ts-check
/** Two boxes are replaced one after the other (SIGTERM, then a new one) while clients start runs. */
import { play } from './_scene.mjs';
import { wait } from './_until.mjs';

/** @typedef {{ rolls: number, clients: number, url: string }} DeploySize */
export const QUICK = { rolls: 2, clients: 4 };
export const FULL = { rolls: 20, clients: 16 };

/** @param {DeploySize} size */
export function run({ rolls, clients, url }) {
  return play({ url }, async (scene) => {
    await Promise.all([scene.boot(), scene.boot()]);
    const stop = scene.keepStarting(clients);
    let slowest = 0;
    for (let roll = 0; roll < rolls; roll++) {
      await scene.boot();
      const [old] = scene.workers.filter(({ state }) => state.isUp);
      await wait(200 + Math.random() * 200);
      slowest = Math.max(slowest, await replace(scene, old));
    }
    await stop();
    if (scene.refused.unanswered > 0) scene.problems.push(`${scene.refused.unanswered} starts had no answer.`);
    return { rolls, refused: scene.refused, slowestEndMs: Math.round(slowest), repeated: scene.receiver.repeated() };
  });
}

// --- internal ---

/**
 * Ends a box while clients still send to it; answers how long that took.
 * @param {import('./_scene.mjs').Scene} scene
 * @param {import('./_scene.mjs').Worker | undefined} old
 */
async function replace(scene, old) {
  if (!old) throw new Error('No box is up.');
  const begun = performance.now();
  const code = await old.terminate();
  const took = performance.now() - begun;
  if (code !== 0) scene.problems.push(`A box ended with ${code} after SIGTERM.`);
  if (took > 20_000) scene.problems.push(`A box took ${Math.round(took)} ms to end.`);
  return took;
}
