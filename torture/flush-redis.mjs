// @ts-check
/**
 * Redis is flushed, killed and started again while two boxes work and clients start runs. It only carries word between
 * boxes: while it is away they find out by looking.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { play } from './_scene.mjs';
import { startServer } from './_servers.mjs';
import { until, wait } from './_until.mjs';

/** @typedef {{ losses: number, clients: number, url?: string }} FlushSize */
export const QUICK = { losses: 2, clients: 4 };
export const FULL = { losses: 15, clients: 12 };

/** @param {FlushSize} size `url`: the PostgreSQL server; without it one is started for this */
export async function run({ losses, clients, url }) {
  const redis = await startServer('redis');
  const postgres = url ? undefined : await startServer('postgres');
  try {
    const worker = { kv: redis.url, engine: { leaseMs: 3_000 } };
    return await play({ url: url ?? postgres?.url ?? '', worker }, async (scene) => {
      const boxes = await Promise.all([scene.boot(), scene.boot()]);
      const stop = scene.keepStarting(clients);
      const handoverMs = [];
      for (let loss = 0; loss < losses; loss++) {
        await wait(300 + Math.random() * 400);
        await flush(redis.port);
        await redis.crash();
        const isTold = await until(async () => (await kvOf(boxes)).every((status) => status === 'failed'), 20_000);
        if (!isTold) scene.problems.push('/health does not say that Redis is away.');
        handoverMs.push(await handOver(scene, boxes, loss));
        await redis.start();
      }
      await stop();
      const isBack = await until(async () => (await kvOf(boxes)).every((status) => status === 'ok'), 30_000);
      if (!isBack) scene.problems.push('A box does not find Redis again.');
      if (scene.refused.unavailable + scene.refused.unanswered > 0) scene.problems.push('Starts were refused.');
      return { losses, refused: scene.refused, slowestHandoverMs: Math.round(Math.max(...handoverMs)) };
    });
  } finally {
    await redis.remove();
    await postgres?.remove();
  }
}

// --- internal ---

/**
 * What each box says of its key-value store.
 * @param {import('./_scene.mjs').Worker[]} boxes
 */
async function kvOf(boxes) {
  const answers = await Promise.all(boxes.map((box) => box.call('GET /health')));
  return answers.map(({ body }) => body?.checks?.kv?.status);
}

/**
 * Redis forgets everything. It speaks plain lines too, so that no client is needed.
 * @param {number} port
 */
async function flush(port) {
  const socket = connect(port, '127.0.0.1');
  socket.write('FLUSHALL\r\n');
  await once(socket, 'data');
  socket.destroy();
}

/**
 * A run that waits in one box is resumed at the other; answers how long its end took.
 * @param {import('./_scene.mjs').Scene} scene
 * @param {import('./_scene.mjs').Worker[]} boxes
 * @param {number} loss
 */
async function handOver(scene, [holder, other], loss) {
  const token = `token-${loss}`;
  const runId = holder && (await scene.tryStart(holder, { workflow: 'ask', input: { token }, key: token }));
  if (!runId || !other) throw new Error('No run to hand over.');
  await until(async () => (await scene.journal.hooks.find(token)) !== undefined);
  const begun = performance.now();
  const answer = await other.call(`POST /api/workflows/hooks/${token}/resume`, { loss });
  if (answer.status !== 200) scene.problems.push(`A resume was answered ${answer.status}.`);
  await until(async () => (await scene.journal.getRun(runId))?.endedAt != null, 20_000);
  return performance.now() - begun;
}
