import type { Caller } from '../auth/caller.ts';
import { RunCancelledError } from '../engine/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import { BoxError } from '../errors.ts';
import { toRunError } from '../runs/run-error.ts';
import { compareRows } from './compare.ts';
import type { Comparison } from './compare.ts';
import type { LaunchHow } from './launch.ts';
import type { Page, PageOf } from './paging.ts';
import { runNotFound } from './refusals.ts';
import type { EvalRunRow, EvalRunStore, ResultRow, RunCaseRow } from './run-store.ts';
import type { EvalRow, EvalRun } from './run.ts';
import { scoreOf, summarize, toRow } from './summary.ts';
import type { Suite } from './suite.ts';

/** Whatever takes the id of a run throws `eval_run_not_found`. */
export interface EvalRuns {
  /** Throws `eval_suite_not_runnable`. */
  launch(suite: Suite, caller: Caller, how: LaunchHow): Promise<EvalRun>;
  /** Newest first. Throws `invalid_cursor`. */
  list(filter: { suiteId?: string | undefined; status?: string | undefined }, page: Page): Promise<PageOf<EvalRun>>;
  /** The newest launch of each suite, by its id. */
  listLast(suiteIds: readonly string[]): Promise<Map<string, EvalRun>>;
  /** `after`: the position behind which the rows begin. `wait`: the answer is held until it ends, for so long. */
  get(id: string, page: { after: number; limit: number }): Promise<EvalRun & { rows: EvalRow[]; next: number | null }>;
  /** Resolves once it has ended, or the time is up. */
  wait(id: string, ms: number, signal: AbortSignal): Promise<void>;
  /** `with`: the id of the other, by default the one before of the same suite. */
  compare(id: string, other: string | undefined): Promise<{ run: EvalRun; with: EvalRun; items: Comparison[] }>;
  /** Throws `eval_run_final`. */
  cancel(id: string): Promise<EvalRun>;
  /** Or is being cancelled. False too: there is no such run. */
  isCancelled(id: string): Promise<boolean>;
  /** Throws `eval_run_not_final`. */
  remove(id: string): Promise<void>;
  /**
   * Deletes up to `limit` of those that ended `days` ago, or `liveDays` where those of live turns have no other. Answers how many.
   */
  removeOlder(age: { days?: number | undefined; liveDays?: number | undefined }, limit: number): Promise<number>;
}

export interface EvalRunsOptions {
  store: EvalRunStore;
  engine: Pick<Engine, 'cancel' | 'wait' | 'closing' | 'armed'>;
  journal: Pick<Journal, 'getRun'>;
  launch(suite: Suite, caller: Caller, how: LaunchHow): Promise<string>;
}

export function createEvalRuns({ store, engine, journal, launch }: EvalRunsOptions): EvalRuns {
  /** One whose run ended without a word, as by a cancel from elsewhere, is ended here. */
  const settle = async (row: EvalRunRow): Promise<EvalRunRow> => {
    if (row.status !== 'running' || row.plan.online) return row;
    const run = await journal.getRun(row.id);
    if (run ? !isFinal(run.status) : Date.now() - row.createdAt.getTime() < STARTS_WITHIN_MS) return row;
    // It may have kept its end in between.
    const now = await store.find(row.id);
    if (now?.status !== 'running') return now ?? row;
    const status = run?.status === 'cancelled' ? 'cancelled' : 'failed';
    const error = run
      ? (toRunError(run.error)?.message ?? null)
      : 'It was not started: the box stopped while it was being launched.';
    const results = await store.listResults(row.id);
    const summary = summarize(results, row.plan.gates);
    await store.end(row.id, { status, passed: null, score: scoreOf(results), summary, error });
    return (await store.find(row.id)) ?? row;
  };
  const find = async (id: string): Promise<EvalRunRow> => {
    const row = await store.find(id);
    if (!row) throw runNotFound(id);
    return settle(row);
  };
  const show = async (row: EvalRunRow): Promise<EvalRun> => {
    if (row.summary) return toEvalRun(row, row.score, row.summary);
    const results = await store.listResults(row.id);
    return toEvalRun(row, scoreOf(results), summarize(results, row.plan.gates));
  };
  const listRows = async (id: string): Promise<EvalRow[]> =>
    toRows(await store.listCases(id, { after: -1, limit: ALL }), await store.listResults(id));
  return {
    async launch(suite, caller, how) {
      return show(await find(await launch(suite, caller, how)));
    },
    async list(filter, page) {
      const { items, nextCursor } = await store.list(filter, page);
      const shown: EvalRun[] = [];
      for (const row of items) shown.push(await show(await settle(row)));
      return { items: shown, nextCursor };
    },
    async listLast(suiteIds) {
      const last = new Map<string, EvalRun>();
      for (const row of await store.listLast(suiteIds))
        if (row.suiteId !== null) last.set(row.suiteId, await show(await settle(row)));
      return last;
    },
    async get(id, { after, limit }) {
      const row = await find(id);
      const cases = await store.listCases(id, { after, limit: limit + 1 });
      const page = cases.slice(0, limit);
      const results = await store.listResults(
        id,
        page.map(({ position }) => position),
      );
      const next = cases.length > limit ? (page.at(-1)?.position ?? null) : null;
      return { ...(await show(row)), rows: toRows(page, results), next };
    },
    async wait(id, ms, signal) {
      await find(id);
      await engine.wait(id, ms, AbortSignal.any([signal, engine.closing]));
    },
    async compare(id, other) {
      const run = await find(id);
      const before = other === undefined ? await store.findBefore(run) : await find(other);
      if (!before)
        throw new BoxError(
          'invalid_request',
          'There is no run of the suite before it. Say "with" which one to compare it.',
          {
            details: { param: 'with' },
          },
        );
      const items = compareRows(await listRows(id), await listRows(before.id));
      return { run: await show(run), with: await show(before), items };
    },
    async cancel(id) {
      const row = await find(id);
      const final = () =>
        new BoxError('eval_run_final', `The eval run has ended: ${row.status}.`, { details: { status: row.status } });
      if (row.status !== 'running' || row.plan.online) throw final();
      const error = new RunCancelledError('The eval run was cancelled.');
      await engine.cancel(id, error, { cleansUp: engine.armed });
      await engine.wait(id, CANCEL_MS, engine.closing);
      return show(await find(id));
    },
    async isCancelled(id) {
      const run = await journal.getRun(id);
      return run !== undefined && (isFinal(run.status) ? run.status === 'cancelled' : run.cancel !== null);
    },
    async remove(id) {
      const row = await find(id);
      if (row.status === 'running' && !row.plan.online)
        throw new BoxError('eval_run_not_final', 'The eval run goes on. Cancel it before you delete it.');
      await store.remove(id);
    },
    removeOlder: ({ days, liveDays }, limit) =>
      store.removeOlder({ before: daysAgo(days), onlineBefore: daysAgo(days ?? liveDays) }, limit),
  };
}

// --- internal ---

/** From the record of a launch to its run. */
const STARTS_WITHIN_MS = 60_000;
const CANCEL_MS = 5_000;
const ALL = 10_000;
const DAY_MS = 86_400_000;

function daysAgo(days: number | undefined): Date | undefined {
  return days === undefined ? undefined : new Date(Math.max(0, Date.now() - days * DAY_MS));
}

function toRows(cases: readonly RunCaseRow[], results: readonly ResultRow[]): EvalRow[] {
  const byPosition = new Map<number, ResultRow[]>();
  for (const result of results) {
    const known = byPosition.get(result.position);
    if (known) known.push(result);
    else byPosition.set(result.position, [result]);
  }
  return cases.map(({ position, caseId, snapshot }) => toRow(caseId, snapshot, byPosition.get(position) ?? []));
}

function toEvalRun(row: EvalRunRow, score: number | null, summary: EvalRun['summary']): EvalRun {
  const { suiteName: suite, plan, createdAt, endedAt, ...same } = row;
  const { online, ...how } = plan;
  return {
    ...same,
    ...how,
    suite,
    origin: online ? 'online' : 'launch',
    score,
    summary,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}
