import { eachOf } from '../engine/each-of.ts';
import { z } from 'zod';
import type { RunFilter } from '../engine/journal/reading.ts';
import type { RunStatus } from '../engine/journal/run.ts';
import { BoxError } from '../errors.ts';
import type { Reached } from '../operations/define.ts';
import type { Runs } from './runs.ts';

/** The outcome of the runs that match. */
export const BulkResult = z.object({
  matched: z.int().describe('Runs that match, before anything was done; with a `cursor`, as the first request counted'),
  done: z.int(),
  failed: z
    .array(z.object({ runId: z.string(), code: z.string(), message: z.string() }))
    .describe('Those that were refused, as a request for one run would be'),
  nextCursor: z.string().nullable().describe('There are more: pass it as `cursor`; null: that was all'),
});
export type BulkResult = z.infer<typeof BulkResult>;

/** Where the request before ended, and what the first one counted: each page would count all of them again. */
export interface BulkCursor {
  after: string;
  matched: number;
}

export interface BulkRequest {
  filter: RunFilter;
  /** The runs of these alone are meant. */
  statuses: readonly RunStatus[];
  /** Only count. */
  dryRun: boolean;
  /** Most runs of one request. */
  limit: number;
  cursor?: BulkCursor;
  /** Does it to one run; throws as the operation on one does. */
  apply(runId: string): Promise<unknown>;
  /** Called with the runs of this request, before anything is done to one. */
  begin?: (runIds: string[]) => Promise<void>;
}

/**
 * Does to all runs that match what an operation does to one, the newest first and some at a time, so many a request. A
 * request that is repeated, or goes on with the cursor after a restart, does nothing twice.
 */
export async function applyToAll(runs: Pick<Runs, 'list' | 'count'>, request: BulkRequest): Promise<BulkResult> {
  const { filter, dryRun, apply } = request;
  const { status } = filter;
  const statuses = status === undefined ? request.statuses : request.statuses.filter((each) => each === status);
  const matched = request.cursor?.matched ?? (await countAll(runs, filter, statuses));
  const result: BulkResult = { matched, done: 0, failed: [], nextCursor: null };
  if (dryRun) return result;
  const { runIds, hasMore } = await listNewest(runs, { ...request, statuses });
  const after = runIds.at(-1);
  if (runIds.length > 0) await request.begin?.(runIds);
  const refused = new Map<string, BoxError>();
  await eachOf(runIds, AT_ONCE, async (runId) => {
    try {
      await apply(runId);
      result.done += 1;
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      // It has ended meanwhile, by itself or with the one above it.
      if (error.code !== 'run_final' && error.code !== 'run_not_found') refused.set(runId, error);
    }
  });
  for (const runId of runIds) {
    const error = refused.get(runId);
    if (error) result.failed.push({ runId, code: error.code, message: error.message });
  }
  return { ...result, nextCursor: hasMore && after !== undefined ? `${after}.${String(matched)}` : null };
}

/** Of the runs that a request has begun with, those that it has nothing more to do to. */
export async function reachedOf(what: unknown, isReached: (runId: string) => Promise<boolean>): Promise<Reached> {
  const runIds = what as string[];
  let done = 0;
  await eachOf(runIds, AT_ONCE, async (runId) => {
    if (await isReached(runId)) done += 1;
  });
  return { done, of: runIds.length };
}

// --- internal ---

/** Of the runs of one request, so many are worked on at a time: a store has about as many connections. */
const AT_ONCE = 10;

async function countAll(runs: Pick<Runs, 'count'>, filter: RunFilter, statuses: readonly RunStatus[]): Promise<number> {
  const counts = await Promise.all(statuses.map((status) => runs.count({ ...filter, status })));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function listNewest(
  runs: Pick<Runs, 'list'>,
  { filter, statuses, limit, cursor }: BulkRequest,
): Promise<{ runIds: string[]; hasMore: boolean }> {
  const page = cursor === undefined ? { limit: limit + 1 } : { limit: limit + 1, cursor: cursor.after };
  const pages = await Promise.all(statuses.map((status) => runs.list({ ...filter, status }, page)));
  const all = pages.flatMap(({ items }) => items.map(({ runId }) => runId)).sort((a, b) => (a < b ? 1 : -1));
  return { runIds: all.slice(0, limit), hasMore: all.length > limit };
}
