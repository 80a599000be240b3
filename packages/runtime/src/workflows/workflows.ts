import { isHidden } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import type { Catalog, LoadedWorkflow, WorkflowDefinition } from '../catalog/catalog.ts';
import type { WorkflowSummary } from '../catalog/workflow.ts';
import type { SerialPolicy } from '../definitions/workflow-settings.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import type { Body } from '../engine/body.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow, RunTrigger } from '../engine/journal/run.ts';
import type { CreateResult } from '../engine/journal/starts.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import { toIso, toJsonValue } from '../json-value.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import type { JsonSchema } from '../schema/schema.ts';
import { parseWith, toJsonSchema } from '../schema/schema.ts';
import { lockOf, startSerial } from './serial.ts';

export interface QueueEntry {
  triggerId: string;
  position: number;
  input: unknown;
  trigger: RunTrigger;
  createdAt: string;
}

export interface StartOptions {
  trigger: RunTrigger;
  idempotencyKey?: string;
  parentRunId?: string;
  /** Who starts it: keys of different callers never meet. */
  callerId?: string;
  /** The input is `{ args }`; a workflow with a schema takes the first of them. */
  isSpread?: boolean;
}

export interface Workflows {
  list(): WorkflowSummary[];
  get(name: string): WorkflowSummary;
  schema(name: string): Promise<{ input: JsonSchema | null; output: JsonSchema | null }>;
  start(name: string, input: unknown, options: StartOptions): Promise<StartReceipt>;
  /**
   * A new run of a finished one; or, from the start, of a blocked one, which ends as cancelled then. Throws
   * `run_not_found`, `run_not_final` while it goes on, and `run_not_retryable` for an
   * agent's turn.
   */
  retry(runId: string, from: 'failed-step' | 'start', idempotencyKey?: string): Promise<StartReceipt>;
  /** The input as the workflow will get it. Throws what a start with it would. */
  check(name: string, input: unknown): Promise<unknown>;
  /** Throws as a start would, and `workflow_not_chat` when the workflow holds no conversation. */
  requireChat(name: string): void;
  /** Queued starts of a serial workflow, in the order they will begin. */
  queue(name: string, hidden?: Hidden): Promise<QueueEntry[]>;
  /** Throws `trigger_not_found` when it waits no more. */
  dequeue(name: string, triggerId: string, hidden?: Hidden): Promise<void>;
}

export interface WorkflowsOptions {
  catalog: Catalog;
  engine: Engine;
  journal: Journal;
  isArmed(): boolean;
}

const QUEUE_LIMIT = 1_000;

export function createWorkflows({ catalog, engine, journal, isArmed }: WorkflowsOptions): Workflows {
  /** A blocked run that is begun anew ends as cancelled: its lock is free for the new one. */
  const giveUp = async (run: RunRow, from: 'failed-step' | 'start'): Promise<void> => {
    if (from !== 'start')
      throw new BoxError(
        'run_not_final',
        `The run is blocked: no step of it has failed. Retry it with "from": "start", or resume it on the current code.`,
      );
    await engine.cancel(run.runId, Object.assign(new Error('The run was begun anew.'), { code: 'run_restarted' }));
  };
  const find = (name: string): LoadedWorkflow => {
    const workflow = catalog.findWorkflow(name);
    if (workflow) return workflow;
    // Nothing is loaded yet: whether there is one is not known.
    throw isArmed() ? workflowNotFound(name, catalog) : notArmed();
  };
  const place = (
    name: string,
    policy: SerialPolicy | undefined,
    input: unknown,
    begin: (serial?: StartRequest['serial']) => Promise<CreateResult>,
  ): Promise<CreateResult> =>
    policy ? startSerial(engine, { key: lockOf(name, input, policy), onConflict: policy.onConflict, begin }) : begin();
  return {
    list: () => catalog.workflows().map(toSummary),
    get: (name) => toSummary(find(name)),
    async schema(name) {
      const { inputSchema, outputSchema } = definitionOf(find(name));
      return {
        input: inputSchema ? await toJsonSchema(inputSchema, 'input') : null,
        output: outputSchema ? await toJsonSchema(outputSchema, 'output') : null,
      };
    },
    async start(name, input, given) {
      if (!isArmed()) throw notArmed();
      const workflow = definitionOf(find(name));
      const { isSpread, callerId, ...options } = given;
      const value = await checkInput(name, workflow, isSpread ? firstOf(workflow, input) : input);
      const { idempotencyKey: key } = options;
      // A caller's key can never be one that the box makes for a timer or a child.
      const keyed =
        key === undefined ? {} : { idempotencyKey: [options.trigger, callerId, key].filter(Boolean).join(' ') };
      const request: StartRequest = {
        kind: 'workflow',
        name,
        input: value,
        body: toBody(workflow),
        ...options,
        ...keyed,
      };
      const result = await place(name, withoutQueue(workflow, options), value, (serial) =>
        engine.start({ ...request, ...(serial ? { serial } : {}) }),
      );
      return toAnswer(name, result, options.idempotencyKey);
    },
    async check(name, input) {
      return checkInput(name, definitionOf(find(name)), input);
    },
    async retry(runId, from, idempotencyKey) {
      if (!isArmed()) throw notArmed();
      const run = await journal.getRun(runId);
      if (!run) throw new BoxError('run_not_found', `There is no run "${runId}".`);
      if (run.kind !== 'workflow') throw notRetryable();
      if (run.status === 'blocked') await giveUp(run, from);
      else if (!isFinal(run.status))
        throw new BoxError('run_not_final', `The run is ${run.status}; a run that has ended can be retried.`);
      const { serial: policy } = definitionOf(find(run.name));
      const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
      const begin = (serial?: StartRequest['serial']) =>
        engine.retry(run, from, { ...keyed, ...(serial && { serial }) });
      return toAnswer(run.name, await place(run.name, policy, decode(run.input), begin), idempotencyKey);
    },
    requireChat(name) {
      if (!isArmed()) throw notArmed();
      if (definitionOf(find(name)).mode !== 'chat')
        throw new BoxError(
          'workflow_not_chat',
          `Workflow "${name}" holds no conversation. Start it with ${startRoute(name)}.`,
        );
    },
    async queue(name, hidden) {
      find(name);
      const all = await journal.queue.list({ name }, { limit: QUEUE_LIMIT });
      const starts = all.filter((start) => !isHidden(start, hidden));
      return starts.map(({ triggerId, input, trigger, createdAt }, position) => ({
        triggerId,
        position,
        input: toJsonValue(decode(input)),
        trigger,
        createdAt: toIso(createdAt),
      }));
    },
    async dequeue(name, triggerId, hidden) {
      find(name);
      const found = await journal.queue.find(triggerId);
      const isOwn = found && 'queued' in found && found.queued.name === name && !isHidden(found.queued, hidden);
      if (!isOwn || !(await engine.dequeue(triggerId)))
        throw new BoxError('trigger_not_found', `There is no queued start "${triggerId}" of "${name}".`);
    },
  };
}

/** What the engine runs: arguments as the author declared them. */
export function toBody(workflow: WorkflowDefinition): Body {
  const spread = !workflow.inputSchema;
  return {
    codeHash: workflow.codeHash,
    durability: workflow.durability,
    run: async (input) => (spread && isArgs(input) ? workflow.run(...input.args) : workflow.run(input)),
  };
}

/** The code of a run that continues. Throws why it cannot be had. */
export function workflowBody(catalog: Catalog, name: string): Body {
  const workflow = catalog.findWorkflow(name);
  if (!workflow) throw workflowNotFound(name, catalog);
  return toBody(definitionOf(workflow));
}

// --- internal ---

/** A conversation streams from its start, so it cannot wait in a queue. */
function withoutQueue({ serial }: WorkflowDefinition, { trigger }: StartOptions): SerialPolicy | undefined {
  return serial?.onConflict === 'queue' && trigger === 'chat' ? { ...serial, onConflict: 'reject' } : serial;
}

function toAnswer(name: string, result: CreateResult, idempotencyKey?: string): StartReceipt {
  if (result.outcome === 'created' || result.outcome === 'repeated') return toReceipt(result.run);
  if (result.outcome === 'idempotency_conflict') throw idempotencyConflict(idempotencyKey);
  if (result.outcome === 'refused') throw busy(name, result.holder);
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

function toSummary({ entry, definition, problem }: LoadedWorkflow): WorkflowSummary {
  return {
    name: entry.name,
    trigger: startRoute(entry.name),
    hasSchema: entry.hasInputSchema || entry.hasOutputSchema,
    mode: definition?.mode ?? 'task',
    serial: definition?.serial !== undefined,
    schedules: definition?.schedules.length ?? 0,
    steps: entry.steps.map(({ id, name }) => ({ id, name })),
    state: problem ? 'failed' : 'ready',
    problem: problem ?? null,
  };
}

function startRoute(name: string): string {
  return `POST /api/workflows/${name}/start`;
}

async function checkInput(name: string, workflow: WorkflowDefinition, input: unknown): Promise<unknown> {
  if (!workflow.inputSchema) return input;
  const parsed = await parseWith(workflow.inputSchema, input);
  if (parsed.ok) return parsed.value;
  throw new BoxError('workflow_input_invalid', `The input does not match the schema of workflow "${name}".`, {
    details: { issues: parsed.issues },
  });
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

function workflowNotFound(name: string, catalog: Catalog): BoxError {
  const names = catalog.workflows().map(({ entry }) => entry.name);
  const real =
    names.length > 0 ? `This box has ${names.map((known) => `"${known}"`).join(', ')}.` : 'This box has none.';
  return new BoxError('workflow_not_found', `There is no workflow "${name}". ${real}`, {
    details: { workflows: names },
  });
}

function notArmed(): BoxError {
  return new BoxError(
    'workflow_runtime_not_armed',
    'Workflows are held back until a model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.',
  );
}

function notRetryable(): BoxError {
  const message =
    'The run is a turn of an agent: its client was answered, and asks again by sending its messages again.';
  return new BoxError('run_not_retryable', message);
}

function busy(name: string, holder: RunRow): BoxError {
  return new BoxError(
    'workflow_busy',
    `Workflow "${name}" runs one at a time, and run ${holder.runId} has not ended.`,
    {
      details: { runId: holder.runId },
    },
  );
}

function isArgs(input: unknown): input is { args: unknown[] } {
  if (typeof input !== 'object' || input === null) return false;
  return Array.isArray((input as { args?: unknown }).args) && Object.keys(input).length === 1;
}
