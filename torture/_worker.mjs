// @ts-check
/**
 * One process of a torture: a box over the given store, served on a free port, until it is killed or told to end.
 *   node torture/_worker.mjs '<settings as JSON>'     forked: it speaks with its parent over IPC
 */
import { openJournal } from './_store.mjs';
import {
  createBox,
  createForker,
  createDrizzle,
  createLog,
  installGuard,
  listen,
  openRedisKv,
  SUPERVISED,
  superviseProcess,
} from '../packages/runtime/dist/host.mjs';

/**
 * @typedef {object} WorkerSettings
 * @property {import('./_store.mjs').StoreSettings} store
 * @property {string} receiver
 * @property {NonNullable<import('../packages/runtime/dist/host.mjs').BoxOptions['engine']>} [engine]
 * @property {string} [kv] the Redis server
 * @property {boolean} [isolates] runs that may have killed their process go on in one of their own
 * @property {boolean} [jumps] the machine's clock jumps
 * @property {number} [drainMs] how long it answers 503 after a SIGTERM, before it stops listening. Default 300
 *
 * @typedef {object} WorkerFacts
 * @property {Record<string, number>} refused appends the journal refused, by outcome
 * @property {number} claimed  runs taken from the journal
 * @property {number} replayed runs whose records were read
 * @property {number} rss      bytes, after a collection where node was started with --expose-gc
 * @property {number} heap
 * @property {number} cpu      milliseconds of a processor since it was forked
 */

const begun = performance.now();
// Before anything is awaited: a parent that dies meanwhile must not leave a box behind.
process.once('disconnect', () => process.exit(1));
// Or while this was loaded: nothing says so any more.
if (!process.connected) process.exit(1);
/** @type {WorkerSettings} */
const settings = JSON.parse(process.argv[2] ?? '{}');
const supervised = process.argv.includes(SUPERVISED) ? superviseProcess() : undefined;
// What supervises this process hears nothing of what a torture says.
const say = (/** @type {object} */ message) => void (!supervised && process.connected && process.send?.(message));
installGuard();
const { createWorkflows } = await import('./_workflows.mjs');
const workflows = createWorkflows({
  receiver: settings.receiver,
  onAbort: (key, reason) => say({ event: 'aborted', key, reason }),
});

/**
 * What must hold here is the journal's to keep. This relational store takes everything, and has nothing.
 * @type {Parameters<typeof createDrizzle>[0]}
 */
const FORGETFUL = {
  ready: Promise.resolve(),
  query: async () => [],
  queryArrays: async () => [],
  exec: async () => {},
  transaction: (work) => work(FORGETFUL),
  close: async () => {},
};

const ITSELF = { module: process.argv[1] ?? '', args: [process.argv[2] ?? ''], env: process.env };
const opened = await openJournal(settings.store);
const log = createLog({
  level: process.env.TORTURE_LOG === '1' ? 'warn' : 'silent',
  write: (line) => void process.stderr.write(`${process.pid} ${line}\n`),
});
const kv = settings.kv ? openRedisKv({ url: settings.kv, prefix: 'torture', log }) : undefined;
const facts = { refused: /** @type {Record<string, number>} */ ({}), claimed: 0, replayed: 0 };
const box = await createBox({
  host: 'dev',
  slug: 'torture',
  log,
  journal: observe(opened.journal),
  exclusive: opened.exclusive,
  db: createDrizzle(FORGETFUL, Promise.resolve()),
  provider: {
    environment: { baseUrl: settings.receiver, apiKey: 'none' },
    store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
    egress: { allowLoopback: true, allowed: [] },
  },
  defaultModel: () => undefined,
  loadProgram: async () => toProgram(),
  probes: { journal: async () => void (await opened.journal.now()) },
  services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
  ...(settings.engine ? { engine: settings.engine } : {}),
  ...(supervised ? { supervisor: supervised.supervisor } : {}),
  ...(settings.isolates && !supervised ? { isolate: createForker(ITSELF) } : {}),
  ...(kv ? { kv } : {}),
});
const listener = supervised ? undefined : await listen(box.app, { port: 0, host: '127.0.0.1' });
await box.gate.check();
void supervised?.closed.then(() => box.close()).finally(() => process.exit(0));

process.on('message', (message) => {
  if (message !== 'facts') return;
  /** @type {any} */ (globalThis).gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  say({ event: 'facts', facts: { ...facts, rss, heap: heapUsed, cpu: (user + system) / 1_000 } });
});
if (!supervised)
  process.once('SIGTERM', async () => {
    await box.close();
    // Whoever sends requests here learns from the 503 that it should send them elsewhere.
    await new Promise((resolve) => setTimeout(resolve, settings.drainMs ?? 300));
    await listener?.close();
    await kv?.close();
    await opened.close();
    process.exit(0);
  });
say({ event: 'ready', url: listener?.url, bootMs: performance.now() - begun });

// --- internal ---

/**
 * The same journal, counting.
 * @param {import('./_store.mjs').Journal} journal
 * @returns {import('./_store.mjs').Journal}
 */
function observe(journal) {
  return {
    ...journal,
    async append(entry) {
      const result = await journal.append(entry);
      if (result.outcome !== 'appended') facts.refused[result.outcome] = (facts.refused[result.outcome] ?? 0) + 1;
      return result;
    },
    async claim(claim) {
      const runs = await journal.claim(claim);
      facts.claimed += runs.length;
      return runs;
    },
    getRecords(runId) {
      facts.replayed++;
      return journal.getRecords(runId);
    },
  };
}

/** @returns {import('../packages/runtime/dist/host.mjs').Program} */
function toProgram() {
  const entries = Object.keys(workflows).map((name) => ({
    name,
    file: name,
    exportName: 'run',
    steps: [],
    hasInputSchema: false,
    hasOutputSchema: false,
  }));
  return {
    manifest: { version: 1, agents: [], workflows: entries },
    load: async (file) => ({ exports: { ...workflows[file] }, hash: 'torture' }),
  };
}
