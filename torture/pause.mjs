// @ts-check
/**
 * A box is stopped (SIGSTOP) with steps under way and goes on (SIGCONT) after its lease: the other box has its runs by
 * then, so what it still wants to record is refused and its steps are told to stop.
 */
import { play } from './_scene.mjs';
import { until } from './_until.mjs';

/** @typedef {{ rounds: number, runs: number, url: string }} PauseSize */
export const QUICK = { rounds: 1, runs: 5 };
export const FULL = { rounds: 10, runs: 20 };

const LEASE = { leaseMs: 1_000, sweepMs: 100 };
/** It does not look around by itself: what tells it that its runs are gone is the journal's refusal. */
const BLIND = { leaseMs: 1_000, sweepMs: 3_600_000 };

/** @param {PauseSize} size */
export function run({ rounds, runs, url }) {
  return play({ url }, async (scene) => {
    let fenced = 0;
    let aborted = 0;
    for (let round = 0; round < rounds; round++) {
      const result = await pauseOnce(scene, round, runs);
      scene.problems.push(...result.problems);
      fenced += result.fenced;
      aborted += result.aborted;
    }
    return { pauses: rounds, fenced, aborted, repeated: scene.receiver.repeated() };
  });
}

// --- internal ---

/**
 * @param {import('./_scene.mjs').Scene} scene
 * @param {number} round
 * @param {number} runs
 */
async function pauseOnce({ boot, tryStart, journal, receiver }, round, runs) {
  const [first, second] = [`first ${round}`, `second ${round}`];
  const before = receiver.effects.size;
  const holder = await boot(BLIND);
  const ids = await Promise.all(
    Array.from({ length: runs }, (_, i) =>
      tryStart(holder, { workflow: 'pair', input: { first, second }, key: `${round}.${i}` }),
    ),
  );
  const began = await until(() => receiver.effects.size === before + 2 * runs);
  holder.pause();
  const rescuer = await boot(LEASE);
  // Answers the first step of both boxes: the rescuer records it, the paused one finds its answer when it wakes.
  receiver.release(first);
  const rows = () => Promise.all(ids.map((id) => journal.getRun(id ?? '')));
  const taken = await until(async () => (await rows()).every((row) => row && row.epoch > 1 && row.seq > 0));
  holder.resume();
  const stopped = await until(() => holder.state.aborted.length >= runs, 20_000);
  const { refused } = await holder.facts();
  const reasons = holder.state.aborted.map(({ reason }) => reason);
  const epochs = new Set((await rows()).map((row) => row?.epoch));
  receiver.release(second);
  const ended = await until(async () => (await rows()).every((row) => row?.endedAt), 30_000);
  await Promise.all([holder.kill(), ended ? rescuer.terminate() : undefined]);
  const problems = [
    began ? '' : 'The steps did not begin.',
    taken ? '' : 'The runs were not taken over after the lease.',
    stopped && reasons.length === runs ? '' : `${reasons.length} steps of ${runs} paused runs were aborted.`,
    refused.fenced === runs ? '' : `${refused.fenced ?? 0} appends of ${runs} paused runs were fenced.`,
    reasons.every((reason) => reason.includes('fenced')) ? '' : `A step was stopped for another reason: ${reasons[0]}`,
    epochs.size === 1 && epochs.has(2) ? '' : `The epochs are ${[...epochs].join(', ')}, not 2.`,
  ].filter(Boolean);
  return { problems, fenced: refused.fenced ?? 0, aborted: reasons.length };
}
