// @ts-check
import { play } from '../torture/_scene.mjs';
import { until } from '../torture/_until.mjs';

const ENGINE = { limits: { parkAfter: 50 }, sweepMs: 1_000 };
const CLIENTS = 32;

/**
 * Runs that wait for a resume are parked, their box is killed, and another one is started: seconds from its first resume, over HTTP
 * from 32 callers, until all of them are completed, and the processor milliseconds of one.
 * @param {{ runs: number, url?: string }} options
 */
export function measureResumes({ runs, url }) {
  return play({ ...(url ? { url } : {}), worker: { engine: ENGINE } }, async (scene) => {
    const first = await scene.boot();
    await each(runs, (n) => scene.start({ workflow: 'wait', input: { token: `token-${n}` }, key: `start ${n}` }));
    if (!(await until(() => isParked(scene, runs)))) throw new Error('The runs were not parked.');
    await first.kill();
    const box = await scene.boot();
    const before = await box.facts();
    const began = performance.now();
    await each(runs, async (n) => {
      const { status, body } = await box.call(`POST /api/workflows/hooks/token-${n}/resume`, { n });
      if (status >= 300) throw new Error(`A resume was answered ${status} ${JSON.stringify(body)}.`);
    });
    const answered = performance.now() - began;
    if (!(await until(() => areOver(scene, runs)))) throw new Error('The runs did not end.');
    const seconds = (performance.now() - began) / 1_000;
    const { cpu } = await box.facts();
    await box.terminate();
    return { took: seconds, answered: answered / 1_000, cpu: (cpu - before.cpu) / runs };
  });
}

// --- internal ---

/**
 * @param {number} count
 * @param {(n: number) => Promise<unknown>} call
 */
async function each(count, call) {
  let next = 0;
  const client = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/**
 * @param {import('../torture/_scene.mjs').Scene} scene
 * @param {number} runs
 */
async function isParked({ journal }, runs) {
  const waiting = await journal.listRuns({ status: 'waiting' }, { limit: runs });
  return waiting.length === runs && waiting.every(({ owner }) => owner === null);
}

/**
 * @param {import('../torture/_scene.mjs').Scene} scene
 * @param {number} runs
 */
async function areOver({ journal }, runs) {
  const tallies = await journal.tallyRuns({ status: 'completed' }, 24 * 60 * 60 * 1_000);
  return tallies.reduce((sum, tally) => sum + tally.count, 0) === runs;
}
