import { copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { createLog } from '../log.ts';
import { installBodies } from './values/bodies.ts';
import { createEngine } from './engine.ts';
import type { Engine, EngineOptions, StartRequest } from './engine.ts';
import type { Body } from './body.ts';
import { installGuard } from './guard/guard.ts';
import { newRunId, toTraceId } from './ids.ts';
import type { Ambient } from './handle.ts';
import type { Journal } from './journal.ts';
import type { RunRow } from './journal/run.ts';
import type { CreateResult } from './journal/starts.ts';
import { childFailed } from './run/outcome.ts';
import { decode } from './serialize.ts';
import { callStep } from './primitives/step.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';
import { wrapJournal } from './stores/wrap.ts';

export type Code = Record<string, (input: never) => Promise<unknown>>;

export interface Bench {
  engine: Engine;
  journal: Journal;
  /** What the code of runs has logged, and the engine for it: `warn …`. */
  logged: string[];
  /** Starts a workflow and waits until it is final. */
  run(name: string, input?: unknown): Promise<RunRow>;
  start(name: string, input?: unknown): Promise<RunRow>;
  create(name: string, input?: unknown, more?: Partial<StartRequest>): Promise<CreateResult>;
  /** Like a kill: nothing is released, another engine opens the same journal. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** The path of an empty journal in a folder of its own. */
export function newJournalPath(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'svc-engine-')), 'journal.db');
  copyFileSync(TEMPLATE, path);
  return path;
}

/** Where a journal is kept; it can be opened several times. */
export interface Place {
  open(): Promise<Journal>;
}

export interface BenchOptions {
  codeHash?: string;
  oneAtATime?: readonly string[];
  redact?: NonNullable<Ambient['redact']>;
}

/** An engine over a real journal, running the given bodies. */
export async function openBench(
  place: string | Place,
  code: Code,
  options: Partial<EngineOptions> & BenchOptions = {},
): Promise<Bench> {
  installGuard();
  installBodies();
  const journal = await (typeof place === 'string' ? openSqliteJournal({ path: place }) : place.open());
  let dead = false;
  const logged: string[] = [];
  const bodyOf = (name: string): Body => {
    const run = code[name];
    if (!run) throw new Error(`There is no workflow "${name}".`);
    return { run: run as Body['run'], codeHash: options.codeHash ?? 'hash', durability: 'process' };
  };
  const guarded = wrapJournal(journal, (_, call) => (dead ? new Promise(() => {}) : call()));
  const ambient: Ambient = {
    async startWorkflow(name, input, { parentClosePolicy: closePolicy, ...more }) {
      const serial = options.oneAtATime?.includes(name) ? { serial: { key: name, whenTaken: 'queue' as const } } : {};
      const start = { kind: 'workflow', name, trigger: 'workflow', input, closePolicy, ...serial, ...more } as const;
      const result = await engine.start(start);
      const named = { workflowName: name, trigger: '' };
      if ('triggerId' in result) return { status: 'queued', ...named, triggerId: result.triggerId };
      const runId = result.outcome === 'gone' ? result.startId : runOf(result).runId;
      return { status: 'started', ...named, runId, worldRunId: toTraceId(runId) };
    },
    async waitForRun(started) {
      const row = started.status === 'started' ? await engine.wait(started.runId, 10_000) : undefined;
      if (row?.status !== 'completed') throw decode(childFailed(row)) as Error;
      return outputOf(row);
    },
    startTurn: () => Promise.reject(new Error('There are no agents here.')),
    schedule: async () => ({ id: '', nextFireAt: null }),
    unschedule: async () => false,
    sendEvent: () => Promise.reject(new Error('There are no events here.')),
    readSecret: () => Promise.reject(new Error('There are no secrets here.')),
    webhookUrl: (token) => `/api/webhooks/${token}`,
    startUrl: (name) => `/api/workflows/${name}/start`,
    readPrompt: () => Promise.reject(new Error('There are no prompts here.')),
    readConfig: () => Promise.reject(new Error('There is no configuration here.')),
    chat: () => Promise.reject(new Error('There is no model here.')),
    embed: () => Promise.reject(new Error('There is no model here.')),
    rag() {
      throw new Error('There are no collections here.');
    },
    client: {
      async findRun(id: string) {
        const found = await journal.queue.find(id);
        if (found && 'queued' in found) return found.queued;
        return journal.getLastRun(found ? found.run.runId : id);
      },
      findHook: (token: string) => journal.hooks.find(token),
      closeHook: (...hook: Parameters<Ambient['client']['closeHook']>) => journal.hooks.close(...hook),
    } as Ambient['client'],
    connection() {
      throw new Error('There are no connections here.');
    },
    database: undefined,
    storage: undefined,
    browser: undefined,
    log: (line) => void logged.push(`${line.level} ${line.message}`),
    ...(options.redact ? { redact: options.redact } : {}),
  };
  const engine: Engine = await createEngine({
    journal: guarded,
    log: createLog({ level: 'silent', write: () => {} }),
    owner: newRunId(),
    exclusive: true,
    resolve: async ({ name }) => bodyOf(name),
    ambient,
    sweepMs: 50,
    ...options,
  });
  await engine.arm();
  const create = (name: string, input: unknown = null, more: Partial<StartRequest> = {}) =>
    engine.start({ kind: 'workflow', name, trigger: 'api', input, ...more });
  const start = async (name: string, input: unknown = null) => runOf(await create(name, input));
  return {
    engine,
    journal,
    logged,
    start,
    create,
    async run(name, input) {
      const { runId } = await start(name, input);
      const row = await engine.wait(runId, 10_000);
      if (!row) throw new Error('The run is gone.');
      return row;
    },
    async kill() {
      dead = true;
      // The files stay; the handle goes, as it would with the process.
      await journal.close();
    },
    async close() {
      const closing = engine.close();
      if (dead) return;
      await closing;
      await journal.close();
    },
  };
}

export function runOf(result: CreateResult): RunRow {
  if (result.outcome === 'created' || result.outcome === 'repeated') return result.run;
  throw new Error(`The start was ${result.outcome}.`);
}

export function outputOf(row: RunRow | undefined): unknown {
  return row?.output ? decode(row.output) : undefined;
}

export function errorOf(row: RunRow | undefined): Error | undefined {
  return row?.error ? (decode(row.error) as Error) : undefined;
}

/** Opens benches as `openBench` does and closes them after each test. Called once per file. */
export function useBenches(): typeof openBench {
  let open: Bench[] = [];
  afterEach(async () => {
    await Promise.all(open.map((opened) => opened.close().catch(() => {})));
    open = [];
  });
  return async (...args) => {
    const opened = await openBench(...args);
    open.push(opened);
    return opened;
  };
}

/**
 * Starts the workflow `go`, kills its engine as it waits for the hook `go-on`, and resumes that with 1 in a second one.
 * Answers before the run has ended.
 */
export async function goOnAfterKill(
  bench: typeof openBench,
  place: string | Place,
  code: Code,
): Promise<{ second: Bench; runId: string }> {
  const first = await bench(place, code);
  const { runId } = await first.start('go');
  await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
  await first.kill();
  const second = await bench(place, code);
  await second.engine.resumeHook('go-on', 1);
  return { second, runId };
}

/** A step as the compiler would write it. */
export function step<A extends unknown[], R>(
  name: string,
  fn: (...args: A) => Promise<R> | R,
  options: Record<string, unknown> = {},
): (...args: A) => Promise<R> {
  const wrapper = function (...args: A): Promise<R> {
    return callStep(`test.workflow.ts#${name}`, wrapper as never, fn as never, undefined, args) as Promise<R>;
  };
  Object.assign(wrapper, options);
  return wrapper;
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

/** To make its tables takes longer than most tests, so it is done once. */
const TEMPLATE = await makeTemplate();

async function makeTemplate(): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'svc-journal-')), 'journal.db');
  await (await openSqliteJournal({ path })).close();
  return path;
}
