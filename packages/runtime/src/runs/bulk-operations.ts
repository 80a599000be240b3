import { z } from 'zod';
import { BoxError, invalidCursor } from '../errors.ts';
import { operationsOf } from '../operations/define.ts';
import type { CallContext } from '../operations/define.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import { applyToAll, BulkResult, reachedOf } from './bulk.ts';
import type { BulkCursor, BulkRequest } from './bulk.ts';
import type { Retries } from './control-operations.ts';
import { Filter, RUN_ID, toFilter } from './operations.ts';
import type { FilterInput } from './operations.ts';
import type { Runs } from './runs.ts';

/** What the activity log is to have of each run that was cancelled. */
export interface Cancelled {
  findAsker(runId: string): Promise<string | undefined>;
  record(entry: {
    operation: string;
    caller: CallContext['caller'];
    source: CallContext['source'];
    requestId?: string | undefined;
    target: { id: string };
    askedBy?: string | undefined;
  }): Promise<void>;
}

const operation = operationsOf<{ activity: Cancelled; runs: Runs; workflows: Retries }>();

const room = { tag: 'runs', kind: 'write', copilot: 'yes', output: BulkResult } as const;

const CANCELLABLE = ['queued', 'running', 'waiting', 'blocked'] as const;
const RETRYABLE = ['failed', 'cancelled'] as const;
const DELETABLE = ['completed', ...RETRYABLE] as const;

const { status: _, ...rest } = Filter;
const input = z.strictObject({
  ...rest,
  dryRun: z.boolean().default(false).describe('Only count what matches'),
  limit: z.int().min(1).max(200).default(100).describe('Most runs of one request'),
  cursor: z.string().optional().describe('`nextCursor` of the request before'),
});

export const cancelRuns = operation({
  ...room,
  id: 'runs.cancel_all',
  summary: 'Cancel all unfinished runs that match, with the runs they started, so many a request',
  route: 'POST /api/runs/cancel',
  permission: 'runs:cancel',
  confirm: true,
  cli: 'runs cancel-all',
  input: input.extend({ status: z.enum(CANCELLABLE).optional() }),
  settles: {
    // What has ended by itself is left alone.
    begun: ({ runs }, what) => reachedOf(what, async (runId) => (await runs.endOf(runId)) !== undefined),
  },
  handle: ({ activity, runs }, given, context) =>
    applyToAll(
      runs,
      toRequest(given, CANCELLABLE, {
        ...beginOf(context),
        async apply(runId) {
          const isCancelled = (await runs.endOf(runId)) === 'cancelled';
          // A second cancel would end the clean-up of the first, which that of a run above may be: that is asked for one alone.
          await runs.cancel(runId, { waitMs: 0, isFirst: true });
          if (!isCancelled) await recordCancel(activity, runId, context);
        },
      }),
    ),
});

export const retryRuns = operation({
  ...room,
  id: 'runs.retry_all',
  summary: 'Retry all failed and cancelled runs that match, each once, up to a limit per request',
  route: 'POST /api/runs/retry',
  permission: 'runs:retry',
  confirm: true,
  cli: 'runs retry-all',
  errors: ['workflow_runtime_not_armed', 'shutting_down'],
  input: input.extend({
    status: z.enum(RETRYABLE).optional(),
    retryFrom: z.enum(['failed-step', 'start']).default('failed-step').describe('Where each goes on'),
  }),
  settles: {
    begun: ({ workflows }, what) => reachedOf(what, (runId) => workflows.isRetried(runId, toRetryKey(runId))),
  },
  handle: ({ runs, workflows }, { retryFrom, ...given }, context) =>
    applyToAll(
      runs,
      toRequest(given, RETRYABLE, {
        ...beginOf(context),
        apply: (runId) =>
          workflows.retry(runId, retryFrom, { caller: context.caller, idempotencyKey: toRetryKey(runId) }),
      }),
    ),
});

export const deleteRuns = operation({
  ...room,
  id: 'runs.delete_all',
  summary: 'Delete all finished runs that match, with their steps, so many a request',
  route: 'POST /api/runs/delete',
  permission: 'runs:delete',
  confirm: true,
  cli: 'runs delete-all',
  input: input.extend({ status: z.enum(DELETABLE).optional() }),
  settles: { begun: ({ runs }, what) => reachedOf(what, async (runId) => !(await runs.find(runId))) },
  handle: ({ runs }, given, context) =>
    applyToAll(runs, toRequest(given, DELETABLE, { ...beginOf(context), apply: (runId) => runs.delete(runId) })),
});

// --- internal ---

/** As that of one alone: so each of them says by whom it was cancelled. */
async function recordCancel(
  { findAsker, record }: Cancelled,
  runId: string,
  { caller, source, requestId }: CallContext,
): Promise<void> {
  const askedBy = await findAsker(runId).catch(() => undefined);
  await record({ operation: 'runs.cancel', caller, source, requestId, target: { id: runId }, askedBy });
}

/** A key of each run, so that a request that is sent again starts none twice. */
const toRetryKey = (runId: string): string => `all ${runId}`;

const beginOf = ({ begin }: CallContext): Pick<BulkRequest, 'begin'> => (begin ? { begin } : {});

/** A `nextCursor`; undefined where it is none. */
function readCursor(text: string): BulkCursor | undefined {
  const [, after = '', matched = ''] = /^(.+)\.(\d{1,15})$/.exec(text) ?? [];
  return RUN_ID.test(after) ? { after, matched: Number(matched) } : undefined;
}

type Given = FilterInput & { dryRun: boolean; limit: number; cursor?: string | undefined };

/** Refuses a request without a filter: it would mean every run there is. */
function toRequest(
  { dryRun, limit, cursor: text, ...given }: Given,
  statuses: BulkRequest['statuses'],
  how: Pick<BulkRequest, 'apply' | 'begin'>,
): BulkRequest {
  const cursor = text === undefined ? undefined : readCursor(text);
  if (text !== undefined && !cursor) throw invalidCursor(text);
  const filter = toFilter(given);
  if (Object.keys(filter).length === 0)
    throw new BoxError('invalid_request', 'Say which runs are meant: a name, a status, an attribute or a time.');
  return withoutUndefined({ filter, statuses, dryRun, limit, cursor, ...how }) as BulkRequest;
}
