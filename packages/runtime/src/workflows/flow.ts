import type { WorkflowDefinition } from '../catalog/catalog.ts';
import type { ReadKey } from '../definitions/flow-settings.ts';
import type { ConflictPolicy } from '../definitions/workflow-settings.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { CreateResult } from '../engine/journal/starts.ts';
import { BoxError } from '../errors.ts';
import type { StartChoices } from './start-options.ts';

/** What a start waits for, may be refused for, and is called. */
export interface Flow {
  request: Pick<StartRequest, 'serial' | 'timing' | 'timeoutMs' | 'ownId'>;
  onConflict: ConflictPolicy;
  replacesId: boolean;
}

/** What a workflow declares and a caller asks for, as the engine is asked. Throws `workflow_input_invalid` when a key function names none for the input. */
export function flowOf(name: string, workflow: WorkflowDefinition, input: unknown, choices: StartChoices): Flow {
  const { serial, flow, timeoutMs } = workflow;
  const { priority, delayMs, at, id, onConflict = 'reject', reuse = 'always', timeoutMs: most = timeoutMs } = choices;
  const lock = serial ? { limit: 1, setting: 'serial', ...serial } : { setting: 'concurrency', ...flow.concurrency };
  const keyOf = (setting: string, key: ReadKey | undefined): string => keyFor(name, { setting, key }, input);
  const timing: NonNullable<StartRequest['timing']> = {
    ...(priority === undefined ? {} : { priority }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(at === undefined ? {} : { at }),
    ...(flow.rateLimit && { rateLimit: { ...flow.rateLimit, key: `limit ${keyOf('rateLimit', flow.rateLimit.key)}` } }),
    ...(flow.throttle && { throttle: { ...flow.throttle, key: `throttle ${keyOf('throttle', flow.throttle.key)}` } }),
    ...(flow.debounce && { debounce: { ...flow.debounce, key: keyOf('debounce', flow.debounce.key) } }),
  };
  const whenTaken = lock.onConflict === 'queue' ? 'queue' : 'refuse';
  return {
    request: {
      ...(lock.limit === undefined
        ? {}
        : { serial: { key: keyOf(lock.setting, lock.key), whenTaken, limit: lock.limit } }),
      ...(Object.keys(timing).length > 0 ? { timing } : {}),
      ...(most === undefined ? {} : { timeoutMs: most }),
      ...(id === undefined ? {} : { ownId: { id, whenOpen: onConflict === 'join' ? 'join' : 'refuse', reuse } }),
    },
    onConflict: lock.onConflict ?? 'queue',
    replacesId: onConflict === 'replace',
  };
}

export type FlowResult = CreateResult | { outcome: 'id_taken_by_other' };

export interface FlowStarts {
  engine: Pick<Engine, 'cancel' | 'dequeue'>;
  /** Whether the run is the caller's: one of another is neither named nor replaced. */
  isOwn(run: RunRow): boolean;
  isOwnStart(triggerId: string): Promise<boolean>;
}

/** Starts a run, and does what the author and the caller chose about those that are in its way. */
export async function startFlow(
  { engine, isOwn, isOwnStart }: FlowStarts,
  { request, onConflict, replacesId }: Flow,
  begin: (flow: Flow['request']) => Promise<CreateResult>,
): Promise<FlowResult> {
  for (;;) {
    const result = await begin(request);
    // What is in the way may end, and another start may come before this one, before this one comes again.
    if (result.outcome === 'id_taken') {
      const { start } = result;
      const isTheirs = 'run' in start ? isOwn(start.run) : await isOwnStart(start.triggerId);
      if (!isTheirs) return { outcome: 'id_taken_by_other' };
      if (!replacesId) return result;
      if ('run' in start) await engine.cancel(start.run.runId, replaced('with its id'));
      else await engine.dequeue(start.triggerId);
    } else if (result.outcome === 'refused' && onConflict === 'replace' && isOwn(result.holder))
      await engine.cancel(result.holder.runId, replaced('of this serial workflow'));
    else if (result.outcome === 'refused' && onConflict === 'join') return { outcome: 'repeated', run: result.holder };
    else return result;
  }
}

/** Who retries does not wait: of what limits the starts, only the lock counts. */
export function withLockOnly(workflow: WorkflowDefinition): WorkflowDefinition {
  const { concurrency } = workflow.flow;
  return { ...workflow, flow: concurrency ? { concurrency } : {} };
}

// --- internal ---

/** The name of the workflow and the part an input chooses. */
function keyFor(name: string, { setting, key }: { setting: string; key: ReadKey | undefined }, input: unknown): string {
  if (!key) return name;
  const noKey = (what: string): BoxError =>
    new BoxError(
      'workflow_input_invalid',
      `"${setting}.key" of workflow "${name}" ${what} for this input; it must answer text.`,
      { details: { issues: [{ path: [], message: `The input names no ${setting} key.` }] } },
    );
  let part: unknown;
  try {
    part = Reflect.apply(key, undefined, toArguments(input));
  } catch (error) {
    throw noKey(`threw "${error instanceof Error ? error.message : String(error)}"`);
  }
  if (typeof part === 'string' || typeof part === 'number') return `${name}:${part}`;
  throw noKey(`answered ${part === null ? 'null' : typeof part}`);
}

/** As the workflow is given them: code starts it with positional arguments. */
function toArguments(input: unknown): unknown[] {
  if (typeof input !== 'object' || input === null || Object.keys(input).length !== 1) return [input];
  const { args } = input as { args?: unknown };
  return Array.isArray(args) ? args : [input];
}

function replaced(what: string): Error {
  return Object.assign(new Error(`A newer start ${what} replaced the run.`), { code: 'run_replaced' });
}
