import { requirePermission } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { isHidden } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunFilter } from '../engine/journal/reading.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { BoxError, invalidCursor } from '../errors.ts';
import { isUuid, parseCursor, toCursor } from '../operations/cursor.ts';
import type { JudgedPlace, JudgeRecorded } from './recorded.ts';
import type { RuleSet } from './rules.ts';
import { Side } from './store.ts';

/** Which runs, and where in them the page before has ended. */
export interface WhichRuns {
  /** One run, or the newest `limit` that match. */
  runs: { runId: string } | { filter: RunFilter; limit: number };
  cursor?: string | undefined;
}

export interface TriedRun {
  run: Pick<RunRow, 'runId' | 'kind' | 'name'>;
  /** How many places were judged. */
  judged: number;
  /** Those where a rule has found something. */
  places: JudgedPlace[];
  /** Why the rest of it could not be read. Null: nothing is missing. */
  problem: string | null;
}

export interface TriedRuns {
  runs: TriedRun[];
  /** Null: all of it was judged. */
  nextCursor: string | null;
}

export interface TryHow {
  rules: RuleSet;
  caller: Caller;
  signal?: AbortSignal | undefined;
}

export interface TryRunsOptions {
  journal: Pick<Journal, 'getRun' | 'listBriefRuns'>;
  judge: JudgeRecorded;
  hidden?: Hidden;
}

/**
 * Judges recorded runs, one record after the other, until an answer has taken enough of the box; the cursor goes on from there.
 * Throws `run_not_found`, `invalid_cursor`, and `forbidden` where a rule asks a model and the caller may not change rules.
 */
export async function tryRuns(
  { journal, judge, hidden }: TryRunsOptions,
  { runs, cursor }: WhichRuns,
  { rules, caller, signal }: TryHow,
): Promise<TriedRuns> {
  const at = cursor === undefined ? undefined : parsePlace(cursor);
  const budget = createBudget();
  const tried: TriedRun[] = [];
  const find = async (runId: string): Promise<RunRow | undefined> => {
    const run = await journal.getRun(runId);
    return run && !isHidden(run, hidden) ? run : undefined;
  };
  /** Answers where in the run it has stopped. Undefined: it is through. */
  const tryRun = async (run: RunRow, from: number): Promise<number | undefined> => {
    if (asksModel(rules, run)) {
      requirePermission(caller, 'guardrails:write');
      budget.asksModel();
    }
    const one: TriedRun = { run, judged: 0, places: [], problem: null };
    tried.push(one);
    try {
      for await (const { places, characters, next } of judge(run, { rules, from, signal })) {
        one.judged += places.length;
        one.places.push(...places.filter(({ found }) => found.length > 0));
        budget.take(places, characters);
        signal?.throwIfAborted();
        if (budget.isSpent()) return next;
      }
    } catch (error) {
      // A value in object storage may be gone, and the other runs are there all the same.
      if (!(error instanceof BoxError) || error.code !== 'object_not_found') throw error;
      one.problem = error.message;
    }
    return undefined;
  };
  if ('runId' in runs) {
    const run = await find(runs.runId);
    if (!run) throw new BoxError('run_not_found', `There is no run "${runs.runId}".`);
    if (at && at.runId !== run.runId) throw invalidCursor(cursor ?? '');
    const stopped = await tryRun(run, at?.from ?? 0);
    return { runs: tried, nextCursor: stopped === undefined ? null : toCursor(run.runId, stopped) };
  }
  let before = at?.runId;
  if (at && at.from > 0) {
    const run = await find(at.runId);
    const stopped = run && (await tryRun(run, at.from));
    if (stopped !== undefined) return { runs: tried, nextCursor: toCursor(at.runId, stopped) };
  }
  const filter = { ...runs.filter, ...(hidden ? { hidden } : {}) };
  const page = { limit: runs.limit + 1, ...(before === undefined ? {} : { before }) };
  const found = (await journal.listBriefRuns(filter, page)).map(({ runId }) => runId);
  for (const [index, runId] of found.slice(0, runs.limit).entries()) {
    before = runId;
    const run = await find(runId);
    const stopped = run && (await tryRun(run, 0));
    if (stopped !== undefined) return { runs: tried, nextCursor: toCursor(runId, stopped) };
    if (budget.isSpent() && index + 1 < found.length) return { runs: tried, nextCursor: toCursor(runId, 0) };
  }
  return { runs: tried, nextCursor: found.length > runs.limit ? toCursor(before ?? '', 0) : null };
}

// --- internal ---

/** What one answer may take. */
const MOST_CHARACTERS = 4_000_000;
const MOST_PLACES = 1_000;
const MOST_HITS = 500;
const LONGEST_MS = 10_000;
/** Where each place is a call of a model. */
const MOST_ASKED = 25;

function createBudget() {
  const until = performance.now() + LONGEST_MS;
  let characters = 0;
  let places = 0;
  let hits = 0;
  let most = MOST_PLACES;
  return {
    asksModel: () => void (most = MOST_ASKED),
    take(judged: readonly JudgedPlace[], read: number) {
      characters += read;
      places += judged.length;
      hits += judged.filter(({ found }) => found.length > 0).length;
    },
    isSpent: () => characters >= MOST_CHARACTERS || places >= most || hits >= MOST_HITS || performance.now() >= until,
  };
}

function asksModel(rules: RuleSet, { kind, name }: RunRow): boolean {
  return Side.options.some((side) => rules.find({ kind, name }, side)?.asksModel);
}

function parsePlace(cursor: string): { runId: string; from: number } {
  const [runId, from] = parseCursor(
    cursor,
    (place): place is [runId: string, from: number] =>
      typeof place[0] === 'string' && isUuid(place[0]) && Number.isSafeInteger(place[1]) && Number(place[1]) >= 0,
  );
  return { runId, from };
}
