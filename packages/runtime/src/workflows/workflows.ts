import type { RetryTurn } from '../agents/turn-retries.ts';
import { ownIdOf, toChargedMark } from '../engine/box-marks.ts';
import { chargedBy, isOfOwner, isOwnRun, scopeOf, toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { STARTED_BY_BOX, startedByOf } from '../engine/started-by.ts';
import type { StartedBy } from '../engine/started-by.ts';
import type { Catalog, LoadedWorkflow, WorkflowDefinition } from '../catalog/catalog.ts';
import type { WorkflowSchemas, WorkflowSummary } from '../catalog/workflow.ts';
import { CLEANUP_MS } from '../definitions/life-settings.ts';
import type { FlowPolicy } from '../definitions/flow-settings.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import type { Body } from '../engine/body.ts';
import { waitsForCode } from '../engine/worker/code-waits.ts';
import type { ChildStartHow } from '../engine/handle.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow, RunTrigger } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import type { RetryHow } from '../runs/control-operations.ts';
import type { RunForks } from '../runs/fork-operations.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import { toJsonSchema } from '../schema/schema.ts';
import { toTraceId } from '../engine/ids.ts';
import { listChanges } from './changes.ts';
import { toHeldMark } from '../approvals/held-text.ts';
import type { Changes } from './changes.ts';
import { checkInput, checkOutput, checkState } from './checks.ts';
import { holdStart } from './held-start.ts';
import { judgeStart } from './judge-start.ts';
import type { StartGuardrails } from './judge-start.ts';
import { flowOf, startFlow } from './flow.ts';
import { createRunForks } from './forks.ts';
import type { FlowResult } from './flow.ts';
import { busy, idTaken, limited, notArmed, workflowNotFound } from './refusals.ts';
import { readStartHow, toClosePolicy } from './start-options.ts';
import type { VersionedRun, Versions } from '../versions/versions.ts';
import { createQueuedStarts } from './queued-starts.ts';
import type { QueuedStarts } from './queued-starts.ts';

export interface StartOptions extends ChildStartHow {
  trigger: RunTrigger;
  idempotencyKey?: string;
  parentRunId?: string;
  /** Who starts it: keys of different callers never meet. Absent: the box. */
  caller?: Caller;
  /** Of a start by code: who made that run. */
  onBehalfOf?: StartedBy | undefined;
  /** Of a start by a timer: who had that armed over MCP. */
  armedBy?: StartedBy['armedBy'];
  /** The input is `{ args }`; a workflow with a schema takes the first of them. */
  isSpread?: boolean;
}

export interface Workflows extends QueuedStarts, RunForks {
  list(): WorkflowSummary[];
  get(name: string): WorkflowSummary;
  schema(name: string): Promise<WorkflowSchemas>;
  /** What its open runs have by `svc.version`. */
  changes(name: string): Promise<Changes>;
  start(name: string, input: unknown, options: StartOptions): Promise<StartReceipt>;
  /**
   * A new run of a finished one; or, from the start, of a blocked one, which ends as cancelled then. Throws
   * `run_not_found`, `run_not_final` while it goes on, and `run_not_retryable` for a turn of an agent that has answered,
   * or whose session has gone on since.
   */
  retry(runId: string, from: 'failed-step' | 'start', how?: RetryHow): Promise<StartReceipt>;
  /** Whether that key has started it anew. */
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
  retryTurn: RetryTurn;
  /** Absent: there are no rules. */
  guardrails?: StartGuardrails;
}

export function createWorkflows({
  catalog,
  engine,
  journal,
  isArmed,
  retryTurn,
  guardrails,
}: WorkflowsOptions): Workflows {
  /** A run that is blocked, or waits for code, and is begun anew ends as cancelled: its lock is free for the new one. */
  const giveUp = async (run: RunRow, from: 'failed-step' | 'start'): Promise<void> => {
    if (from !== 'start')
      throw new BoxError(
        'run_not_final',
        `The run ${run.status === 'blocked' ? 'is blocked' : 'waits for its code'}: no step of it has failed. Retry it with "from": "start", or resume it on the current code.`,
      );
    await engine.cancel(run.runId, Object.assign(new Error('The run was begun anew.'), { code: 'run_restarted' }));
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
  return {
    ...createQueuedStarts({ journal, engine, find }),
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
    async start(name, input, given) {
      if (!isArmed()) throw notArmed();
      const workflow = definitionOf(find(name));
      const { isSpread, caller, trigger, idempotencyKey: key, parentRunId, parentClosePolicy, ...rest } = given;
      const { armedBy, onBehalfOf, ...how } = rest;
      const closePolicy = toClosePolicy(parentClosePolicy);
      const flow = (value: unknown) => flowOf(name, withoutQueue(workflow, trigger), value, readStartHow(how));
      const judged = await judgeStart(guardrails, name, isSpread ? firstOf(workflow, input) : input);
      const value = await checkInput(name, workflow, judged.value);
      const marks = { ...(caller && toChargedMark(chargedBy(caller))), ...toHeldMark(judged.heldBy) };
      const request: StartRequest = {
        kind: 'workflow',
        name,
        trigger,
        input: value,
        body: toBody(name, workflow),
        ...(parentRunId === undefined ? {} : { parentRunId, closePolicy }),
        ...(armedBy ? { startedBy: { ...STARTED_BY_BOX, armedBy } } : {}),
        ...(caller ? { startedBy: toStartedBy(caller) } : {}),
        attributes: marks,
        ...(key === undefined ? {} : { idempotencyKey: toScoped(key, trigger, caller) }),
      };
      const isOwn = (start: Pick<RunRow, 'startedBy'>): boolean =>
        caller ? isOwnRun(caller, startedByOf(start)) : isOfOwner(onBehalfOf, startedByOf(start));
      const isOwnStart = async (triggerId: string): Promise<boolean> => {
        // Whoever meets those of the box meets all.
        if (isOwn({ startedBy: null })) return true;
        const start = await journal.queue.find(triggerId);
        return start !== undefined && isOwn('run' in start ? start.run : start.queued);
      };
      const begin = (more: Partial<StartRequest>) => engine.start({ ...request, ...more });
      const result = await startFlow({ engine, isOwn, isOwnStart }, flow(value), begin);
      return toAnswer(name, result, { now: engine.clock.now(), idempotencyKey: key, id: how.id, isOwn });
    },
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
      const flow = flowOf(run.name, withLockOnly(definitionOf(find(run.name))), input, {});
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

/** What the engine runs: arguments as the author declared them. */
export function toBody(name: string, workflow: WorkflowDefinition): Body {
  const spread = !workflow.inputSchema;
  return {
    codeHash: workflow.codeHash,
    registry: workflow.registry,
    durability: workflow.durability,
    check: (input) => checkInput(name, workflow, input),
    checkState: (state) => checkState(name, workflow, state),
    async run(input) {
      const held = holdStart(name, input);
      if (held) await held;
      const output: unknown = await (spread && isArgs(input) ? workflow.run(...input.args) : workflow.run(input));
      return checkOutput(name, workflow, output);
    },
  };
}

/** What a cancelled run has to clean up, in milliseconds: what its workflow says, should it be known here. */
export function cleanupOf(catalog: Catalog, { kind, name }: Pick<RunRow, 'kind' | 'name'>): number {
  return kind === 'agent' ? 0 : (catalog.findWorkflow(name)?.definition?.cleanupMs ?? CLEANUP_MS);
}

/** The newest code of a workflow. Throws why it cannot be had. */
export function workflowBody(catalog: Catalog, name: string): Body {
  const workflow = catalog.findWorkflow(name);
  if (!workflow) throw workflowNotFound(name, catalog);
  return toBody(name, definitionOf(workflow));
}

/** The code of a run that continues: what it began with, where that is kept. Throws why it cannot be had. */
export async function bodyOfRun(
  catalog: Catalog,
  versions: Pick<Versions, 'findWorkflow'>,
  run: VersionedRun,
): Promise<Body> {
  const { name } = run;
  const own = await versions.findWorkflow(run);
  if (!own) return workflowBody(catalog, name);
  const body = toBody(name, own);
  return {
    ...body,
    // Where the workflow is gone, a chain goes on with what it has.
    newest: async () => (catalog.findWorkflow(name)?.definition ? workflowBody(catalog, name) : body),
  };
}

// --- internal ---

/** A caller's key can never be another caller's, nor one that the box makes for a timer or a child. */
function toScoped(key: string, trigger: RunTrigger, caller: Caller | undefined): string {
  return [trigger, ...(caller ? [scopeOf(caller)] : []), key].join(' ');
}

/** A conversation streams from its start, so it cannot wait in a queue. */
function withoutQueue(workflow: WorkflowDefinition, trigger: RunTrigger): WorkflowDefinition {
  const { serial, flow } = workflow;
  if (trigger !== 'chat') return workflow;
  return {
    ...workflow,
    ...(serial?.onConflict === 'queue' ? { serial: { ...serial, onConflict: 'reject' } } : {}),
    flow: { ...flow, ...(flow.concurrency && { concurrency: { ...flow.concurrency, onConflict: 'reject' } }) },
  };
}

function withLockOnly(workflow: WorkflowDefinition): WorkflowDefinition {
  const { concurrency } = workflow.flow;
  return { ...workflow, flow: concurrency ? { concurrency } : {} };
}

/** What was asked, for the words of a refusal. */
interface Asked {
  now: number;
  idempotencyKey?: string | undefined;
  id?: string | undefined;
  /** Whether a run that is in the way may be named. Default: all may. */
  isOwn?: (run: RunRow) => boolean;
}

function toAnswer(name: string, result: FlowResult, asked: Asked): StartReceipt {
  const { isOwn = () => true } = asked;
  // Joined to, a run of another caller would be named.
  if (result.outcome === 'repeated' && !isOwn(result.run))
    throw asked.id === undefined ? busy(name) : idTaken(name, asked.id);
  if (result.outcome === 'created' || result.outcome === 'repeated') return toReceipt(result.run);
  if (result.outcome === 'idempotency_conflict') throw idempotencyConflict(asked.idempotencyKey);
  if (result.outcome === 'refused') throw busy(name, isOwn(result.holder) ? result.holder : undefined);
  if (result.outcome === 'limited') throw limited(name, result.retryAt, asked.now);
  if (result.outcome === 'id_taken_by_other') throw idTaken(name, asked.id);
  if (result.outcome === 'id_used') throw idTaken(name, asked.id, isOwn(result.run) ? result : undefined);
  if (result.outcome === 'id_taken') throw idTaken(name, asked.id, result);
  // A child that was started and deleted is not started again: what waits for it finds none.
  if (result.outcome === 'gone') return toReceipt({ runId: result.startId, traceId: toTraceId(result.startId), name });
  return { workflowName: name, status: 'queued', triggerId: result.triggerId, trigger: startRoute(name) };
}

function toReceipt(run: Pick<RunRow, 'runId' | 'traceId' | 'name'>): StartReceipt {
  return {
    workflowName: run.name,
    status: 'started',
    runId: run.runId,
    worldRunId: run.traceId,
    trigger: startRoute(run.name),
  };
}

/** Of a turn, which no route of a workflow starts. */
function toTurnReceipt(run: RunRow): StartReceipt {
  return { ...toReceipt(run), trigger: `POST /api/runs/${run.retryOf}/retry` };
}

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

function startRoute(name: string): string {
  return `POST /api/workflows/${name}/start`;
}

function firstOf({ inputSchema }: WorkflowDefinition, input: unknown): unknown {
  return inputSchema && isArgs(input) ? input.args[0] : input;
}

function definitionOf({ entry, definition, problem }: LoadedWorkflow): WorkflowDefinition {
  if (definition) return definition;
  const place = problem ? `${problem.file}:${problem.line}: ${problem.message}` : 'It did not load.';
  throw new BoxError('workflow_compile_failed', `Workflow "${entry.name}" does not compile. ${place}`, {
    details: { problem },
  });
}

function isArgs(input: unknown): input is { args: unknown[] } {
  if (typeof input !== 'object' || input === null) return false;
  return Array.isArray((input as { args?: unknown }).args) && Object.keys(input).length === 1;
}
