import { z } from 'zod';
import { isHidden } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import { isGranted, isOwnRun } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { splitName } from '../definitions/subagents.ts';
import type { Engine } from '../engine/engine.ts';
import { wholeRecord, wholeRun } from '../engine/large-values.ts';
import type { Journal } from '../engine/journal.ts';
import type { CodeKey } from '../engine/journal/code.ts';
import type { RunFilter } from '../engine/journal/reading.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { startedByOf } from '../engine/started-by.ts';
import { BoxError } from '../errors.ts';
import { createRunControl } from './run-control.ts';
import type { RunControl } from './run-control.ts';
import { withoutInside } from './run-error.ts';
import { RunStatus, toCode, toListedRun, toRun } from './run.ts';
import type { ListedRun, Run, RunDetail } from './run.ts';
import { streamState, toRunState } from './state.ts';
import type { RunState } from './state.ts';
import type { Frames } from '../http/sse.ts';
import { toIso } from '../json-value.ts';
import { searchRuns } from './search.ts';
import type { FoundRuns, TextSearch } from './search.ts';
import { toStats } from './stats.ts';
import type { RunStats } from './stats.ts';
import { findPlace, listStreams, streamFrames } from './streams.ts';
import type { RunStream, StreamRequest } from './streams.ts';
import { listWebhooks } from './webhooks.ts';
import type { WebhookPage } from './webhooks.ts';
import { listSteps } from './step-pages.ts';
import type { StepPage } from './step-pages.ts';
import { toSteps } from './steps.ts';
import type { Step } from './steps.ts';
import { toTimeline } from './timeline.ts';
import type { Timeline } from './timeline.ts';
import { readTimelineRecords } from './timeline-records.ts';
import { withoutHeld } from './without-held.ts';
import { toAmount } from '../limits/prices.ts';

export interface RunPage {
  items: ListedRun[];
  /** Pass it as `cursor` for the next page; null: there is none. */
  nextCursor: string | null;
}

/** A start that was queued: it waits, or it is a run. */
export const FoundStart = z.object({
  triggerId: z.uuid(),
  runId: z.uuid().nullable().describe('Null: it waits and is no run yet'),
  name: z.string(),
  status: RunStatus,
  createdAt: z.iso.datetime(),
});
export type FoundStart = z.infer<typeof FoundStart>;

export interface Wait {
  ms: number;
  signal: AbortSignal;
}

/** Every method but `list`, `search`, `find` and `findWhole` throws `run_not_found` when there is no such run. */
export interface Runs extends RunControl {
  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage>;
  /** Those that hold a text; a page may have none of them and still not be the last. */
  search(filter: RunFilter, search: TextSearch): Promise<FoundRuns>;
  /** Undefined: no such run. The answer is held until the last run of its chain is final, for as long as `wait` says. */
  find(runId: string, wait?: Wait): Promise<Run | undefined>;
  /** The same with its input and output where they are in object storage: otherwise only their size is shown. */
  findWhole(runId: string, wait?: Wait): Promise<RunDetail | undefined>;
  /** How many match. */
  count(filter: RunFilter): Promise<number>;
  /** The matching runs of the last day, or of the time the filter names, counted in stretches of it. */
  stats(filter: RunFilter, bucketMs: number): Promise<RunStats[]>;
  /** Starts that were queued, whose trigger ids begin with that, newest first. */
  startsOf(trigger: string, limit: number): Promise<FoundStart[]>;
  /** What the last run of the chain has published. */
  state(runId: string): Promise<RunState>;
  /** A frame for each state it publishes from now on, beginning with the one there is, until it has ended. */
  followState(runId: string, signal: AbortSignal): Promise<Frames>;
  /** Those it has written to. */
  streams(runId: string): Promise<RunStream[]>;
  /** Throws `invalid_request` on an event id that is none of the stream. */
  followStream(request: StreamRequest, signal: AbortSignal): Promise<Frames>;
  /** Newest first. Throws `invalid_cursor`. */
  webhooks(runId: string, page: { limit: number; cursor?: string }): Promise<WebhookPage>;
  /** In the order of their calls, behind the call `after`: up to `limit`, and fewer where they are large. */
  steps(runId: string, page: { limit: number; after?: number }): Promise<StepPage>;
  /** Undefined: it has not made the call, or the call has no record yet. */
  findStep(runId: string, call: number): Promise<Step | undefined>;
  /** With the spans of all calls, or of those alone that have changed since the answer whose `seq` is `after`. */
  timeline(runId: string, after?: number): Promise<Timeline>;
  /** The same for a model to read: without the texts that guardrails hold. */
  forModel(): Runs;
  /** The same without what is hidden: such a run is none. */
  without(hidden: Hidden): Runs;
  /** The runs a key or a user has made begin, of what it is granted: any other is none. */
  ownOf(caller: Caller): Runs;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const ALL_TIME_MS = 1e15;
const MAX_BUCKETS = 1_000;

export interface RunsOptions {
  journal: Journal;
  engine: Engine;
  /** With what hangs on it. False: it is not final. */
  deleteRun(runId: string): Promise<boolean>;
  /** The address of a webhook. */
  webhookUrl(token: string): string;
  /** Of the newest code of a run. Undefined: there is none that loads. */
  findCodeHash?(run: Pick<RunRow, 'kind' | 'name'>): string | undefined;
  /** Whether that code is kept for the runs that began with it. Default: none is. */
  holdsCode?(code: CodeKey): Promise<boolean>;
  hidden?: Hidden;
  /** Whose own runs alone are shown. */
  own?: Caller;
}

export function createRuns(options: RunsOptions): Runs {
  const { journal, engine, hidden, own } = options;
  const isNone = (row: RunRow) => isHidden(row, hidden) || (own !== undefined && !isGrantedRun(own, row));
  const isNarrowed = hidden !== undefined || own !== undefined;
  // A key is a program's: where our code lies is nothing to it.
  const toShown = (row: RunRow): Run => {
    const run = toRun(row);
    return own && run.error ? { ...run, error: withoutInside(run.error) } : run;
  };
  const only = hidden ? { hidden } : {};
  const get = async (runId: string): Promise<RunRow> => {
    const row = await journal.getRun(runId);
    if (!row || isNone(row)) throw runNotFound(runId);
    return row;
  };
  const findRow = async (runId: string, wait?: Wait): Promise<RunRow | undefined> => {
    const now = wait && !isNarrowed ? undefined : await journal.getRun(runId);
    // Before anything is waited for.
    if (!wait || (isNarrowed && (!now || isNone(now)))) return now && !isNone(now) ? now : undefined;
    return engine.wait(runId, wait.ms, AbortSignal.any([wait.signal, engine.closing]));
  };
  return {
    async list(filter, { limit, cursor }) {
      const before = cursor === undefined ? {} : { before: cursor };
      const rows = await journal.listBriefRuns({ ...filter, ...only }, { limit: limit + 1, ...before });
      const items = rows.slice(0, limit).map(toListedRun);
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.runId ?? null) : null };
    },
    search: (filter, search) => searchRuns({ journal, engine }, { ...filter, ...only }, search),
    async find(runId, wait) {
      const row = await findRow(runId, wait);
      return row && toShown(row);
    },
    async findWhole(runId, wait) {
      const row = await findRow(runId, wait);
      if (!row) return undefined;
      const [whole, cost] = await Promise.all([
        wholeRun(engine, row),
        own || row.totalTokens === 0 ? null : journal.costOf(row.runId),
      ]);
      const { findCodeHash, holdsCode = async () => false } = options;
      const code =
        findCodeHash && !own && (!isFinal(row.status) || row.movedAt !== null)
          ? { code: await toCode(row, findCodeHash(row), (codeHash) => holdsCode({ codeHash, name: codeNameOf(row) })) }
          : {};
      return { ...toShown(whole), ...code, ...(cost === null ? {} : { cost: toAmount(cost) }) };
    },
    async count(filter) {
      const tallies = await journal.tallyRuns({ ...filter, ...only }, ALL_TIME_MS);
      return tallies.reduce((sum, { count }) => sum + count, 0);
    },
    async stats(filter, bucketMs) {
      const { to = engine.clock.now() + 1 } = filter;
      const { from = to - DAY_MS } = filter;
      if ((to - from) / bucketMs > MAX_BUCKETS)
        throw new BoxError('invalid_request', `The time has more than ${MAX_BUCKETS} stretches. Ask for less of it.`);
      return toStats(await journal.tallyRuns({ ...filter, ...only, from, to }, bucketMs), bucketMs);
    },
    async startsOf(trigger, limit) {
      const found = await journal.queue.listByTrigger(trigger, limit);
      return found
        .filter((start) => !isHidden(start, hidden))
        .map(({ attributes: _marks, createdAt, ...start }) => ({ ...start, createdAt: toIso(createdAt) }));
    },
    async state(runId) {
      await get(runId);
      return toRunState((await journal.getLastRun(runId)) ?? (await get(runId)));
    },
    async followState(runId, signal) {
      await get(runId);
      return streamState({ journal, engine }, runId, signal);
    },
    async streams(runId) {
      await get(runId);
      return listStreams({ journal }, runId);
    },
    async followStream(request, signal) {
      await get(request.runId);
      const place = await findPlace(request, { journal, engine });
      const { name, follow } = request;
      return streamFrames({ journal, engine }, place, { name, follow, signal });
    },
    async webhooks(runId, page) {
      await get(runId);
      return listWebhooks({ journal, urlOf: options.webhookUrl }, runId, page);
    },
    async steps(runId, page) {
      await get(runId);
      return listSteps(journal, runId, page);
    },
    async findStep(runId, call) {
      await get(runId);
      const found = await journal.listCalls(runId, { after: call - 1, limit: 1 });
      const records = found.filter((record) => record.call === call);
      return toSteps(await Promise.all(records.map((record) => wholeRecord(engine, record))))[0];
    },
    async timeline(runId, after) {
      const run = await get(runId);
      const [{ records, ...read }, children] = await Promise.all([
        readTimelineRecords(journal, run, after),
        journal.listBriefRuns({ parentRunId: runId, ...only }, { limit: 200 }),
      ]);
      return { items: toTimeline(toRun(run), records, children.map(toListedRun)), ...read };
    },
    ...createRunControl(options, { get, toShown, isNarrowed }),
    forModel: () => createRuns({ ...options, ...withoutHeld(options) }),
    without: (more) => createRuns({ ...options, hidden: more }),
    ownOf: (caller) => createRuns({ ...options, own: caller }),
  };
}

export function runNotFound(runId: string): BoxError {
  return new BoxError('run_not_found', `There is no run "${runId}".`);
}

// --- internal ---

function isGrantedRun(caller: Caller, row: RunRow): boolean {
  const name = row.kind === 'agent' ? splitName(row.name).agent : row.name;
  const isGrantedIt = isGranted(caller, row.kind === 'agent' ? 'agents' : 'workflows', name);
  return isGrantedIt && isOwnRun(caller, startedByOf(row));
}

/** Of a sub-agent: the agent that declares it. */
function codeNameOf({ kind, name }: Pick<RunRow, 'kind' | 'name'>): string {
  return kind === 'agent' ? splitName(name).agent : name;
}
