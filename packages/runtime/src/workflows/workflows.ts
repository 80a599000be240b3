import type { RetryTurn } from '../agents/turn-retries.ts';
import { ownIdOf } from '../engine/box-marks.ts';
import { toStartedBy } from '../auth/caller.ts';
import type { Catalog, LoadedWorkflow } from '../catalog/catalog.ts';
import type { WorkflowSchemas, WorkflowSummary } from '../catalog/workflow.ts';
import type { FlowPolicy } from '../definitions/flow-settings.ts';
import type { Engine } from '../engine/engine.ts';
import { waitsForCode } from '../engine/worker/code-waits.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Log } from '../log.ts';
import type { RetryHow } from '../runs/control-operations.ts';
import type { RunForks } from '../runs/fork-operations.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import { toJsonSchema } from '../schema/schema.ts';
import { toHeldMark } from '../approvals/held-text.ts';
import { startRoute, toAnswer, toTurnReceipt } from './answers.ts';
import { listChanges } from './changes.ts';
import type { Changes } from './changes.ts';
import { checkInput } from './checks.ts';
import { retryFlowOf } from './events.ts';
import { flowOf, startFlow, withLockOnly } from './flow.ts';
import { createRunForks } from './forks.ts';
import { judgeStart } from './judge-start.ts';
import type { StartGuardrails } from './judge-start.ts';
import { createQueuedStarts } from './queued-starts.ts';
import type { QueuedStarts } from './queued-starts.ts';
import { definitionOf, notArmed, workflowNotFound } from './refusals.ts';
import { startMany } from './start-many.ts';
import type { ManyAsked, ManyStarted } from './start-many.ts';
import { createWorkflowStarts } from './starts.ts';
import type { WorkflowStarts } from './starts.ts';

export interface Workflows extends QueuedStarts, RunForks, WorkflowStarts {
  list(): WorkflowSummary[];
  get(name: string): WorkflowSummary;
  schema(name: string): Promise<WorkflowSchemas>;
  /** What its open runs have by `svc.version`. */
  changes(name: string): Promise<Changes>;
  /** Up to `MOST_STARTS` starts, each by itself and each a request of the caller's limits. Throws what refuses all of them. */
  startMany(asked: ManyAsked): Promise<ManyStarted>;
  /**
   * A new run of a finished one; or, from the start, of a blocked one, which ends as cancelled then. Throws
   * `run_not_found`, `run_not_final` while it goes on, and `run_not_retryable` for a turn of an agent that has answered,
   * or whose session has gone on since, and for the delivery of an event from its start.
   */
  retry(runId: string, from: 'failed-step' | 'start', how?: RetryHow): Promise<StartReceipt>;
  /** Whether that key has started it again. */
  isRetried(runId: string, idempotencyKey: string): Promise<boolean>;
  /** The input as the workflow will get it. Throws what a start with it would. */
  check(name: string, input: unknown): Promise<unknown>;
  /** Throws where a start would, whatever its input. */
  requireStart(name: string): void;
  /** Throws as a start would, and `workflow_not_chat` when the workflow holds no conversation. */
  requireChat(name: string): void;
}

export interface WorkflowsOptions {
  catalog: Catalog;
  engine: Engine;
  journal: Journal;
  isArmed(): boolean;
  /** Absent: nothing has limits. */
  limiter?: Pick<Limiter, 'admitAs'>;
  retryTurn: RetryTurn;
  /** Absent: there are no rules. */
  guardrails?: StartGuardrails;
  log: Log;
}

export function createWorkflows({
  catalog,
  engine,
  journal,
  isArmed,
  retryTurn,
  limiter,
  guardrails,
  log,
}: WorkflowsOptions): Workflows {
  /** A run that is blocked, or waits for code, and is started again ends as cancelled: its lock is free for the new one. */
  const giveUp = async (run: RunRow, from: 'failed-step' | 'start'): Promise<void> => {
    if (from !== 'start')
      throw new BoxError(
        'run_not_final',
        `The run ${run.status === 'blocked' ? 'is blocked' : 'waits for its code'}: no step of it has failed. Retry it with "from": "start", or resume it on the current code.`,
      );
    await engine.cancel(run.runId, Object.assign(new Error('The run was started again.'), { code: 'run_restarted' }));
  };
  const find = (name: string): LoadedWorkflow => {
    const workflow = catalog.findWorkflow(name);
    if (workflow) return workflow;
    // Nothing is loaded yet: whether there is one is not known.
    throw isArmed() ? workflowNotFound(name, catalog) : notArmed();
  };
  const requireStart = (name: string): void => {
    if (!isArmed()) throw notArmed();
    definitionOf(find(name));
  };
  const starts = createWorkflowStarts({ engine, journal, guardrails, isArmed, find });
  return {
    ...createQueuedStarts({ journal, engine, find }),
    ...starts,
    async startMany(asked) {
      requireStart(asked.name);
      await limiter?.admitAs(asked.caller.limited ?? [], asked.items.length);
      return startMany({ starts, log }, asked);
    },
    ...createRunForks({
      engine,
      journal,
      requireStart,
      async toInput(name, input) {
        const { value, heldBy } = await judgeStart(guardrails, name, input);
        return { input: await checkInput(name, definitionOf(find(name)), value), marks: toHeldMark(heldBy) };
      },
      lockOf: (name, input) => flowOf(name, withLockOnly(definitionOf(find(name))), input, {}),
      toAnswer: (name, result, idempotencyKey) => toAnswer(name, result, { now: engine.clock.now(), idempotencyKey }),
    }),
    list: () => catalog.workflows().map(toSummary),
    get: (name) => toSummary(find(name)),
    async schema(name) {
      const { inputSchema, outputSchema, stateSchema } = definitionOf(find(name));
      return {
        input: inputSchema ? await toJsonSchema(inputSchema, 'input') : null,
        output: outputSchema ? await toJsonSchema(outputSchema, 'output') : null,
        ...(stateSchema ? { state: await toJsonSchema(stateSchema, 'output') } : {}),
      };
    },
    changes: async (name) => listChanges(journal.code, { name, codeHash: find(name).definition?.codeHash }),
    check: async (name, input) => checkInput(name, definitionOf(find(name)), input),
    async retry(runId, from, { caller, idempotencyKey } = {}) {
      if (!isArmed()) throw notArmed();
      // A run that has continued as another is that one.
      const run = await journal.getLastRun(runId);
      if (!run) throw new BoxError('run_not_found', `There is no run "${runId}".`);
      if (run.status === 'blocked' || waitsForCode(run)) await giveUp(run, from);
      else if (!isFinal(run.status))
        throw new BoxError('run_not_final', `The run is ${run.status}; a run that has ended can be retried.`);
      if (run.kind === 'agent') return toTurnReceipt(await retryTurn({ run, from, idempotencyKey, caller }));
      // Who retries does not wait: of what limits the starts, only the lock counts.
      const input = decode(await engine.whole(run.input));
      const flow =
        retryFlowOf(run, from, input) ?? flowOf(run.name, withLockOnly(definitionOf(find(run.name))), input, {});
      const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
      const retriedBy = caller ? { retriedBy: toStartedBy(caller) } : {};
      const result = await startFlow({ engine, isOwn: () => true, isOwnStart: async () => true }, flow, ({ serial }) =>
        engine.retry(run, from, { ...keyed, ...retriedBy, ...(serial && { serial }) }),
      );
      return toAnswer(run.name, result, { now: engine.clock.now(), idempotencyKey, id: ownIdOf(run) });
    },
    async isRetried(runId, idempotencyKey) {
      const run = await journal.getLastRun(runId);
      return run !== undefined && engine.isRetried(run, idempotencyKey);
    },
    requireStart,
    requireChat(name) {
      if (!isArmed()) throw notArmed();
      if (definitionOf(find(name)).mode !== 'chat')
        throw new BoxError(
          'workflow_not_chat',
          `Workflow "${name}" holds no conversation. Start it with ${startRoute(name)}.`,
        );
    },
  };
}

// --- internal ---

/** Of one that does not load, what the version that is served has. */
function toSummary({ entry, definition, problem, served = entry }: LoadedWorkflow): WorkflowSummary {
  return {
    name: entry.name,
    trigger: startRoute(entry.name),
    hasSchema: served.hasInputSchema || served.hasOutputSchema || served.hasStateSchema === true,
    mode: definition?.mode ?? 'task',
    serial: definition?.serial !== undefined,
    ...toLimits(definition?.flow),
    schedules: definition?.schedules.length ?? 0,
    event: definition?.on?.event ?? null,
    steps: served.steps.map(({ id, name }) => ({ id, name })),
    state: !problem ? 'ready' : definition ? 'stale' : 'failed',
    problem: problem ?? null,
  };
}

function toLimits(flow: FlowPolicy = {}): Pick<WorkflowSummary, 'concurrency' | 'throttle' | 'rateLimit' | 'debounce'> {
  const shown = <T extends { key?: unknown }>({ key, ...rest }: T) => ({ ...rest, isKeyed: key !== undefined });
  const { concurrency, throttle, rateLimit, debounce } = flow;
  return {
    concurrency: concurrency ? shown(concurrency) : null,
    throttle: throttle ? shown(throttle) : null,
    rateLimit: rateLimit ? shown(rateLimit) : null,
    debounce: debounce ? { timeoutMs: null, ...shown(debounce) } : null,
  };
}
