// @ts-check
/**
 * Every box is killed two seconds after it serves (`lifeMs`), for minutes, as an orchestrator does whose probe is wrong. Beside it
 * another process keeps the store busy with slow statements, and where the store is a file the machine's clock jumps. Some
 * steps are shorter than the life of a box, some longer: those end once the kills do.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { listRuns } from './_audit.mjs';
import { play } from './_scene.mjs';
import { wait } from './_until.mjs';

/**
 * @typedef {{ seconds: number, lifeMs: number, clients: number, long: number, url?: string }} OrchestratorSize
 *   with a server two boxes run at once, without one a single box on a file. `long`: runs with a step half as long again as a box lives
 */
export const QUICK = { seconds: 5, lifeMs: 1_000, clients: 2, long: 5 };
export const FULL = { seconds: 300, lifeMs: 2_000, clients: 4, long: 50 };

/** @param {OrchestratorSize} size */
export function run({ seconds, lifeMs, clients, long, url }) {
  const engine = url ? { leaseMs: 1_000, sweepMs: 100 } : {};
  return play({ ...(url ? { url } : {}), worker: { engine, isolates: true, jumps: !url } }, async (scene) => {
    const count = url ? 2 : 1;
    const boot = () => Promise.all(Array.from({ length: count }, () => scene.boot()));
    const slow = fork(SLOW, [JSON.stringify(scene.store)], { execArgv: [] });
    /** @type {Promise<unknown>[]} */
    const starts = [];
    const stop = scene.keepStarting(clients);
    const end = performance.now() + seconds * 1_000;
    let kills = 0;
    while (performance.now() < end) {
      const workers = await boot();
      for (let index = starts.length; index < long; index++)
        starts.push(scene.start({ workflow: 'long', input: { ms: lifeMs * 1.5 }, key: `long ${index}` }));
      await wait(lifeMs);
      await Promise.all(workers.map((worker) => worker.kill()));
      kills += count;
    }
    const isBusy = slow.exitCode === null;
    slow.kill('SIGKILL');
    await boot();
    await stop();
    await Promise.all(starts);
    const convicted = (await listRuns(scene.journal)).filter(({ crashCount }) => crashCount > 0);
    const problems = convicted.map(({ runId, crashCount }) => `${runId}: ${crashCount} deaths are held against it.`);
    if (!isBusy) problems.push('The process that keeps the store busy has ended by itself.');
    return { kills, effects: scene.receiver.effects.size, repeated: scene.receiver.repeated(), problems };
  });
}

// --- internal ---

const SLOW = fileURLToPath(new URL('_slow-store.mjs', import.meta.url));
