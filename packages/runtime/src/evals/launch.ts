import { chargedBy, scopeOf, toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { toChargedMark, toPinnedMarks } from '../engine/box-marks.ts';
import type { Body } from '../engine/body.ts';
import type { Engine, KeyedStart } from '../engine/engine.ts';
import { newRunId } from '../engine/ids.ts';
import type { CreateResult } from '../engine/journal/starts.ts';
import { digestOfJson } from '../engine/values/digest.ts';
import { idempotencyConflict } from '../errors.ts';
import { pinVersion } from '../prompts/pinned.ts';
import type { Prompts } from '../prompts/prompts.ts';
import type { CaseStore, CaseRow } from './case-store.ts';
import { notRunnable } from './refusals.ts';
import type { EvalRunStore } from './run-store.ts';
import type { PinnedPrompt, RunCase, RunPlan } from './run.ts';
import { columnOf, joinScorers, MOST_SCORERS, withComparison } from './scorer.ts';
import { SUITE_RUN } from './suite-body.ts';
import { MOST_RESULTS } from './suite.ts';
import type { PromptChoice, Suite } from './suite.ts';

/** What one launch has otherwise than its suite. */
export interface LaunchHow {
  model?: string | undefined;
  prompts?: PromptChoice[] | undefined;
  samples?: number | undefined;
  concurrency?: number | undefined;
  note?: string | null | undefined;
  /** The same key with the same of the above is the same launch. */
  idempotencyKey?: string | undefined;
}

export interface LaunchOptions {
  store: EvalRunStore;
  cases: Pick<CaseStore, 'listFor'>;
  prompts: Pick<Prompts, 'get' | 'getVersion'>;
  engine: Pick<Engine, 'start' | 'findRepeat'>;
  body(): Body;
  /** Throws where the target of a case cannot be run. */
  requireTarget(target: RunCase['target']): void;
}

/**
 * Begins the run of a suite; answers its id. Throws `eval_suite_not_runnable`, `idempotency_conflict`, and what a start of
 * its targets would.
 */
export function createLaunch(options: LaunchOptions) {
  const { store, prompts, engine } = options;
  const pin = (choice: PromptChoice): Promise<PinnedPrompt> => pinVersion(prompts, choice);
  return async (suite: Suite, caller: Caller, how: LaunchHow): Promise<string> => {
    const keyed = toKeyed(suite, caller, how);
    const first = keyed && (await engine.findRepeat(keyed));
    if (first) return toRepeated(first, how);
    const { samples = suite.samples, concurrency = suite.concurrency, model = suite.model, note = null } = how;
    const rows = await options.cases.listFor(suite, MOST_RESULTS + 1);
    const cases = rows.map((row) => ({ caseId: row.id, snapshot: toSnapshot(row, suite) }));
    requireRunnable(suite, cases, samples);
    for (const { snapshot } of cases) options.requireTarget(snapshot.target);
    const pinned = await Promise.all((how.prompts ?? suite.prompts).map(pin));
    const { gates, timeoutMs } = suite;
    const plan: RunPlan = { gates, samples, concurrency, timeoutMs, model, prompts: pinned, note };
    const id = newRunId();
    await store.create({ id, suiteId: suite.id, suiteName: suite.name, plan, by: caller.name, cases });
    const begin = () =>
      engine.start({
        runId: id,
        kind: 'workflow',
        name: SUITE_RUN,
        trigger: 'eval',
        input: { evalRunId: id },
        body: options.body(),
        startedBy: toStartedBy(caller),
        attributes: {
          ...toChargedMark(chargedBy(caller)),
          ...toPinnedMarks(model, pinned),
        },
        ...keyed,
      });
    // Nothing would ever carry it out. A crash in between leaves one that is seen to have no run.
    const forget = () => store.remove(id);
    const result = await begin().catch(async (error: unknown) => {
      await forget();
      throw error;
    });
    if (result.outcome === 'created') return id;
    // Another with this key came first.
    await forget();
    return toRepeated(result, how);
  };
}

/** A case with all that is asked of it in a suite. */
export function toSnapshot(row: CaseRow, suite: Pick<Suite, 'scorers'>): RunCase {
  const { name, targetKind, targetName, input, expected, tags } = row;
  const asked = joinScorers(suite.scorers, row.scorers);
  const scorers = expected ? withComparison(asked) : asked;
  return { name, target: { kind: targetKind, name: targetName }, input, expected, scorers, tags };
}

// --- internal ---

/** Within the suite and the caller: keys of two of either are never the same. */
function toKeyed({ id }: Suite, caller: Caller, { idempotencyKey: key, ...how }: LaunchHow): KeyedStart | undefined {
  if (key === undefined) return undefined;
  const idempotencyKey = [id, scopeOf(caller), key].join(' ');
  return { name: SUITE_RUN, idempotencyKey, digest: digestOfJson(JSON.stringify(how)) };
}

function toRepeated(result: CreateResult, { idempotencyKey }: LaunchHow): string {
  if (result.outcome === 'repeated') return result.run.runId;
  throw idempotencyConflict(idempotencyKey);
}

function requireRunnable(
  { name, gates }: Suite,
  cases: readonly { caseId: string; snapshot: RunCase }[],
  samples: number,
): void {
  if (cases.length === 0) throw notRunnable(name, 'It has no cases. Name some, or a tag that cases have.');
  if (cases.length * samples > MOST_RESULTS)
    throw notRunnable(name, `Its cases, times its samples, are more than ${MOST_RESULTS}.`);
  for (const { caseId, snapshot } of cases) {
    if (snapshot.scorers.length === 0)
      throw notRunnable(
        name,
        `Its case "${caseId}" has neither a scorer nor an expectation, and the suite has no scorer.`,
      );
    // One more compares what is expected.
    if (snapshot.scorers.length > MOST_SCORERS + Number(snapshot.expected !== null))
      throw notRunnable(name, `Its case "${caseId}" would be asked by more than ${MOST_SCORERS} scorers.`);
  }
  const columns = new Set(cases.flatMap(({ snapshot }) => snapshot.scorers.map(columnOf)));
  const missing = gates.scorers.find(({ scorer }) => !columns.has(scorer));
  if (missing) throw notRunnable(name, `Its gate names the scorer "${missing.scorer}", which no case is asked by.`);
}
