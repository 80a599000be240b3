import type { Body } from '../engine/body.ts';
import { currentContext } from '../engine/context.ts';
import type { StepContext } from '../engine/context.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { callStep } from '../engine/primitives/step.ts';
import type { Mask } from '../mask.ts';
import type { LiveStore } from './live-store.ts';
import type { Observe } from './observed.ts';
import type { EvalRunStore } from './run-store.ts';
import type { EvalInput } from './case.ts';
import { scoreAll } from './scoring/score.ts';
import type { Scoring } from './scoring/score.ts';
import { LIVE_RUN } from './suite-body.ts';
import type { SuiteStore } from './suite-store.ts';
import { scoreOf, summarize } from './summary.ts';
import { toFacts } from './work.ts';

export interface LiveWorkOptions {
  store: EvalRunStore;
  live: LiveStore;
  suites: Pick<SuiteStore, 'find'>;
  observe: Observe;
  /** What the turn was asked. */
  readInput(run: RunRow): Promise<EvalInput>;
  journal: Pick<Journal, 'getRun'>;
  engine: Pick<Engine, 'start'>;
  judgeModel: Scoring['judgeModel'];
  codeScorer: Scoring['codeScorer'];
  readSchema: Scoring['readSchema'];
  mask: Pick<Mask, 'text'>;
}

/** The scoring of one live turn: a run of its own, which goes on after a crash and counts what it uses. */
export function createLiveWork(options: LiveWorkOptions): {
  begin(suiteId: string, runId: string): Promise<void>;
  body(): Body;
} {
  const { store, live, suites, observe, journal, engine, mask } = options;
  const score = async (suiteId: string, runId: string, step: StepContext): Promise<void> => {
    const suite = await suites.find(suiteId);
    const run = await journal.getRun(runId);
    const observed = run && (await observe(runId));
    // The suite scores no live turns any more, or the turn was deleted.
    if (!suite?.online || !observed) return;
    // Of one that only brought results of tools, nothing was asked.
    const input = await options.readInput(run).catch(() => undefined);
    if (!input) return;
    const snapshot = {
      name: 'value' in input ? run.name : mask.text(input.message).slice(0, 200),
      target: { kind: run.kind, name: run.name },
      input: { message: '' },
      expected: null,
      scorers: suite.scorers,
      tags: [],
    };
    const place = await live.place(suite, { runId, snapshot, endedAt: run.endedAt ?? run.createdAt });
    if (!place) return;
    const { evalRunId, position, before } = place;
    const hide = (text: string): string => mask.text(text);
    const { judgeModel, codeScorer, readSchema } = options;
    const asking = { step, hide, judgeModel, codeScorer, readSchema };
    const scored = await scoreAll({ ...snapshot, input }, observed, asking);
    await store.keepResult({ evalRunId, position, sample: 0, runId, ...toFacts(observed, scored, null) });
    for (const earlier of before) {
      const results = await store.listResults(earlier.id);
      const summary = summarize(results, earlier.plan.gates);
      const passed = summary.gates.every((gate) => gate.passed);
      await store.end(earlier.id, { status: 'completed', passed, score: scoreOf(results), summary, error: null });
    }
  };
  const body: Body = {
    codeHash: LIVE_RUN,
    durability: 'process',
    async run(input) {
      const { suiteId, runId } = input as { suiteId: string; runId: string };
      const step = Object.assign(() => {}, { maxRetries: 3 });
      const work = () => score(suiteId, runId, currentContext() as StepContext);
      await callStep('evals#score', step, work as () => unknown, undefined, [suiteId, runId]);
    },
  };
  return {
    body: () => body,
    async begin(suiteId, runId) {
      await engine.start({
        kind: 'workflow',
        name: LIVE_RUN,
        trigger: 'eval',
        input: { suiteId, runId },
        body,
        idempotencyKey: `${suiteId} ${runId}`,
      });
    },
  };
}
