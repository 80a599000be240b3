// @ts-check
/**
 * The network between a box and PostgreSQL is cut one way or both while its steps run: nothing is closed, and nothing comes
 * through. Another box has its runs once their leases are over. Then the network comes back, with what was sent meanwhile on
 * its way or lost: none of it may count.
 */
import { layCable } from './_cable.mjs';
import { play } from './_scene.mjs';
import { until } from './_until.mjs';

/** @typedef {{ rounds: number, runs: number, url: string }} PartitionSize  a round cuts once each way */
export const QUICK = { rounds: 1, runs: 5 };
export const FULL = { rounds: 10, runs: 50 };

const LEASE = { leaseMs: 1_500, sweepMs: 200 };
/** @type {import('./_cable.mjs').Direction[]} */
const DIRECTIONS = ['up', 'down', 'both'];

/** @param {PartitionSize} size */
export function run({ rounds, runs, url }) {
  return play({ url, worker: { engine: LEASE } }, async (scene) => {
    /** @type {Record<string, number[]>} */
    const taken = { up: [], down: [], both: [] };
    for (let round = 0; round < rounds; round++)
      for (const direction of DIRECTIONS) taken[direction]?.push(await cutOnce(scene, { url, round, direction, runs }));
    const seconds = Object.entries(taken).map(([way, times]) => [way, times.map((ms) => Math.round(ms / 100) / 10)]);
    return {
      cuts: rounds * DIRECTIONS.length,
      taken: Object.fromEntries(seconds),
      repeated: scene.receiver.repeated(),
    };
  });
}

// --- internal ---

/**
 * @param {import('./_scene.mjs').Scene} scene
 * @param {{ url: string, round: number, direction: import('./_cable.mjs').Direction, runs: number }} how
 * @returns ms from the cut until another box has all of the runs
 */
async function cutOnce({ boot, tryStart, journal, receiver, problems }, { url, round, direction, runs }) {
  const name = `${direction} ${round}`;
  const [first, second] = [`first ${name}`, `second ${name}`];
  const say = (/** @type {string} */ problem) => problems.push(`${name}: ${problem}`);
  const before = receiver.effects.size;
  const cable = await layCable(url);
  try {
    const alone = await boot(undefined, cable.url);
    const ids = await Promise.all(
      Array.from({ length: runs }, (_, n) =>
        tryStart(alone, { workflow: 'pair', input: { first, second }, key: `${name}.${n}` }),
      ),
    );
    if (!(await until(() => receiver.effects.size === before + 2 * runs))) say('The steps did not begin.');
    const other = await boot();
    const rows = () => journal.getRuns(ids.map((id) => id ?? ''));
    cable.cut(direction);
    const since = performance.now();
    // The box that is alone has an answer to record, and does not get it across or hears nothing of it.
    receiver.release(first);
    const isTaken = await until(async () => (await rows()).every(({ epoch, seq }) => epoch === 2 && seq > 0));
    const took = performance.now() - since;
    if (!isTaken)
      say(`Not all were taken over: ${JSON.stringify((await rows()).map(({ epoch, seq }) => [epoch, seq]))}`);
    if (round % 2 === 0) cable.mend();
    else cable.reset();
    const isTold = await until(() => alone.state.aborted.length >= runs, 20_000);
    if (!isTold) say(`Of ${runs} steps ${alone.state.aborted.length} were aborted.`);
    const epochs = new Set((await rows()).map(({ epoch }) => epoch));
    if (epochs.size !== 1 || !epochs.has(2)) say(`The epochs are ${[...epochs].join(', ')}, not 2.`);
    receiver.release(second);
    if (!(await until(async () => (await rows()).every(({ endedAt }) => endedAt !== null)))) say('Not all ended.');
    // It is a box like any other again.
    const again = await until(async () => (await alone.call('GET /health')).status === 200, 30_000);
    if (!again) say('The box is not well after the network is back.');
    await Promise.all([alone.kill(), other.kill()]);
    return took;
  } finally {
    cable.close();
  }
}
