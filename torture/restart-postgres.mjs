// @ts-check
/** PostgreSQL is stopped as by a power cut and started again while two boxes work and clients start runs. */
import { play } from './_scene.mjs';
import { startServer } from './_servers.mjs';
import { until, wait } from './_until.mjs';

/** @typedef {{ cuts: number, clients: number, downMs: number }} RestartSize the longest it is down; leases last 3 s */
export const QUICK = { cuts: 2, clients: 4, downMs: 500 };
export const FULL = { cuts: 20, clients: 12, downMs: 6_000 };

/** @param {RestartSize} size */
export async function run({ cuts, clients, downMs }) {
  const server = await startServer('postgres');
  try {
    return await play({ url: server.url, worker: { engine: { leaseMs: 3_000, sweepMs: 200 } } }, async (scene) => {
      const boxes = await Promise.all([scene.boot(), scene.boot()]);
      const stop = scene.keepStarting(clients);
      for (let cut = 0; cut < cuts; cut++) {
        await wait(300 + Math.random() * 700);
        await server.crash();
        const health = await Promise.all(boxes.map((box) => ask(box)));
        if (health.some((said) => said !== '200 503'))
          scene.problems.push(`/live and /health said ${health.join(' and ')}.`);
        await wait(Math.random() * downMs);
        await server.start();
      }
      await stop();
      const isBack = await until(
        async () => (await Promise.all(boxes.map(ask))).every((said) => said === '200 200'),
        30_000,
      );
      if (!isBack) scene.problems.push('A box is not well after the server is back.');
      const isAlive = boxes.every(({ state }) => state.isUp);
      if (!isAlive) scene.problems.push('A box ended by itself.');
      return { cuts, refused: scene.refused, repeated: scene.receiver.repeated() };
    });
  } finally {
    await server.remove();
  }
}

// --- internal ---

/** @param {import('./_scene.mjs').Worker} box */
async function ask(box) {
  const [live, health] = await Promise.all([box.call('GET /live'), box.call('GET /health')]);
  return `${live.status} ${health.status}`;
}
