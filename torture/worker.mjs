// @ts-check
/**
 * One process of a torture: an engine over the given store that runs workflows whose steps leave a mark each, until it
 * is killed.   node torture/worker.mjs '{"store":"sqlite","path":"…"}' <marks file>
 * Every line on stdin starts a run of that many steps; every line on stdout is a run id that has been answered for.
 */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openJournal } from './store.mjs';
import { createEngine, createLog, installGuard, newRunId } from '../packages/runtime/dist/host.mjs';
import { getStepMetadata, sleep } from '../packages/runtime/dist/index.mjs';
import { createStep } from '../packages/runtime/dist/internal.mjs';

const [settings = '{}', marks = ''] = process.argv.slice(2);
installGuard();
const { journal, exclusive } = await openJournal(JSON.parse(settings));

const mark = Object.assign(
  createStep('torture#mark', async (/** @type {number} */ index) => {
    const { idempotencyKey, attempt } = getStepMetadata();
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    // One write call, so that a kill leaves a line whole or not at all.
    appendFileSync(marks, `${idempotencyKey}\n`);
    if (attempt === 1 && index % 7 === 3) throw new Error('Once more.');
    return index;
  }),
  { backoff: { initial: 1 } },
);

/** @param {{ steps: number }} input */
async function work({ steps }) {
  let sum = 0;
  for (let index = 0; index < steps; index += 2) {
    const pair = await Promise.all([mark(index), mark(index + 1)]);
    sum += pair[0] + pair[1];
    if (index % 6 === 4) await sleep(5);
  }
  return sum;
}

const body = { run: /** @type {any} */ (work), codeHash: 'torture', durability: /** @type {const} */ ('synced') };
const engine = await createEngine({
  journal,
  exclusive,
  log: createLog({ level: 'silent', write() {} }),
  owner: newRunId(),
  resolve: async () => body,
  ambient: /** @type {any} */ ({}),
  leaseMs: exclusive ? 30_000 : 2_000,
  sweepMs: 200,
});
await engine.arm();
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const result = await engine.start({
    kind: 'workflow',
    name: 'work',
    trigger: 'api',
    input: { steps: Number(line) },
    body,
  });
  if (result.outcome === 'created') console.log(result.run.runId);
}
