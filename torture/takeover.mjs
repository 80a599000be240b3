// @ts-check
/**
 * A box is killed with many steps under way, beside one that is only paused: the others know at once, long before the leases
 * are over. Then all are killed, and one is started again.
 */
import { play } from './_scene.mjs';
import { until } from './_until.mjs';

/** @typedef {{ rounds: number, runs: number, url: string }} TakeoverSize */
export const QUICK = { rounds: 1, runs: 50 };
export const FULL = { rounds: 20, runs: 200 };

/** What is taken sooner was not waited for: the leases of the dead last for longer than all of it may take. */
const LEASE_MS = 600_000;

/** @param {TakeoverSize} size */
export function run({ rounds, runs, url }) {
  return play({ url, worker: { engine: { leaseMs: LEASE_MS } } }, async (scene) => {
    /** @type {number[]} */
    const killed = [];
    /** @type {number[]} */
    const restarted = [];
    for (let round = 0; round < rounds; round++) {
      const took = await playOnce(scene, round, runs);
      killed.push(took.killed);
      restarted.push(took.restarted);
    }
    const seconds = (/** @type {number[]} */ times) => times.map((ms) => Math.round(ms / 100) / 10);
    return { killed: seconds(killed), restarted: seconds(restarted), repeated: scene.receiver.repeated() };
  });
}

// --- internal ---

/**
 * @param {import('./_scene.mjs').Scene} scene
 * @param {number} round
 * @param {number} runs
 */
async function playOnce(scene, round, runs) {
  const { boot, journal, receiver, problems } = scene;
  const hold = `hold ${round}`;
  const before = receiver.effects.size;
  const [dying, paused, other] = await Promise.all([boot(), boot(), boot()]);
  const starts = (/** @type {import('./_scene.mjs').Worker} */ box, /** @type {string} */ name) =>
    Promise.all(
      Array.from({ length: runs }, (_, n) =>
        scene.tryStart(box, { workflow: 'pair', input: { first: hold, second: hold }, key: `${name} ${round}.${n}` }),
      ),
    );
  const [ofDying, ofPaused] = await Promise.all([starts(dying, 'dying'), starts(paused, 'paused')]);
  const rowsOf = (/** @type {(string | undefined)[]} */ ids) => journal.getRuns(ids.map((id) => id ?? ''));
  const areAll = async (/** @type {(string | undefined)[]} */ ids, /** @type {number} */ epoch) => {
    const rows = await rowsOf(ids);
    return rows.length === runs && rows.every((row) => row.epoch === epoch);
  };
  if (!(await until(() => receiver.effects.size === before + 4 * runs))) problems.push('The steps did not begin.');

  paused.pause();
  await dying.kill();
  let since = performance.now();
  if (!(await until(() => areAll(ofDying, 2)))) problems.push('The runs of the dead box were not taken up.');
  const killed = performance.now() - since;
  if (!(await areAll(ofPaused, 1))) problems.push('Runs of a box that was only paused were taken.');
  paused.resume();

  await Promise.all([paused.kill(), other.kill()]);
  since = performance.now();
  const alone = await boot();
  const isTaken = async () => (await areAll(ofDying, 3)) && areAll(ofPaused, 2);
  if (!(await until(isTaken))) problems.push('The box that was started again did not go on.');
  const restarted = performance.now() - since;
  receiver.release(hold);
  const haveEnded = async () => (await rowsOf([...ofDying, ...ofPaused])).every(({ endedAt }) => endedAt !== null);
  if (!(await until(haveEnded))) problems.push('Not all ended.');
  await alone.terminate();
  return { killed, restarted };
}
