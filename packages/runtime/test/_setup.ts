import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import { createBox } from '../src/box.ts';
import type { Box } from '../src/box.ts';
import type { BoxOptions } from '../src/box/options.ts';
import { newJournalPath } from '../src/engine/_setup.ts';
import type { Journal } from '../src/engine/journal.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { listen } from '../src/http/listen.ts';
import type { ListenOptions } from '../src/http/listen.ts';
import { callStep } from '../src/internal.ts';
import { createLog } from '../src/log.ts';
import type { Problem, Program } from '../src/manifest.ts';
import type { ProviderSettings, ProviderStore } from '../src/provider/provider.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import type { Drizzle } from '../src/stores/drizzle.ts';
import type { PgliteClient } from '../src/stores/pglite.ts';
import { useDatabase } from './_database.ts';

export type ModelServer = Awaited<ReturnType<typeof startModelServer>>;

export interface TestWorkflow {
  run: (...args: never[]) => unknown;
  inputSchema?: unknown;
  outputSchema?: unknown;
  stateSchema?: unknown;
  serial?: unknown;
  concurrency?: unknown;
  throttle?: unknown;
  rateLimit?: unknown;
  debounce?: unknown;
  schedules?: unknown;
  on?: unknown;
  cleanup?: unknown;
  timeout?: unknown;
  mode?: string;
}

/** A workspace in memory. An Error stands for a module that throws it; a Problem for what a scan found. */
export interface TestProgram {
  /** The default export of each agent's module. */
  agents?: Record<string, unknown>;
  workflows?: Record<string, TestWorkflow | Error | Problem>;
  /** The default export of each file in `guardrails/`. */
  guardrails?: Record<string, unknown>;
  /** The default export of each file in `connections/`. */
  connections?: Record<string, unknown>;
  /** The default export of each `evals/<name>.scorer.ts`. */
  scorers?: Record<string, unknown>;
  /** The default export of `config.schema.ts`. */
  config?: unknown;
  /** Hash of every module. Default `hash`. */
  hash?: string;
}

export interface TestBoxOptions extends TestProgram {
  /** Where the model is. Default: the scripted server, in the environment. `none` closes the gate. */
  provider?: 'environment' | 'stored' | 'none' | ProviderSettings;
  /** The gate has not looked for a provider yet. */
  hasJustBegun?: boolean;
  defaultModel?: string;
  /** An earlier box's journal file, for a restart. */
  journalPath?: string;
  /** Instead of a SQLite file; closed with the box. */
  journal?: Journal;
  /** Called once the box is closed. */
  closes?: () => unknown;
  options?: Partial<BoxOptions>;
}

export interface TestBox extends Box {
  journal: Journal;
  journalPath: string;
  /** The scripted model of this file; `requests` holds what it was asked. */
  model: ModelServer;
  /** What the box logged at `warn` and above. */
  logs: Record<string, unknown>[];
  stored: { value: ProviderSettings | undefined };
  /** Serves the box on a free port; answers its address. */
  listen(options?: Partial<ListenOptions>): Promise<string>;
  /** Closes the box and its journal, as the end of the test would. */
  shut(): Promise<void>;
  /** Closes this box and opens another on the same journal, with the same program unless another is given. */
  restart(program?: TestProgram): Promise<TestBox>;
}

export interface TestBoxes {
  open(options?: TestBoxOptions): Promise<TestBox>;
  /** One box for all tests that ask for it, opened for the first and closed after the file: for what leaves no trace. */
  share(options?: TestBoxOptions): () => Promise<TestBox>;
  readonly model: ModelServer;
  /** Where they keep what is no run, for what no route changes. */
  readonly db: Drizzle;
}

/**
 * Boxes on a SQLite journal in a temp folder, each closed after its test; one scripted model for the file, and one
 * PGlite, opened when a test first asks it something.
 */
export function setupBoxes(): TestBoxes {
  let model: ModelServer;
  const database = useDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  beforeAll(async () => {
    model = await startModelServer();
  });
  const shared: Closer[] = [];
  afterAll(async () => {
    await closeAll(shared);
    await model.close();
  });
  const openIn = (closers: Closer[], options: TestBoxOptions = {}) =>
    openTestBox(options, { model, db, pglite: database.pglite, isBlank: database.isBlank, closers });
  return {
    get model() {
      return model;
    },
    db,
    open(options) {
      const closers: Closer[] = [];
      onTestFinished(() => closeAll(closers));
      return openIn(closers, options);
    },
    share(options) {
      let opened: Promise<TestBox> | undefined;
      return () => (opened ??= openIn(shared, options));
    },
  };
}

export function toProgram({
  agents = {},
  workflows = {},
  guardrails = {},
  connections = {},
  scorers = {},
  config,
  hash = 'hash',
}: TestProgram): Program {
  const modules = new Map<string, unknown>([
    ['config.schema.ts', config instanceof Error ? config : { default: config }],
  ]);
  const agentEntries = Object.entries(agents).map(([name, source]) => {
    const file = `deep-agents/${name}/index.ts`;
    modules.set(file, source instanceof Error ? source : { default: source });
    return { name, file };
  });
  const workflowEntries = Object.entries(workflows).map(([name, source]) => {
    const file = `workflows/${name}.workflow.ts`;
    modules.set(file, source);
    const { inputSchema, outputSchema, stateSchema } = source as TestWorkflow;
    return {
      name,
      file,
      exportName: 'run',
      steps: [],
      hasInputSchema: inputSchema !== undefined,
      hasOutputSchema: outputSchema !== undefined,
      hasStateSchema: stateSchema !== undefined,
      ...(isProblem(source) ? { problem: source, exportName: null } : {}),
    };
  });
  const ruleEntries = Object.entries(guardrails).map(([name, source]) => {
    const file = `guardrails/${name}.guardrail.ts`;
    modules.set(file, source instanceof Error ? source : { default: source });
    return { name, file };
  });
  const connectionEntries = Object.entries(connections).map(([name, source]) => {
    const file = `connections/${name}.connection.ts`;
    modules.set(file, source instanceof Error ? source : { default: source });
    return { name, file };
  });
  const scorerEntries = Object.entries(scorers).map(([name, source]) => {
    const file = `evals/${name}.scorer.ts`;
    modules.set(file, source instanceof Error ? source : { default: source });
    return { name, file };
  });
  return {
    manifest: {
      version: 1,
      agents: agentEntries,
      workflows: workflowEntries,
      guardrails: ruleEntries,
      connections: connectionEntries,
      scorers: scorerEntries,
      ...(config === undefined ? {} : { configSchema: { file: 'config.schema.ts' } }),
    },
    async load(file) {
      const module = modules.get(file);
      if (module instanceof Error) throw module;
      return { exports: module as Record<string, unknown>, hash };
    },
  };
}

/** A step as the compiler writes it. */
export function toStep<A extends unknown[], R>(
  name: string,
  fn: (...args: A) => R | Promise<R>,
): (...args: A) => Promise<R> {
  const step = (...args: A): Promise<R> =>
    callStep(`workflows/test.workflow.ts#${name}`, step as never, fn as never, undefined, args) as Promise<R>;
  return step;
}

/** The init of a JSON request. */
export function json(body: unknown, init: RequestInit & { method?: string } = {}): RequestInit {
  return {
    method: 'POST',
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

export interface Answer<T = Record<string, unknown>> {
  status: number;
  body: T;
}

/** One request with a JSON answer. Without a body a POST sends none but its content type. */
export async function call<T = Record<string, unknown>>(
  box: Box,
  route: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  const [method = 'GET', path = ''] = route.split(' ');
  const isRead = method === 'GET' || method === 'DELETE';
  const text = body === undefined ? '' : JSON.stringify(body);
  const answer = await box.request(path, isRead ? { method, headers } : json(text, { method, headers }));
  return { status: answer.status, body: (await answer.json()) as T };
}

/** Starts a workflow; answers the id of its run. */
export async function startWorkflow(box: Box, name: string, input: unknown = {}): Promise<string> {
  const { body } = await call(box, `POST /api/workflows/${name}/start`, input);
  if (typeof body.runId !== 'string') throw new Error(`The start was not answered with a run: ${JSON.stringify(body)}`);
  return body.runId;
}

/** The run as `GET /api/runs/:id` shows it. */
export async function getRun(box: Box, runId: string, wait?: string): Promise<Record<string, unknown>> {
  return (await call(box, `GET /api/runs/${runId}${wait === undefined ? '' : `?wait=${wait}`}`)).body;
}

/** The run once it is final. */
export async function finish(box: Box, runId: string): Promise<Record<string, unknown>> {
  const run = await getRun(box, runId, '20s');
  if (run.endedAt === null) throw new Error(`The run did not end: ${JSON.stringify(run)}`);
  return run;
}

/** Polls until the run has the status. */
export async function untilStatus(box: Box, runId: string, status: string, timeoutMs?: number): Promise<void> {
  await until(async () => (await getRun(box, runId)).status === status, timeoutMs);
}

/** Once the run is found to wait for code that is kept nowhere, as that of a `TestProgram` is, it goes on by the code there is. */
export async function giveNewest(box: Box, runId: string): Promise<void> {
  await until(async () => {
    const { waitingFor } = await getRun(box, runId);
    return (waitingFor as { code?: string } | null)?.code === 'code_not_kept';
  });
  await call(box, `POST /api/runs/${runId}/resume`, {});
}

/** Starts a workflow and answers its run once it is final. */
export async function runWorkflow(box: Box, name: string, input: unknown = {}): Promise<Record<string, unknown>> {
  return finish(box, await startWorkflow(box, name, input));
}

export interface RawProvider {
  url: string;
  /** Requests that came. */
  served(): number;
  /** Requests whose answer is not finished and whose caller is still there. */
  open(): number;
}

/** A provider that answers exactly what the test writes; closed after the test. */
export async function startProvider(
  serve: (response: ServerResponse, request: Record<string, unknown>) => unknown,
): Promise<RawProvider> {
  let served = 0;
  let open = 0;
  const server = createServer(async (request, response) => {
    served++;
    open++;
    response.on('close', () => open--);
    let body = '';
    for await (const part of request) body += String(part);
    await serve(response, JSON.parse(body) as Record<string, unknown>);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, served: () => served, open: () => open };
}

/** A streamed model answer of these deltas, as a provider writes it. */
export function toModelStream(deltas: object[], finishReason = 'stop'): string {
  const choices = [...deltas.map((delta) => [delta, null] as const), [{}, finishReason] as const];
  const frames = choices.map(([delta, reason]) =>
    JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] }),
  );
  return [...frames, '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
}

/** Polls until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('The condition did not come true in time.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// --- internal ---

type Closer = () => unknown;

interface Shared {
  model: ModelServer;
  db: Drizzle;
  pglite(): Promise<PgliteClient>;
  isBlank(): boolean;
  /** Run in reverse when the box is no longer needed. */
  closers: Closer[];
}

async function closeAll(closers: Closer[]): Promise<void> {
  for (const close of closers.reverse()) await close();
}

async function openTestBox(setup: TestBoxOptions, shared: Shared): Promise<TestBox> {
  const { model, db, pglite, isBlank, closers } = shared;
  const journalPath = setup.journalPath ?? (setup.journal ? '' : newJournalPath());
  if (setup.closes) closers.push(setup.closes);
  if (!setup.journalPath && journalPath) closers.push(() => rm(dirname(journalPath), { recursive: true, force: true }));
  const journal = setup.journal ?? (await openSqliteJournal({ path: journalPath }));
  const logs: Record<string, unknown>[] = [];
  const scripted: ProviderSettings = { baseUrl: model.url, apiKey: 'provider-key' };
  const { provider = 'environment', defaultModel = 'test/scripted' } = setup;
  const stored = { value: provider === 'stored' ? scripted : undefined };
  const environment = provider === 'environment' ? scripted : typeof provider === 'object' ? provider : undefined;
  const box = await createBox({
    host: 'dev',
    slug: 'test-box',
    log: createLog({ level: 'warn', write: (line) => logs.push(JSON.parse(line)) }),
    journal,
    exclusive: true,
    provider: {
      environment,
      store: toProviderStore(stored),
      egress: { allowLoopback: true, allowed: [] },
    },
    db,
    ...(setup.options?.db ? {} : { isBlank, readable: { kind: 'embedded', pglite } }),
    defaultModel: () => (defaultModel === '' ? undefined : defaultModel),
    loadProgram: async () => toProgram(setup),
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url: 'http://127.0.0.1:4242' } }),
    ...setup.options,
  });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await box.close();
    await journal.close();
  };
  closers.push(close);
  if (!setup.hasJustBegun) await box.gate.check();
  return {
    ...box,
    journal,
    journalPath,
    model,
    logs,
    stored,
    async listen(how) {
      const listener = await listen(box.app, { port: 0, host: '127.0.0.1', ...how });
      closers.push(() => listener.close(0));
      return listener.url;
    },
    shut: close,
    async restart(program) {
      await close();
      return openTestBox({ ...setup, ...program, journalPath }, shared);
    },
  };
}

function toProviderStore(stored: { value: ProviderSettings | undefined }): ProviderStore {
  return {
    read: async () => stored.value,
    write: async (settings) => void (stored.value = settings),
    remove: async () => void (stored.value = undefined),
  };
}

function isProblem(source: unknown): source is Problem {
  return !(source instanceof Error) && typeof (source as Problem).frame === 'string';
}
