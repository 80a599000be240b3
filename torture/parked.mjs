// @ts-check
/** Runs that wait are on disk only: what they cost in memory, and what a boot has to do with them. */
import { listRuns } from './_audit.mjs';
import { play } from './_scene.mjs';
import { until } from './_until.mjs';

/**
 * @typedef {object} ParkedSize
 * @property {number} few    parked before the first boots are measured
 * @property {number} many   in all
 * @property {number} boots  measured with few and with many
 * @property {number} asked  how many hooks are resumed in the end
 * @property {string} [url]
 */
export const QUICK = { few: 20, many: 200, boots: 1, asked: 20 };
export const FULL = { few: 100, many: 10_000, boots: 7, asked: 500 };

const ENGINE = { limits: { parkAfter: 50 }, sweepMs: 1_000 };
const CLIENTS = 32;

/** @param {ParkedSize} size */
export function run({ few, many, boots, asked, url }) {
  return play({ ...(url ? { url } : {}), worker: { engine: ENGINE }, end: 'parked' }, async (scene) => {
    const first = await scene.boot();
    await park(scene, 0, few);
    await first.terminate();
    const bootFew = await measureBoots(scene, boots);
    const box = await scene.boot();
    const memory = [{ runs: few, ...(await readMemory(box)) }];
    const step = Math.max(1, Math.floor(many / 10));
    for (let at = few; at < many; at = Math.min(many, at + step)) {
      await park(scene, at, Math.min(many, at + step));
      memory.push({ runs: Math.min(many, at + step), ...(await readMemory(box)) });
    }
    await box.terminate();
    const bootMany = await measureBoots(scene, boots);
    const last = await scene.boot();
    const { claimed, replayed } = await last.facts();
    const inMemory = (await listRuns(scene.journal)).filter(({ owner }) => owner !== null).length;
    const resumed = await resumeSome(scene, asked);
    const problems = [
      inMemory === 0 ? '' : `${inMemory} parked runs are held by a process.`,
      claimed === 0 && replayed === 0 ? '' : `A boot took ${claimed} parked runs and read ${replayed}.`,
      resumed === asked ? '' : `${resumed} of ${asked} resumed runs ended.`,
    ].filter(Boolean);
    return {
      problems,
      parked: many,
      inMemory,
      claimed,
      replayed,
      resumed,
      bootMs: { [few]: bootFew, [many]: bootMany },
      memory,
    };
  });
}

// --- internal ---

/**
 * Every other run sleeps, every other waits for a hook.
 * @param {import('./_scene.mjs').Scene} scene
 * @param {number} from
 * @param {number} to
 */
async function park(scene, from, to) {
  let next = from;
  const client = async () => {
    while (next < to) {
      const i = next++;
      const input = i % 2 === 0 ? {} : { token: `token-${i}` };
      await scene.start({ workflow: i % 2 === 0 ? 'nap' : 'ask', input, key: `start ${i}` });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const isParked = async () => {
    const open = await scene.journal.listRuns({ status: 'running' }, { limit: 1 });
    return open.length === 0 && (await listRuns(scene.journal)).every(({ owner }) => owner === null);
  };
  if (!(await until(isParked, 60_000))) scene.problems.push('The runs were not parked in time.');
}

/**
 * Medians of booting one box after the other.
 * @param {import('./_scene.mjs').Scene} scene
 * @param {number} boots
 */
async function measureBoots(scene, boots) {
  const times = [];
  for (let i = 0; i < boots; i++) {
    const box = await scene.boot();
    times.push(box.bootMs);
    await box.terminate();
  }
  const median = (/** @type {number[]} */ values) => Math.round(values.sort((a, b) => a - b)[values.length >> 1] ?? 0);
  return { box: median(times.map(({ box }) => box)), process: median(times.map((time) => time.process)) };
}

/** @param {import('./_scene.mjs').Worker} box */
async function readMemory(box) {
  const { rss, heap } = await box.facts();
  return { rssMb: toMb(rss), heapMb: toMb(heap) };
}

/** @param {number} bytes */
function toMb(bytes) {
  return Math.round(bytes / 1024 / 102.4) / 10;
}

/**
 * @param {import('./_scene.mjs').Scene} scene
 * @param {number} count
 */
async function resumeSome(scene, count) {
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      scene.pick()?.call(`POST /api/workflows/hooks/token-${2 * i + 1}/resume`, { i }),
    ),
  );
  const completed = async () => (await listRuns(scene.journal)).filter(({ status }) => status === 'completed').length;
  await until(async () => (await completed()) === count, 60_000);
  return completed();
}
