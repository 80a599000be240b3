import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { startModelServer } from '../../../../playground/model-server.mjs';
import type { ModelServer } from '../../../../playground/model-server.mjs';
import { SHORT_LIVED } from '../../../../scripts/_short-lived.mjs';
import { checkPrinted } from '../_documents.ts';

/** What `svc dev --json` prints. */
export interface Payload {
  schema_version: number;
  emulator_url: string;
  agent_url: string;
  local_dev_installation_id: string;
  gate: { open: boolean; reason: string };
  deep_agents: string[];
  services: { postgres_url: string; s3_endpoint: string; s3_bucket: string };
}

export interface Run {
  runId: string;
  name: string;
  status: string;
  output: unknown;
  error: { code: string; message: string } | null;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** From the spawn, in milliseconds. */
  ms: number;
}

export interface Start {
  cwd: string;
  env?: Record<string, string>;
  /** The path of a Node binary. Default: this one. */
  node?: string;
  /** The program. Default: `svc`. */
  bin?: string;
}

/** A program that was started, whatever becomes of it. */
export interface Command {
  pid: number;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<Ended>;
}

export interface BootOptions {
  args?: string[];
  env?: Record<string, string>;
  node?: string;
  /** False: no model provider in the environment. */
  model?: boolean;
  /** False: the banner instead of the document. */
  json?: boolean;
}

export interface Workspace {
  root: string;
  /** The ports `svc dev` uses here, all of them free when the workspace was made. */
  ports: { api: number; database: number; objects: number };
  env: Record<string, string>;
  path(file: string): string;
  read(file: string): string;
  write(file: string, text: string): void;
  /** Replaces `from`, which must be there, everywhere. */
  edit(file: string, from: string, to: string): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Starts `svc dev` and does not wait for it. */
  dev(options?: BootOptions): Command;
  /** The box of a `svc dev` that was started, once it has said that it is ready. */
  attach(command: Command, options?: { json?: boolean }): Promise<Box>;
  /** Starts `svc dev` and answers once it has said that it is ready. */
  boot(options?: BootOptions): Promise<Box>;
  /** Runs another command to its end. */
  svc(...argv: string[]): Promise<Ended>;
  /** Starts any command here and does not wait for it. Its environment holds nothing of the workspace's. */
  command(argv: string[], options?: Omit<Start, 'cwd'>): Command;
  /** Requests to what a command serves. */
  talkTo(command: Command, options: { port: number; key?: string }): Box;
}

export interface Box extends Command {
  url: string;
  /** Of a boot with `--json`, the default. */
  payload: Payload;
  /** Ends it and answers how it ended, with the time from the signal. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  get<T>(path: string): Promise<T>;
  /** The text of a whole turn, or the error of the wire as text. */
  chat(agent: string, message: string): Promise<string>;
  start(workflow: string, input: unknown): Promise<Run>;
  run(runId: string): Promise<Run>;
  /** The run once it is final. */
  finish(runId: string): Promise<Run>;
}

export interface Rig {
  /** The scripted model all boxes of this file use. */
  model(): ModelServer;
  /** A copy of the fixture, with files added or replaced, or removed where the text is null. */
  workspace(files?: Record<string, string | null>): Promise<Workspace>;
}

export const BIN = fileURLToPath(new URL('../../bin.mjs', import.meta.url));

/** Everything a file starts and makes; all of it is ended and removed when the file's tests are over. */
export function useRig(): Rig {
  const started: Command[] = [];
  const folders: string[] = [];
  const made: { model?: ModelServer } = {};
  beforeAll(async () => {
    // That of the templates and the guide too.
    made.model = await startModelServer({ models: ['playground/scripted', 'vendor/model'] });
  });
  afterAll(async () => {
    for (const command of started) command.kill('SIGKILL');
    await Promise.all(started.map(({ ended }) => ended));
    await made.model?.close();
    for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const model = () => {
    if (!made.model) throw new Error('The model server has not been started yet.');
    return made.model;
  };
  return {
    model,
    async workspace(files = {}) {
      const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'svc-e2e-')));
      folders.push(root);
      fs.cpSync(FIXTURE, root, { recursive: true });
      fs.mkdirSync(join(root, 'node_modules'));
      fs.symlinkSync(ZOD, join(root, 'node_modules/zod'));
      fs.symlinkSync(DRIZZLE, join(root, 'node_modules/drizzle-orm'));
      const workspace = createWorkspace({ root, offset: await findOffset(), model, started });
      for (const [file, text] of Object.entries(files)) {
        if (text === null) workspace.remove(file);
        else workspace.write(file, text);
      }
      return workspace;
    },
  };
}

/** Starts `svc`. What it prints with --json is held to the reference. Its environment holds nothing of the test runner's. */
export function startSvc(argv: string[], { cwd, env = {}, node = process.execPath, bin = BIN }: Start): Command {
  const began = performance.now();
  // Another Node may not know the flags.
  const flags = node === process.execPath ? SHORT_LIVED : [];
  const child = spawn(node, [...flags, bin, ...argv], {
    cwd,
    env: { ...INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kept = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (kept[name] += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...kept, ms: performance.now() - began }));
  }).then(async (end) => {
    if (bin === BIN) await checkPrinted(argv, end);
    return end;
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => kept.stdout,
    stderr: () => kept.stderr,
    kill: (signal) => void (isRunning(child) && child.kill(signal)),
    ended,
  };
}

/** Asks again until `ask` answers something true and does not throw; otherwise throws what was seen last. */
export async function eventually<T>(ask: () => T | Promise<T>, { within = 10_000, every = 15 } = {}): Promise<T> {
  const deadline = performance.now() + within;
  for (;;) {
    let last: unknown;
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline)
      throw new Error(`It did not come about within ${within} ms. Last seen: ${String(last)}`, { cause: last });
    await wait(every);
  }
}

/** The lines of a file that may not be there yet. */
export function linesOf(file: string): string[] {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** Holds a port until the test ends it. */
export async function occupy(port: number): Promise<() => Promise<void>> {
  const server = createServer();
  await new Promise<void>((done, reject) => server.once('error', reject).listen(port, '127.0.0.1', done));
  return () => new Promise((done) => server.close(() => done()));
}

/** A port no one has, as the system hands them out. */
export async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, reject) => server.once('error', reject).listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

// --- internal ---

const FIXTURE = fileURLToPath(new URL('./fixtures/small', import.meta.url));
const ZOD = fs.realpathSync(fileURLToPath(new URL('../../../../playground/node_modules/zod', import.meta.url)));

const DRIZZLE = fs.realpathSync(fileURLToPath(new URL('../../node_modules/drizzle-orm', import.meta.url)));

const { PATH = '', HOME = '' } = process.env;
const INHERITED = { PATH, HOME, LANG: 'C.UTF-8' };
const READY_MS = 30_000;

interface Making {
  root: string;
  offset: number;
  model(): ModelServer;
  started: Command[];
}

function createWorkspace({ root, offset, model, started }: Making): Workspace {
  const path = (file: string) => join(root, file);
  const read = (file: string) => fs.readFileSync(path(file), 'utf8');
  const write = (file: string, text: string) => {
    fs.mkdirSync(dirname(path(file)), { recursive: true });
    fs.writeFileSync(path(file), text);
  };
  const ports = { api: 4242 + offset, database: 15_432 + offset, objects: 9000 + offset };
  const env = { SVC_DEV_PORT_OFFSET: String(offset) };
  const start = (argv: string[], options: Omit<Start, 'cwd'>) => {
    const command = startSvc(argv, { cwd: root, ...options });
    started.push(command);
    return command;
  };
  const dev = ({ args = [], json = true, model: hasModel = true, ...options }: BootOptions = {}) =>
    start(['dev', ...(json ? ['--json'] : []), ...args], {
      ...options,
      env: { ...env, ...(hasModel ? { MODEL_PROVIDER_BASE_URL: model().url } : {}), ...options.env },
    });
  const attach = async (command: Command, { json = true }: { json?: boolean } = {}) => {
    await untilReady(command, json ? /"agent_url".*\n/ : /^ {2}Gate .*\n/m);
    return createBox(command, { port: ports.api });
  };
  return {
    root,
    ports,
    env,
    path,
    read,
    write,
    edit(file, from, to) {
      const text = read(file);
      if (!text.includes(from)) throw new Error(`"${file}" does not hold "${from}".`);
      write(file, text.replaceAll(from, to));
    },
    rename: (from, to) => fs.renameSync(path(from), path(to)),
    remove: (file) => fs.rmSync(path(file), { recursive: true, force: true }),
    dev,
    attach,
    boot: (options = {}) => attach(dev(options), options),
    svc: (...argv) => start(argv, { env }).ended,
    command: (argv, options = {}) => start(argv, options),
    talkTo: createBox,
  };
}

async function untilReady(command: Command, sign: RegExp): Promise<void> {
  const over = command.ended.then(({ code, stdout, stderr }) => {
    throw new Error(`svc dev ended with ${code} before it was ready.\n${stdout}\n${stderr}`);
  });
  const ready = eventually(() => sign.test(command.stdout()), { within: READY_MS, every: 5 }).catch(() => {
    throw new Error(`svc dev was not ready within ${READY_MS} ms.\n${command.stdout()}\n${command.stderr()}`);
  });
  await Promise.race([ready, over]);
}

function createBox(command: Command, { port, key }: { port: number; key?: string }): Box {
  const credential = { authorization: `Bearer ${key ?? 'any'}` };
  // Where a caller with a key may look.
  const runs = key === undefined ? '/api/runs' : '/api/workflows/runs';
  const text = command.stdout();
  const payload = (text.startsWith('{') ? JSON.parse(text) : {}) as Payload;
  const url = payload.agent_url ?? `http://127.0.0.1:${port}`;
  const ask = async <T>(path: string, init?: RequestInit): Promise<T> => {
    const response = await fetch(url + path, init);
    const body = (await response.json()) as T;
    if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(body)}`);
    return body;
  };
  const send = <T>(path: string, body: unknown) =>
    ask<T>(path, { method: 'POST', headers: { ...JSON_BODY, ...credential }, body: JSON.stringify(body) });
  return {
    ...command,
    url,
    payload,
    async stop(signal = 'SIGINT') {
      const began = performance.now();
      command.kill(signal);
      return { ...(await command.ended), ms: performance.now() - began };
    },
    fetch: (path, init) => fetch(url + path, init),
    get: (path) => ask(path, { headers: credential }),
    async chat(model, content) {
      const body = { model, messages: [{ role: 'user', content }] };
      try {
        const { choices } = await send<Completion>('/wire-a/v1/chat/completions', body);
        return choices[0]?.message.content ?? '';
      } catch (error) {
        return (error as Error).message;
      }
    },
    start: (workflow, input) => send(`/api/workflows/${workflow}/start`, input),
    run: (runId) => ask(`${runs}/${runId}`, { headers: credential }),
    finish: (runId) =>
      eventually(
        async () => {
          const run = await ask<Run>(`${runs}/${runId}?wait=5s`, { headers: credential });
          return ['completed', 'failed', 'cancelled'].includes(run.status) && run;
        },
        { within: 90_000 },
      ).then((run) => run as Run),
  };
}

interface Completion {
  choices: { message: { content: string | null } }[];
}

const JSON_BODY = { 'content-type': 'application/json' };

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/**
 * A shift of the default ports with which all three are free. The range keeps them clear of the ports the system hands
 * to outgoing connections, and each worker of the test runner has a part of it to itself. A fourth port is held until
 * this process ends: another run of the tests, on the same machine, keeps off a shift whose ports are not bound yet.
 */
async function findOffset(): Promise<number> {
  const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS;
  for (let tries = 0; tries < 50; tries++) {
    const offset = FIRST_OFFSET + worker * OFFSETS_PER_WORKER + Math.floor(Math.random() * OFFSETS_PER_WORKER);
    if (!(await isHeld(MARK_PORT + offset))) continue;
    const free = await Promise.all([4242, 9000, 15_432].map((base) => isFree(base + offset)));
    if (free.every(Boolean)) return offset;
  }
  throw new Error('No free ports were found.');
}

const WORKERS = 8;
const FIRST_OFFSET = 6_700;
const OFFSETS_PER_WORKER = 560;
const MARK_PORT = 20_500;

async function isFree(port: number): Promise<boolean> {
  return occupy(port).then(
    async (release) => {
      await release();
      return true;
    },
    () => false,
  );
}

/** Whether the port is now held, for as long as this process lives. */
async function isHeld(port: number): Promise<boolean> {
  const server = createServer().unref();
  return new Promise((done) => server.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true)));
}
