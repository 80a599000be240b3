import { z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { BoxError, invalidCursor } from '../errors.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, Page, withoutUndefined } from '../operations/inputs.ts';
import { Run } from './run.ts';
import { Step } from './steps.ts';
import { Span } from './timeline.ts';
import { StartReceipt } from './start-receipt.ts';
import type { Runs } from './runs.ts';

export interface RetryHow {
  /** Who asks for it. Absent: the box. */
  caller?: Caller;
  idempotencyKey?: string;
}

/** Starts runs again: a room above, which knows the code of the workflows. */
export interface Retries {
  retry(runId: string, from: 'failed-step' | 'start', how: RetryHow): Promise<StartReceipt>;
  /** Whether that key has started it again. */
  isRetried(runId: string, idempotencyKey: string): Promise<boolean>;
}

const operation = operationsOf<{ runs: Runs; workflows: Retries }>();

const id = z.string().describe('The run id');
/** The number of a call, as a text. */
const CALL = /^\d{1,9}$/;

const StepLimit = z.coerce
  .number()
  .int()
  .min(1)
  .max(1_000)
  .default(200)
  .describe('Most steps of a page; those of many megabytes end it before');

const room = { tag: 'runs', copilot: 'yes' } as const;
/** The run has them, for who may read it there. */
const TEXTS = ['input', 'output'];

export const listRunSteps = operation({
  ...room,
  id: 'runs.steps',
  summary: 'List the steps of a run in order, with attempt, times, status and tokens',
  route: 'GET /api/runs/:id/steps',
  kind: 'read',
  permission: 'runs:read',
  cli: 'runs steps',
  errors: ['run_not_found', 'invalid_cursor'],
  input: z.strictObject({ id, limit: StepLimit, cursor: Page.cursor }),
  output: z.object({ items: z.array(Step), nextCursor: z.string().nullable() }),
  async handle({ runs }, { limit, cursor, ...input }) {
    if (cursor !== undefined && !CALL.test(cursor)) throw invalidCursor(cursor);
    const { items, next } = await runs.steps(input.id, { limit, after: cursor === undefined ? -1 : Number(cursor) });
    return { items, nextCursor: next === null ? null : String(next) };
  },
});

export const getRunStep = operation({
  ...room,
  id: 'runs.step',
  summary: 'Get one step with its input, output and error',
  route: 'GET /api/runs/:id/steps/:stepId',
  kind: 'read',
  permission: 'runs:read',
  cli: 'runs step',
  errors: ['run_not_found', 'not_found'],
  input: z.strictObject({ id, stepId: z.string().describe('The number of the call, as `runs.steps` lists it') }),
  output: Step,
  async handle({ runs }, input) {
    const step = CALL.test(input.stepId) ? await runs.findStep(input.id, Number(input.stepId)) : undefined;
    // Whether there is the run is said first.
    if (!step) await runs.steps(input.id, { limit: 1 });
    if (!step) throw new BoxError('not_found', `The run has no step "${input.stepId}".`);
    return step;
  },
});

export const getRunTimeline = operation({
  ...room,
  id: 'runs.timeline',
  summary: 'Get the spans of a run: its steps, model calls, tools, waits and child runs',
  route: 'GET /api/runs/:id/timeline',
  kind: 'read',
  permission: 'runs:read',
  errors: ['run_not_found'],
  input: z.strictObject({
    id,
    after: z.coerce
      .number()
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('`seq` of an answer before: the run, its child runs, and those calls alone that have changed since'),
  }),
  output: z.object({
    items: z.array(Span),
    nextCursor: z.null(),
    seq: z.int().describe('For `after` of the next request'),
    isWhole: z
      .boolean()
      .describe(
        'False: calls that are not listed are unchanged, and a child run whose parent is the run may belong to a call that an earlier answer listed',
      ),
  }),
  handle: async ({ runs }, input) => ({ ...(await runs.timeline(input.id, input.after)), nextCursor: null }),
});

export const cancelRun = operation({
  ...room,
  id: 'runs.cancel',
  summary: 'Cancel a run and the runs it started',
  route: 'POST /api/runs/:id/cancel',
  kind: 'write',
  permission: 'runs:cancel',
  confirm: true,
  cli: 'runs cancel',
  keys: true,
  errors: ['run_not_found', 'run_final'],
  input: z.strictObject({ id }),
  output: Run,
  secret: TEXTS,
  settles: { isDone: async ({ runs }, input) => (await runs.endOf(input.id)) === 'cancelled' },
  handle: ({ runs }, input) => runs.cancel(input.id),
});

export const retryRun = operation({
  ...room,
  id: 'runs.retry',
  summary: 'Start a new run that keeps what a finished one recorded, up to the step that failed',
  route: 'POST /api/runs/:id/retry',
  kind: 'write',
  permission: 'runs:retry',
  cli: 'runs retry',
  status: 202,
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'run_not_found',
    'run_not_final',
    'run_not_retryable',
    'workflow_not_found',
    'workflow_compile_failed',
    'workflow_runtime_not_armed',
    'shutting_down',
  ],
  input: z.strictObject({
    id,
    from: z.enum(['failed-step', 'start']).default('failed-step'),
    idempotencyKey: IdempotencyKey,
  }),
  output: StartReceipt,
  settles: 'again',
  handle: ({ workflows }, { id: runId, from, idempotencyKey }, { caller }) =>
    workflows.retry(runId, from, withoutUndefined({ caller, idempotencyKey })),
});

export const pauseRun = operation({
  ...room,
  id: 'runs.pause',
  summary: 'Pause a run: it begins no further step, and what is due or resumed waits, until it is resumed',
  route: 'POST /api/runs/:id/pause',
  kind: 'write',
  permission: 'runs:cancel',
  cli: 'runs pause',
  errors: ['run_not_found', 'run_final'],
  input: z.strictObject({ id }),
  output: Run,
  secret: TEXTS,
  settles: { isDone: async ({ runs }, input) => (await runs.find(input.id))?.pausedAt != null },
  handle: ({ runs }, input) => runs.pause(input.id),
});

export const resumeRun = operation({
  ...room,
  id: 'runs.resume',
  summary: 'Continue a paused run, or on the current code one that is blocked or whose own code does not load',
  route: 'POST /api/runs/:id/resume',
  kind: 'write',
  permission: 'runs:retry',
  cli: 'runs resume',
  errors: ['run_not_found', 'run_not_blocked'],
  input: z.strictObject({ id }),
  output: Run,
  secret: TEXTS,
  settles: {
    async isDone({ runs }, input) {
      const run = await runs.find(input.id);
      return run !== undefined && run.pausedAt === null && run.status !== 'blocked' && !isForCode(run);
    },
  },
  handle: ({ runs }, input) => runs.resume(input.id),
});

export const deleteRun = operation({
  ...room,
  id: 'runs.delete',
  summary: 'Delete a finished run with its steps',
  route: 'DELETE /api/runs/:id',
  kind: 'write',
  permission: 'runs:delete',
  confirm: true,
  cli: 'runs delete',
  errors: ['run_not_found', 'run_not_final'],
  input: z.strictObject({ id }),
  output: z.object({ runId: z.string(), deleted: z.literal(true) }),
  settles: { isDone: async ({ runs }, input) => !(await runs.find(input.id)) },
  async handle({ runs }, input) {
    await runs.delete(input.id);
    return { runId: input.id, deleted: true as const };
  },
});

// --- internal ---

function isForCode({ status, waitingFor }: z.output<typeof Run>): boolean {
  return status === 'waiting' && (waitingFor as { type?: string } | null)?.type === 'code';
}
