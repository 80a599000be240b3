// @ts-check
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Box
 * @property {number} pid
 * @property {string} url
 * @property {number} startedAt  when the command was given, on the clock of `performance.now()`
 * @property {(path: string, body?: object) => Promise<Answer>} call  POST with a body, else GET; never rejects
 * @property {(text: string) => Promise<Answer>} chat
 * @property {() => Promise<void>} stop  as Ctrl-C does, and waits for the end
 * @typedef {{ status: number, text: string }} Answer  status 0: nothing listens yet
 */

/** A copy of the playground in a folder of its own, as a person has it who installed the packages. */
export function makeWorkspace() {
  const root = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  for (const name of ['deep-agents', 'lib', 'workflows', 'package.json', 'svc.config.ts', 'svc.json'])
    cpSync(join(PLAYGROUND, name), join(root, name), { recursive: true });
  const compilerOptions = { target: 'es2023', module: 'esnext', moduleResolution: 'bundler', strict: true };
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.', '.svc/*.d.ts'] }));
  symlinkSync(join(PLAYGROUND, 'node_modules'), join(root, 'node_modules'));
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/**
 * `svc dev` as a process. Answers at once; the box boots behind it.
 * @param {{ root: string, modelUrl: string, nodeArgs?: string[] }} options
 * @returns {Promise<Box>}
 */
export async function bootBox({ root, modelUrl, nodeArgs = [] }) {
  const { port, offset } = await findPorts();
  const env = { MODEL_PROVIDER_BASE_URL: modelUrl, SVC_DEV_PORT_OFFSET: String(offset) };
  return startBox([...nodeArgs, CLI, 'dev', root, '--port', String(port)], { port, env });
}

/**
 * A deployed box as a process, which asks no one for a credential. Answers at once; the box boots behind it.
 * @param {{ bundleDir: string, env: Record<string, string> }} options
 */
export async function bootBundle({ bundleDir, env }) {
  const { port } = await findPorts();
  return startBox([SVC_BOX, bundleDir], { port, env: { ...env, PORT: String(port), SVC_INSECURE_LOCAL: '1' } });
}

/**
 * Asks again until the answer fits; tells when it did, on the clock of `performance.now()`. The pause in between leaves
 * the box time for its own work: asked without one, it answers questions instead.
 * @param {() => Promise<Answer>} ask
 * @param {(answer: Answer) => boolean} fits
 */
export async function askUntil(ask, fits) {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return performance.now();
    if (performance.now() > deadline) throw new Error(`No fitting answer in time. The last: ${JSON.stringify(answer)}`);
    await wait(PAUSE_MS);
  }
}

/**
 * When the box lived, on the clock of `performance.now()`.
 * @param {Box} box
 */
export function untilLive(box) {
  return askUntil(
    () => box.call('/live'),
    ({ status }) => status === 200,
  );
}

/**
 * What a deployed box needs to be set, but for its database.
 * @param {string} modelUrl
 */
export function makeEnv(modelUrl) {
  return {
    WORKFLOW_KV_URL: process.env.SVC_TEST_KV_URL ?? '',
    SVC_SECRET_KEY: randomBytes(32).toString('base64'),
    AGENT_ID: `bench-${randomBytes(6).toString('hex')}`,
    MODEL_PROVIDER_BASE_URL: modelUrl,
    SVC_LOG_LEVEL: 'silent',
  };
}

/**
 * What of a process is in memory, in MB.
 * @param {number} pid
 */
export function readRss(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

// --- internal ---

const CLI = fileURLToPath(new URL('../packages/cli/bin.mjs', import.meta.url));
const SVC_BOX = fileURLToPath(new URL('../packages/runtime/bin.mjs', import.meta.url));
const PLAYGROUND = fileURLToPath(new URL('../playground', import.meta.url));
const CHAT = '/wire-a/v1/chat/completions';
const TIMEOUT_MS = 60_000;
const PAUSE_MS = 5;

/**
 * @param {string[]} argv
 * @param {{ port: number, env: Record<string, string> }} options
 * @returns {Box}
 */
function startBox(argv, { port, env }) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, argv, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  const agent = new Agent({ keepAlive: true });
  const call = (/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) => {
    if (child.exitCode !== null) throw new Error(`The box ended with ${child.exitCode}. It said:\n${said}`);
    return send(`http://127.0.0.1:${port}${path}`, body, agent);
  };
  return {
    pid: Number(child.pid),
    url: `http://127.0.0.1:${port}`,
    startedAt,
    call,
    chat: (content) => call(CHAT, { model: 'support', messages: [{ role: 'user', content }] }),
    async stop() {
      agent.destroy();
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A free port for the API, and an offset at which the ports of the stores are free. */
async function findPorts() {
  for (let tries = 0; tries < 50; tries++) {
    const offset = 1 + Math.floor(Math.random() * 10_000);
    const ports = [4_242, 15_432, 9_000].map((base) => base + offset);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean)) return { port: Number(ports[0]), offset };
  }
  throw new Error('Found no free ports for a box.');
}

/** @param {number} port */
async function isFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return free;
}

/**
 * @param {string} url
 * @param {object | undefined} body
 * @param {Agent} agent
 * @returns {Promise<Answer>}
 */
function send(url, body, agent) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer dev' };
  return new Promise((resolve) => {
    const outgoing = request(url, { agent, method: body ? 'POST' : 'GET', headers }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (part) => (text += part));
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
      incoming.on('error', () => resolve({ status: 0, text: '' }));
    });
    outgoing.on('error', () => resolve({ status: 0, text: '' }));
    outgoing.end(body && JSON.stringify(body));
  });
}
