// @ts-check
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { audit } from './_audit.mjs';
import { bootWorker } from './_processes.mjs';
import { startReceiver } from './_receiver.mjs';
import { openJournal, removeStore } from './_store.mjs';
import { wait } from './_until.mjs';

/**
 * @typedef {import('./_processes.mjs').Worker} Worker
 * @typedef {{ workflow: string, input?: unknown, key: string }} Start
 * @typedef {Awaited<ReturnType<typeof openScene>>} Scene
 *
 * @typedef {object} SceneOptions
 * @property {string} [url]  the PostgreSQL server; without it the runs are in a SQLite file
 * @property {Omit<import('./_worker.mjs').WorkerSettings, 'store' | 'receiver'>} [worker]
 * @property {import('./_audit.mjs').Claims['end']} [end] Default: completed
 *
 * @typedef {object} Report
 * @property {string[]} problems the promises that were broken
 * @property {number} runs       starts that were answered for
 * @property {number} seconds
 */

/**
 * A torture: boxes and a receiver on a store of its own, what is done to them, and the audit. Nothing is left behind.
 * @template {Record<string, unknown> & { problems?: string[] }} F
 * @param {SceneOptions} options
 * @param {(scene: Scene) => Promise<F>} act leaves boxes that can finish what was begun
 * @returns {Promise<F & Report>}
 */
export async function play(options, act) {
  const begun = performance.now();
  const scene = await openScene(options);
  try {
    const figures = await act(scene);
    const { journal, receiver, acknowledged } = scene;
    const broken = await audit({ journal, receiver, acknowledged, end: options.end ?? 'completed' });
    const problems = [...scene.problems, ...(figures.problems ?? []), ...broken];
    const seconds = Math.round((performance.now() - begun) / 100) / 10;
    return { ...figures, runs: acknowledged.size, problems, seconds };
  } finally {
    await scene.close();
  }
}

// --- internal ---

/** @param {SceneOptions} options */
async function openScene({ url, worker }) {
  const dir = mkdtempSync(join(tmpdir(), 'svc-torture-'));
  /** @type {import('./_store.mjs').StoreSettings} */
  const store = url
    ? { store: 'postgres', url, schema: `torture_${process.pid}_${Date.now().toString(36)}` }
    : { store: 'sqlite', path: join(dir, 'journal.db') };
  const receiver = await startReceiver();
  const opened = await openJournal(store);
  /** @type {Worker[]} */
  const workers = [];
  /** @type {Set<string>} */
  const acknowledged = new Set();
  /** @type {Map<string, string>} */
  const answers = new Map();
  /** @type {string[]} */
  const problems = [];
  /** Starts that were refused, as the contract allows it. */
  const refused = { unavailable: 0, unanswered: 0 };
  let turn = 0;

  /** One try. Undefined: it was refused as it may be, and is to be tried again. */
  const tryStart = async (/** @type {Worker} */ to, /** @type {Start} */ { workflow, input = {}, key }) => {
    const answer = await to.call(`POST /api/workflows/${workflow}/start`, input, { 'idempotency-key': key });
    if (answer.status === 202) {
      const id = answer.body.runId ?? answer.body.triggerId;
      if ((answers.get(key) ?? id) !== id) problems.push(`The key "${key}" was answered with ${id} and another.`);
      answers.set(key, id);
      acknowledged.add(id);
      return /** @type {string} */ (id);
    }
    if (answer.body?.code === 'shutting_down') to.state.isUp = false;
    if (answer.status === 0) refused.unanswered++;
    else if (answer.status === 503 && answer.retryAfter !== null) refused.unavailable++;
    else problems.push(`A start was answered ${answer.status} ${JSON.stringify(answer.body)}, without Retry-After.`);
    return undefined;
  };

  return {
    store,
    receiver,
    journal: opened.journal,
    acknowledged,
    problems,
    refused,
    workers,
    /**
     * @param {import('./_worker.mjs').WorkerSettings['engine']} [engine]
     * @param {string} [through]  the address by which it reaches the server
     */
    async boot(engine = undefined, through = undefined) {
      const reached = through && store.store === 'postgres' ? { ...store, url: through } : store;
      const settings = { store: reached, receiver: receiver.url, ...worker };
      const booted = await bootWorker({ ...settings, ...(engine ? { engine } : {}) });
      workers.push(booted);
      return booted;
    },
    /** The boxes that have not been killed or told to end, one after the other. */
    pick() {
      const up = workers.filter(({ state }) => state.isUp);
      return up[turn++ % up.length];
    },
    tryStart,
    /**
     * Tries again, wherever a box is up, until there is an answer, as a client does who must know.
     * @param {Start} start
     */
    async start(start) {
      for (let tries = 0; tries < MAX_TRIES && problems.length < MAX_PROBLEMS; tries++) {
        const to = this.pick();
        const id = to && (await tryStart(to, start));
        if (id) return id;
        await wait(50);
      }
      problems.push(`The start "${start.key}" was never accepted.`);
      return undefined;
    },
    /**
     * Starts runs without a pause, from this many clients; answers how to stop, which waits for the last answers.
     * @param {number} clients
     */
    keepStarting(clients) {
      const load = { isOver: false, count: 0 };
      const client = async () => {
        while (!load.isOver) {
          await this.start({ workflow: 'work', input: { steps: 6 }, key: `start ${load.count++}` });
          await wait(Math.random() * 40);
        }
      };
      const ended = Promise.all(Array.from({ length: clients }, client));
      return async () => {
        load.isOver = true;
        await ended;
      };
    },
    async close() {
      await Promise.all(workers.map((running) => running.kill()));
      receiver.close();
      await opened.close();
      await removeStore(store);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const MAX_TRIES = 1_000;
/** Enough to know that it is broken. */
const MAX_PROBLEMS = 20;
