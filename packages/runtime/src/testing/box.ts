import type { DeepAgentDefinition } from '../definitions/agent.ts';
import type { DynamicConfig } from '../config-values/define.ts';
import type { GuardrailDefinition } from '../guardrails/define.ts';
import type { Journal } from '../engine/journal.ts';
import { openSqliteJournal } from '../engine/stores/sqlite/journal.ts';
import { newMasterKey } from '../secrets/master-key.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import { createDrizzle, withTables } from '../stores/drizzle.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createTestApprovals } from './approvals.ts';
import type { TestApprovals } from './approvals.ts';
import { createTestClock } from './clock.ts';
import type { TestClock, VirtualClock } from './clock.ts';
import { createLazyDatabase } from './database.ts';
import { createLazyStorage } from './storage.ts';
import { beginLife } from './life.ts';
import type { Life } from './life.ts';
import { createScriptedModel } from './model.ts';
import type { ModelScript, TestModel, VectorScript } from './model.ts';
import type { CrashPoint } from './process.ts';
import type { WorkflowModule } from './program.ts';
import { createTestConfig, createTestSecrets } from './handles.ts';
import type { TestConfig, TestDatabase, TestSecrets } from './handles.ts';
import type { InputOfModule, OutputOfModule, StateOfModule, WorkflowModules } from './workflow-types.ts';
import { toTestRun } from './runs.ts';
import type { TestRun } from './runs.ts';
import { createTestTurns } from './turns.ts';
import type { TestAgent } from './turns.ts';

export interface TestBoxOptions<A extends string = string, W extends WorkflowModules = WorkflowModules> {
  /** By name: what `export default defineDeepAgent({ ... })` gives. */
  agents?: Readonly<Record<A, DeepAgentDefinition>>;
  /** By name: the modules, as `import * as refund from '../workflows/refund.workflow.ts'` gives them. */
  workflows?: W;
  /** By name: what `export default defineGuardrail({ ... })` of `guardrails/<name>.guardrail.ts` gives. */
  guardrails?: Readonly<Record<string, GuardrailDefinition>> | undefined;
  /** What `config.schema.ts` has as its default export. */
  config?: DynamicConfig | undefined;
  /** For `svc.database.query`: `import * as schema from '../src/schema.ts'`. */
  schema?: Readonly<Record<string, unknown>> | undefined;
  /** The workspace, whose `.svc/migrations` the database has. Default: where the tests are started. */
  root?: string;
  /** What the model answers. Default: nothing, so asking it is an error. */
  model?: ModelScript;
  /** What `svc.ai.embed` answers. Default: vectors in which texts that share words are near to each other. */
  vectors?: VectorScript;
  /** Where the clock begins. Default: now. */
  now?: Date | string | number;
}

/** By its module: what a start takes, and what its run answers and publishes. */
export interface TestWorkflow<I = unknown, O = unknown, S = unknown> {
  /** Starts a run as `POST /api/workflows/:name/start` does, and throws what that refuses. */
  start(
    ...input: unknown extends I ? [input?: unknown] : undefined extends I ? [input?: I] : [input: I]
  ): Promise<TestRun<O, S>>;
}

/** Code that takes the place of the code of the same name. */
export interface Deploy<A extends string = string, W extends WorkflowModules = WorkflowModules> {
  agents?: Readonly<Partial<Record<A, DeepAgentDefinition>>>;
  workflows?: Readonly<Partial<Record<keyof W & string, WorkflowModule>>>;
}

/** A box in this process, in memory, with a scripted model and a clock that is moved by hand. */
export interface TestBox<A extends string = string, W extends WorkflowModules = WorkflowModules> {
  agent(name: A): TestAgent;
  workflow<N extends keyof W & string>(
    name: N,
  ): TestWorkflow<InputOfModule<W[N], N>, OutputOfModule<W[N], N>, StateOfModule<W[N], N>>;
  /** A run by its id. */
  run(id: string): TestRun;
  /** The newest runs, newest first: also those of schedules and of turns that did not come to their end. */
  listRuns(): Promise<TestRun[]>;
  readonly clock: TestClock;
  readonly model: TestModel;
  readonly approvals: TestApprovals;
  /**
   * The relational store, as `svc.database` is in the code: to put rows there before a test, and to look after it. Opened
   * when something first asks it.
   */
  readonly database: TestDatabase;
  /** Something has asked the relational store, so it is open: that takes a second or two. */
  readonly isDatabaseOpen: boolean;
  readonly config: TestConfig;
  readonly secrets: TestSecrets;
  /** What the box logged as a warning or an error. */
  readonly logs: readonly Record<string, unknown>[];
  /** The box's HTTP API, without a socket. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /**
   * Kills the process the box seems to run in, the next time it comes to that point: what it does from then on is stored
   * nowhere, and whoever waits for it gets an error with the code `box_crashed`. Resolves when it has happened. Rejects, with the code `crash_not_reached`, once every run
   * there was since has ended without coming there; should one come later, the box crashes all the same.
   */
  crashAt(point: CrashPoint): Promise<void>;
  /**
   * Begins another process on what the one before has stored. One that has not crashed ends in order first. Code that is
   * given takes the place of the code of the same name: a deploy.
   */
  restart(deploy?: Deploy<A, W>): Promise<void>;
  close(): Promise<void>;
}

/** Opens a box. Close it at the end of the test. */
export async function createTestBox<A extends string = string, W extends WorkflowModules = WorkflowModules>(
  options: TestBoxOptions<A, W> = {},
): Promise<TestBox<A, W>> {
  const logs: Record<string, unknown>[] = [];
  const model = createScriptedModel(options.model ?? [], options.vectors);
  const database = createLazyDatabase(options.root ?? process.cwd());
  const objects = createLazyStorage();
  let project: Drizzle | undefined;
  const openProject = (): Drizzle => {
    const db = createDrizzle(database.client, database.client.ready);
    return options.schema ? withTables(db, options.schema) : db;
  };
  const secretKey = newMasterKey();
  let program = {
    agents: { ...options.agents } as Record<string, DeepAgentDefinition>,
    workflows: { ...options.workflows } as Record<string, WorkflowModule>,
    guardrails: options.guardrails,
    config: options.config,
    schema: options.schema,
  };
  let deploys = 1;
  let current: Life | undefined;
  const life = (): Life => {
    if (!current) throw new Error('The test box is closed.');
    return current;
  };
  const clock: VirtualClock = createTestClock(options.now ?? new Date(), {
    tick: () => life().alive(life().box.engine.tick()),
    settle: () => life().settle(),
    nextDue: () => findNextDue(life(), journal),
  });
  const journal = await openSqliteJournal({ path: ':memory:', clock: clock.store.now });
  const begin = (): Promise<Life> =>
    beginLife({
      ...program,
      hash: `test-${deploys}`,
      journal,
      database: database.client,
      pglite: database.pglite,
      secretKey,
      isBlank: database.isBlank,
      settled: database.settled,
      storage: objects.storage,
      clock: clock.store,
      callModel: model.call,
      callEmbeddings: model.embed,
      logs,
    });
  const closeStores = async (): Promise<void> => {
    await journal.close();
    await database.close();
    await objects.close();
  };
  const running = { life, journal, model };
  const toRun = (id: string): TestRun => toTestRun(id, running);
  const turns = createTestTurns({ life, journal, model, toRun });
  current = await begin().catch(async (error: unknown) => {
    await closeStores();
    throw error;
  });

  return {
    agent: (name) => turns.agent(name),
    workflow: (name) => ({
      async start(...[input = {}]: unknown[]) {
        const receipt = await life().call<StartReceipt>(`POST /api/workflows/${name}/start`, input);
        return toTestRun<never, never>(receipt.status === 'queued' ? receipt.triggerId : receipt.runId, running);
      },
    }),
    run: toRun,
    async listRuns() {
      const { items } = await life().call<{ items: { runId: string }[] }>('GET /api/runs?limit=100');
      return items.map(({ runId }) => toRun(runId));
    },
    clock,
    model,
    approvals: createTestApprovals(life),
    get database() {
      return (project ??= openProject()) as TestDatabase;
    },
    get isDatabaseOpen() {
      return !database.isBlank();
    },
    config: createTestConfig(life),
    secrets: createTestSecrets(life),
    logs,
    request: (path, init) => life().alive(life().box.request(path, init)),
    crashAt: (point) => life().process.crashAt(point),
    async restart(deploy) {
      await life().close();
      if (deploy) {
        deploys += 1;
        program = {
          ...program,
          agents: { ...program.agents, ...(deploy.agents as Record<string, DeepAgentDefinition>) },
          workflows: { ...program.workflows, ...(deploy.workflows as Record<string, WorkflowModule>) },
        };
      }
      current = await begin();
      await turns.followAgain();
    },
    async close() {
      const last = current;
      if (!last) return;
      current = undefined;
      await last.close();
      await closeStores();
    },
  };
}

// --- internal ---

const MAX_SCHEDULES = 1_000;

/** Of runs and of schedules. */
async function findNextDue({ box }: Life, journal: Journal): Promise<number | undefined> {
  const [due, schedules] = await Promise.all([
    box.engine.nextDue(),
    journal.schedules.list({}, { limit: MAX_SCHEDULES }),
  ]);
  const times = schedules.flatMap(({ isPaused, nextAt }) => (isPaused || nextAt === null ? [] : [nextAt]));
  if (due !== undefined) times.push(due);
  return times.length === 0 ? undefined : Math.min(...times);
}
