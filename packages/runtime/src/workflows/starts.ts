import { chargedBy, isOfOwner, isOwnRun, scopeOf, toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { LoadedWorkflow, WorkflowDefinition } from '../catalog/catalog.ts';
import { toHeldMark } from '../approvals/held-text.ts';
import { toChargedMark } from '../engine/box-marks.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import type { ChildStartHow } from '../engine/handle.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow, RunTrigger } from '../engine/journal/run.ts';
import { STARTED_BY_BOX, startedByOf } from '../engine/started-by.ts';
import type { StartedBy } from '../engine/started-by.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import { toAnswer } from './answers.ts';
import { firstOf, toBody } from './body.ts';
import { checkInput } from './checks.ts';
import { flowOf, startFlow } from './flow.ts';
import { judgeStart } from './judge-start.ts';
import type { StartGuardrails } from './judge-start.ts';
import { definitionOf, notArmed } from './refusals.ts';
import { orUnknown } from './unknown-start.ts';
import { readStartHow, toClosePolicy } from './start-options.ts';

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

/** A start that is judged and checked, and not made. */
export type PreparedStart = () => Promise<StartReceipt>;

export interface WorkflowStarts {
  start(name: string, input: unknown, options: StartOptions): Promise<StartReceipt>;
  /** All of a start but the last part, which writes it. Throws as a start does. */
  prepare(name: string, input: unknown, options: StartOptions): Promise<PreparedStart>;
}

export interface WorkflowStartsOptions {
  engine: Engine;
  journal: Journal;
  guardrails: StartGuardrails | undefined;
  isArmed(): boolean;
  /** Throws where there is none. */
  find(name: string): LoadedWorkflow;
}

/** How workflows are started, whoever asks for it. */
export function createWorkflowStarts(options: WorkflowStartsOptions): WorkflowStarts {
  const { engine, journal, guardrails, isArmed, find } = options;
  const prepare: WorkflowStarts['prepare'] = async (name, input, given) => {
    if (!isArmed()) throw notArmed();
    const workflow = definitionOf(find(name));
    const { isSpread, caller, trigger, idempotencyKey: key, parentRunId, parentClosePolicy, ...rest } = given;
    const { armedBy, onBehalfOf, ...how } = rest;
    const closePolicy = toClosePolicy(parentClosePolicy);
    const choices = readStartHow(how);
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
    const flow = flowOf(name, withoutQueue(workflow, trigger), value, choices);
    const begin = (more: Partial<StartRequest>) =>
      orUnknown({ ...request, ...more }, key, (start) => engine.start(start));
    return async () => {
      const result = await startFlow({ engine, isOwn, isOwnStart }, flow, begin);
      return toAnswer(name, result, { now: engine.clock.now(), idempotencyKey: key, id: how.id, isOwn });
    };
  };
  return {
    prepare,
    start: async (name, input, given) => (await prepare(name, input, given))(),
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
