import { z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, withoutUndefined } from '../operations/inputs.ts';
import { ForkKind, ForkPreview } from './fork-plan.ts';
import { StartReceipt } from './start-receipt.ts';

export interface ForkHow {
  /** The number of a step, its name where the run has one step of it, or `start`. */
  from: string;
  /** `rewind`: the run itself ends. */
  as: ForkKind;
  /** Of the preview. */
  etag: string;
  /** The arguments of the step, in the place of those it was given. */
  args?: unknown[];
  /** What the fork is started with; from the start alone. */
  input?: unknown;
  /** Who asks for it. Absent: the box. */
  caller?: Caller;
  idempotencyKey?: string;
}

/** Runs made of others: a room above, which knows the code of the workflows. */
export interface RunForks {
  /** Throws `run_not_found`, `not_found` for the step, and `run_not_forkable`. */
  previewFork(runId: string, how: Pick<ForkHow, 'from' | 'as'>): Promise<ForkPreview>;
  /** The same, and `run_changed` where the etag is of another state of the run. */
  fork(runId: string, how: ForkHow): Promise<StartReceipt>;
}

const operation = operationsOf<{ workflows: RunForks }>();

const id = z.string().describe('The run id');
const from = z
  .string()
  .min(1)
  .max(300)
  .describe('The number of a step as `runs.steps` lists it, its name where the run has one of it, or `start`');

const room = { tag: 'runs', copilot: 'yes' } as const;

export const previewFork = operation({
  ...room,
  id: 'runs.fork_preview',
  summary: 'Show what a fork or a rewind of a run from a step would take of it, and what it would execute again',
  route: 'GET /api/runs/:id/fork',
  kind: 'read',
  permission: 'runs:read',
  errors: ['run_not_found', 'not_found', 'run_not_forkable', 'workflow_runtime_not_armed', 'workflow_not_found'],
  input: z.strictObject({ id, from, as: ForkKind.default('fork') }),
  output: ForkPreview,
  handle: ({ workflows }, { id: runId, ...how }) => workflows.previewFork(runId, how),
});

const input = z.strictObject({
  id,
  from,
  etag: z.string().min(1).max(64).describe('`etag` of the preview: what was seen is what is done'),
  args: z
    .array(z.unknown())
    .max(100)
    .optional()
    .describe('Arguments for that step in the place of its own, in order. Parts left as shown keep their type'),
  input: z.unknown().optional().describe('From `start` alone: what it is started with in the place of its own input'),
  idempotencyKey: IdempotencyKey,
});

const write = {
  ...room,
  kind: 'write',
  permission: 'runs:retry',
  confirm: true,
  status: 202,
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'run_not_found',
    'not_found',
    'run_not_forkable',
    'run_changed',
    'workflow_not_found',
    'workflow_compile_failed',
    'workflow_input_invalid',
    'workflow_runtime_not_armed',
    'workflow_busy',
    'idempotency_conflict',
    'shutting_down',
  ],
  settles: 'again',
} as const;

export const forkRun = operation({
  ...write,
  id: 'runs.fork',
  summary:
    'Start a new run that takes what a run has recorded up to a step, and goes on from there by the present code',
  route: 'POST /api/runs/:id/fork',
  input,
  output: StartReceipt,
  handle: ({ workflows }, { id: runId, ...how }, { caller }) =>
    workflows.fork(runId, { ...withoutUndefined(how), as: 'fork', caller }),
});

export const rewindRun = operation({
  ...write,
  id: 'runs.rewind',
  summary: 'Cancel a run, and let a new one go on in its place from a step, by the present code',
  route: 'POST /api/runs/:id/rewind',
  input,
  output: StartReceipt,
  handle: ({ workflows }, { id: runId, ...how }, { caller }) =>
    workflows.fork(runId, { ...withoutUndefined(how), as: 'rewind', caller }),
});
