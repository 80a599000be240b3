import type { AgentMessage, StartedTurn, StartedWorkflow, StartTurnOptions } from '../engine/handle.ts';
import { startedByOf } from '../engine/started-by.ts';
import type { StartedBy } from '../engine/started-by.ts';
import type { Mask } from '../mask.ts';
import type { Observe, Observed } from './observed.ts';
import { toStorableText } from './paging.ts';
import type { EvalRunRow, EvalRunStore, ResultRow, RunCaseRow } from './run-store.ts';
import { scoreAll } from './scoring/score.ts';
import type { Scored, Scoring } from './scoring/score.ts';
import { scoreOf, summarize } from './summary.ts';
import type { SuiteWork } from './suite-body.ts';

export interface WorkOptions {
  store: EvalRunStore;
  observe: Observe;
  startTurn(message: AgentMessage, options: StartTurnOptions): Promise<StartedTurn>;
  startWorkflow(
    name: string,
    input: unknown,
    how: {
      trigger: 'eval';
      parentRunId: string;
      onBehalfOf: StartedBy | undefined;
      idempotencyKey: string;
      timeout: number;
    },
  ): Promise<StartedWorkflow>;
  judgeModel: Scoring['judgeModel'];
  codeScorer: Scoring['codeScorer'];
  readSchema: Scoring['readSchema'];
  mask: Pick<Mask, 'text'>;
}

/** What the run of a suite does, beside recording that it has. */
export function createSuiteWork(options: WorkOptions): SuiteWork {
  const { store, observe, startTurn, startWorkflow, mask } = options;
  const getRun = async (id: string): Promise<EvalRunRow> => {
    const run = await store.find(id);
    if (!run) throw gone(`The eval run "${id}" was deleted.`);
    return run;
  };
  const getCase = async (id: string, position: number): Promise<RunCaseRow> => {
    const found = await store.findCase(id, position);
    if (!found) throw gone(`The eval run "${id}" was deleted.`);
    return found;
  };
  return {
    async plan(evalRunId) {
      const { plan } = await getRun(evalRunId);
      const cases = await store.listCases(evalRunId, { after: -1, limit: MOST_CASES });
      const targets = cases.map(({ snapshot: { target } }) => `${target.kind} ${target.name}`);
      return { samples: plan.samples, concurrency: plan.concurrency, targets };
    },
    async start({ evalRunId, position }, { parent, idempotencyKey }) {
      const { plan } = await getRun(evalRunId);
      const { target, input } = (await getCase(evalRunId, position)).snapshot;
      const { timeoutMs } = plan;
      const { run } = parent;
      if (!('value' in input))
        return startTurn({ agent: target.name, ...input }, { parent: run, idempotencyKey, trigger: 'eval', timeoutMs });
      const how = { parentRunId: run.runId, onBehalfOf: startedByOf(run), idempotencyKey, timeout: timeoutMs };
      return startWorkflow(target.name, input.value, { trigger: 'eval', ...how });
    },
    async score({ evalRunId, position, sample }, { runId, error }, step) {
      const { snapshot } = await getCase(evalRunId, position);
      const observed = runId === null ? undefined : await observe(runId);
      const why = error ?? observed?.error ?? (observed ? null : 'Its run is gone.');
      const hide = (text: string): string => mask.text(text);
      const scored =
        why === null && observed
          ? await scoreAll(snapshot, observed, {
              step,
              hide,
              judgeModel: options.judgeModel,
              codeScorer: options.codeScorer,
              readSchema: options.readSchema,
            })
          : UNSCORED;
      const facts = toFacts(observed, scored, why === null ? null : hide(why));
      // By the id of the run, where it was queued first.
      await store.keepResult({ evalRunId, position, sample, ...facts, runId: observed?.runId ?? runId });
    },
    async finish(evalRunId) {
      const { plan } = await getRun(evalRunId);
      const results = await store.listResults(evalRunId);
      const summary = summarize(results, plan.gates);
      const passed = summary.gates.every((gate) => gate.passed);
      await store.end(evalRunId, { status: 'completed', passed, score: scoreOf(results), summary, error: null });
    },
  };
}

/** What is kept of a result beside its place. */
export function toFacts(
  observed: Observed | undefined,
  { score, passed, cells }: Scored,
  error: string | null,
): Omit<ResultRow, 'evalRunId' | 'position' | 'sample' | 'runId' | 'scoredAt'> {
  return {
    passed,
    score,
    cells,
    error: error === null ? null : toStorableText(error),
    latencyMs: observed?.latencyMs ?? null,
    inputTokens: observed?.inputTokens ?? 0,
    outputTokens: observed?.outputTokens ?? 0,
  };
}

// --- internal ---

const MOST_CASES = 10_000;
const UNSCORED: Scored = { score: 0, passed: false, cells: [] };

function gone(message: string): Error {
  return Object.assign(new Error(message), { fatal: true });
}
