import type { Agents } from '../agents/agents.ts';
import type { SessionStore } from '../agents/turn/session-store.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Body } from '../engine/body.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { createSchemaReader } from '../schema/json-schema/compile.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { Workflows } from '../workflows/workflows.ts';
import { createCaseStore } from './case-store.ts';
import { createCases } from './cases.ts';
import type { CodeScorers } from './code-scorers.ts';
import type { Cases } from './cases.ts';
import { createReadCase, createReadInput } from './from-run.ts';
import { createLaunch } from './launch.ts';
import { createLiveStore } from './live-store.ts';
import { createLiveTurns } from './live-turns.ts';
import type { LiveTurns } from './live-turns.ts';
import { createLiveWork } from './live-work.ts';
import { createObserve } from './observed.ts';
import { createEvalRunStore } from './run-store.ts';
import type { RunCase } from './run.ts';
import { createEvalRuns } from './runs.ts';
import type { EvalRuns } from './runs.ts';
import { createSuiteBody, LIVE_RUN, SUITE_RUN } from './suite-body.ts';
import { createSuiteStore } from './suite-store.ts';
import { createSuites } from './suites.ts';
import type { Suites } from './suites.ts';
import { createSuiteWork } from './work.ts';

export interface Evals {
  cases: Cases;
  suites: Suites;
  runs: EvalRuns;
  /** The code of a run of that name. Undefined: it is none of evals. */
  bodyOf(name: string): Body | undefined;
  /** A run has ended, which may be a live turn. Returns at once. */
  ended: LiveTurns['ended'];
  close(): Promise<void>;
}

export interface EvalsOptions {
  db: Drizzle;
  engine: Engine;
  journal: Journal;
  catalog: Pick<Catalog, 'findWorkflow'>;
  agents: Pick<Agents, 'startChild' | 'requireAgent'>;
  workflows: Pick<Workflows, 'start' | 'check' | 'requireStart'>;
  prompts: Pick<Prompts, 'get' | 'getVersion'>;
  sessionStore: Pick<SessionStore, 'read'>;
  scorers: CodeScorers;
  defaultModel(): Promise<string | undefined>;
  mask: Mask;
  log: Log;
  isBlank(): boolean;
}

export function createEvals(options: EvalsOptions): Evals {
  const { db, engine, journal, catalog, agents, workflows, prompts, sessionStore, scorers, mask } = options;
  const cases = createCaseStore(db);
  const suites = createSuiteStore(db);
  const store = createEvalRunStore(db);
  const observe = createObserve({ journal, engine });
  const readSchema = createSchemaReader();
  const work = createSuiteWork({
    store,
    observe,
    startTurn: agents.startChild,
    startWorkflow: (name, input, how) => workflows.start(name, input, how),
    judgeModel: options.defaultModel,
    codeScorer: scorers.require,
    readSchema,
    mask,
  });
  const body = createSuiteBody(work);
  const requireTarget = ({ kind, name }: RunCase['target']): void =>
    kind === 'agent' ? agents.requireAgent(name) : workflows.requireStart(name);
  const launch = createLaunch({ store, cases, prompts, engine, body: () => body, requireTarget });
  const readSession = async (sessionId: string) => (await sessionStore.read(sessionId)).messages;
  const liveWork = createLiveWork({
    store,
    live: createLiveStore(db),
    suites,
    observe,
    readInput: createReadInput({ engine, readSession }),
    journal,
    engine,
    judgeModel: options.defaultModel,
    codeScorer: scorers.require,
    readSchema,
    mask,
  });
  const liveTurns = createLiveTurns({
    listSuites: () => suites.listOnline(),
    begin: liveWork.begin,
    log: options.log,
    isBlank: options.isBlank,
    now: engine.clock.now,
  });
  return {
    cases: createCases({
      store: cases,
      known: scorers,
      readCase: createReadCase({ journal, engine, observe, readSession, mask }),
      async checkInput(name, value) {
        if (catalog.findWorkflow(name)?.definition) await workflows.check(name, value);
      },
    }),
    suites: createSuites({ store: suites, cases, known: scorers }),
    runs: createEvalRuns({ store, engine, journal, launch }),
    bodyOf: (name) => (name === SUITE_RUN ? body : name === LIVE_RUN ? liveWork.body() : undefined),
    ended: liveTurns.ended,
    close: () => liveTurns.close(),
  };
}
