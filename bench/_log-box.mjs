// @ts-check
/** A box with one workflow of as many steps as its input says, none of which logs anything. */
import { createBox, createLog } from '../packages/runtime/dist/host.mjs';
import { callStep } from '../packages/runtime/dist/internal.mjs';

/** @param {{ journal: import('../packages/runtime/dist/host.mjs').Journal, db: any, keeps: boolean }} options */
export async function createRunBox({ journal, db, keeps }) {
  const log = createLog({ level: 'silent', write() {} });
  const box = await createBox({
    host: 'dev',
    slug: 'bench',
    log,
    ...(keeps ? { records: log } : {}),
    journal,
    exclusive: true,
    db,
    provider: {
      environment: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'none' },
      store: /** @type {any} */ ({ read: async () => undefined, write: async () => {}, remove: async () => {} }),
      egress: { allowLoopback: true, allowed: [] },
    },
    defaultModel: () => undefined,
    loadProgram: async () =>
      /** @type {any} */ ({ manifest: MANIFEST, load: async () => ({ exports: { run: steps }, hash: 'h' }) }),
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
  });
  await box.gate.check();
  return {
    /**
     * Milliseconds of a run of so many steps.
     * @param {number} count
     */
    async runSteps(count) {
      const start = performance.now();
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ count }) };
      const { runId } = /** @type {any} */ (await (await box.request('/api/workflows/steps/start', init)).json());
      const run = /** @type {any} */ (await (await box.request(`/api/runs/${runId}?wait=60s`)).json());
      if (run.status !== 'completed') throw new Error(`The run is ${run.status}.`);
      return performance.now() - start;
    },
    async close() {
      await box.close();
      await journal.close();
    },
  };
}

// --- internal ---

const FILE = 'workflows/steps.workflow.ts';
const ENTRY = {
  name: 'steps',
  file: FILE,
  exportName: 'run',
  steps: [],
  hasInputSchema: false,
  hasOutputSchema: false,
};
const MANIFEST = { version: 1, agents: [], workflows: [ENTRY] };

function add(/** @type {number} */ n) {
  return n + 1;
}

async function steps(/** @type {{ count: number }} */ { count }) {
  for (let n = 0; n < count; n++)
    await callStep(`${FILE}#add`, /** @type {any} */ (add), /** @type {any} */ (add), undefined, [n]);
}
