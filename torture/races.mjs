// @ts-check
/** Many clients want the same thing at once, over several boxes: one gets it, all are told the same. */
import { play } from './_scene.mjs';
import { until } from './_until.mjs';

/** @typedef {{ rounds: number, clients: number, boxes: number, url: string }} RacesSize */
export const QUICK = { rounds: 2, clients: 50, boxes: 2 };
export const FULL = { rounds: 40, clients: 50, boxes: 3 };

/** @param {RacesSize} size */
export function run({ rounds, clients, boxes, url }) {
  return play({ url }, async (scene) => {
    await Promise.all(Array.from({ length: boxes }, () => scene.boot()));
    for (let round = 0; round < rounds; round++) {
      await raceStarts(scene, `key ${round}`, clients);
      await raceResumes(scene, `token-${round}`, clients);
    }
    const { size } = scene.acknowledged;
    if (size !== 2 * rounds) scene.problems.push(`${size} runs came of ${2 * rounds} keys.`);
    return { rounds, clients, boxes };
  });
}

// --- internal ---

/**
 * One Idempotency-Key from every client.
 * @param {import('./_scene.mjs').Scene} scene
 * @param {string} key
 * @param {number} clients
 */
async function raceStarts(scene, key, clients) {
  const start = { workflow: 'work', input: { steps: 2 }, key };
  const ids = await Promise.all(Array.from({ length: clients }, () => scene.start(start)));
  if (new Set(ids).size !== 1) scene.problems.push(`"${key}" was answered with ${new Set(ids).size} runs.`);
  const other = await scene.pick()?.call('POST /api/workflows/work/start', { steps: 4 }, { 'idempotency-key': key });
  if (other?.body?.code !== 'idempotency_conflict')
    scene.problems.push(`"${key}" with another input was answered ${other?.status} ${other?.body?.code}.`);
}

/**
 * One hook, resumed by every client.
 * @param {import('./_scene.mjs').Scene} scene
 * @param {string} token
 * @param {number} clients
 */
async function raceResumes(scene, token, clients) {
  const runId = (await scene.start({ workflow: 'ask', input: { token }, key: token })) ?? '';
  await until(async () => (await scene.journal.hooks.find(token)) !== undefined);
  const answers = await Promise.all(
    Array.from({ length: clients }, (_, by) => scene.pick()?.call(`POST /api/workflows/hooks/${token}/resume`, { by })),
  );
  const winner = answers.findIndex((answer) => answer?.status === 200);
  const losers = answers.filter((_, index) => index !== winner);
  const told = losers.filter((answer) => answer?.status === 409 && answer.body.details?.payload?.by === winner);
  if (winner < 0 || told.length !== clients - 1)
    scene.problems.push(`${token}: client ${winner} won, ${told.length} of ${clients - 1} others got that answer.`);
  await until(async () => (await scene.journal.getRun(runId))?.endedAt != null);
  const events = await scene.journal.hooks.listEvents(runId, [{ token, n: 0 }]);
  const shown = await scene.pick()?.call(`GET /api/runs/${runId}`);
  if (events.events.length !== 1) scene.problems.push(`${token}: ${events.events.length} resumes are recorded.`);
  if (shown?.body?.output?.by !== winner)
    scene.problems.push(
      `${token}: the body got ${JSON.stringify(shown?.body?.output)}, client ${winner} got the answer that it won.`,
    );
}
