// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Answer  status 0: there was none, and whether the box did it is not known
 * @property {number} status
 * @property {any} body
 * @property {string | null} retryAfter
 * @typedef {Awaited<ReturnType<typeof bootWorker>>} Worker
 */

/**
 * Boots a box in a process of its own; answers once it serves.
 * @param {import('./_worker.mjs').WorkerSettings} settings
 */
export async function bootWorker(settings) {
  const forked = performance.now();
  const execArgv = ['--expose-gc', ...(settings.jumps ? ['--import', CLOCK] : [])];
  const child = fork(WORKER, [JSON.stringify(settings)], { execArgv });
  /** @type {{ isUp: boolean, aborted: { key: string, reason: string }[] }} */
  const state = { isUp: true, aborted: [] };
  const exited = once(child, 'exit').then(([code]) => {
    state.isUp = false;
    return /** @type {number | null} */ (code);
  });
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'aborted') state.aborted.push(message);
  });
  const ready = await Promise.race([heard(child, 'ready'), exited]);
  if (typeof ready !== 'object' || ready === null) throw new Error('A worker ended before it served.');
  return {
    state,
    /** What the process did until it served, and with the start of node. */
    bootMs: { box: /** @type {number} */ (ready.bootMs), process: performance.now() - forked },
    call: (
      /** @type {string} */ route,
      /** @type {unknown} */ body = {},
      /** @type {Record<string, string>} */ headers = {},
    ) => call(ready.url, route, body, headers),
    /** @returns {Promise<import('./_worker.mjs').WorkerFacts>} */
    async facts() {
      const answer = heard(child, 'facts');
      child.send('facts');
      return (await answer).facts;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill() {
      state.isUp = false;
      child.kill('SIGKILL');
      return exited;
    },
    /** As a deployment ends it; until it says so itself, clients go on sending to it. Answers the exit code. */
    terminate() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

// --- internal ---

const WORKER = fileURLToPath(new URL('_worker.mjs', import.meta.url));
const CLOCK = new URL('_clock.mjs', import.meta.url).href;

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} event
 * @returns {Promise<any>}
 */
function heard(child, event) {
  return new Promise((resolve) => {
    const listen = (/** @type {any} */ message) => {
      if (message.event !== event) return;
      child.off('message', listen);
      resolve(message);
    };
    child.on('message', listen);
  });
}

/**
 * @param {string} url
 * @param {string} route
 * @param {unknown} body
 * @param {Record<string, string>} headers
 * @returns {Promise<Answer>}
 */
async function call(url, route, body, headers) {
  const [method = 'GET', path = ''] = route.split(' ');
  // A connection for each request: one that is kept may be closed by the box while a request is on its way.
  const init = { method, headers: { 'content-type': 'application/json', connection: 'close', ...headers } };
  try {
    const response = await fetch(`${url}${path}`, method === 'GET' ? init : { ...init, body: JSON.stringify(body) });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? null : JSON.parse(text),
      retryAfter: response.headers.get('retry-after'),
    };
  } catch (error) {
    return { status: 0, body: error, retryAfter: null };
  }
}
