import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { stateOf } from '../engine/run/published-state.ts';
import { decode } from '../engine/serialize.ts';
import type { Run } from '../runs/run.ts';
import type { Step } from '../runs/steps.ts';
import type { Life } from './life.ts';
import type { ScriptedModel } from './model.ts';

export interface SettleOptions {
  /** For how long steps and model calls under way are waited for: milliseconds of the machine's clock. Default: 20 seconds. */
  timeout?: number;
}

/**
 * A run, whichever process of the box has it. It is answered once nothing moves any more: no body goes on, and no step or
 * model call is under way. One that takes longer than its time is an error that names it.
 */
export interface TestRun<O = unknown, S = unknown> {
  /** Of a start that waits for a lock, the id of its trigger. */
  readonly id: string;
  /** The run as `GET /api/runs/:id` shows it. */
  get(options?: SettleOptions): Promise<Run>;
  status(options?: SettleOptions): Promise<Run['status']>;
  /** As `get`, at once: what is recorded by now. */
  peek(): Promise<Run>;
  /** What it has recorded, in the order of its calls. */
  steps(options?: SettleOptions): Promise<Step[]>;
  /**
   * What it answered; throws what ended it otherwise, and what a script of the model has thrown in it. A run that does not
   * end by itself within `timeout` (default: 5 seconds after its last step) is an error that says what it waits for.
   */
  result(options?: SettleOptions): Promise<O>;
  /**
   * What it has published last with `svc.publish`; undefined: nothing. Of a run that has continued as another, what the last
   * one has.
   */
  state(options?: SettleOptions): Promise<S | undefined>;
  cancel(): Promise<void>;
}

export interface RunsOptions {
  life(): Life;
  journal: Journal;
  model: ScriptedModel;
}

export function toTestRun<O = unknown, S = unknown>(id: string, { life, journal, model }: RunsOptions): TestRun<O, S> {
  const find = async (): Promise<RunRow | undefined> => {
    const run = await journal.getRun(id);
    if (run) return run;
    const queued = await journal.queue.find(id);
    return queued && 'run' in queued ? queued.run : undefined;
  };
  const settle = ({ timeout = SETTLE_MS }: SettleOptions = {}): Promise<void> => life().settle(timeout);
  const currentId = async (): Promise<string> => (await find())?.runId ?? id;
  const settledId = async (options?: SettleOptions): Promise<string> => {
    await settle(options);
    return currentId();
  };
  return {
    id,
    get: async (options) => life().call(`GET /api/runs/${await settledId(options)}`),
    peek: async () => life().call(`GET /api/runs/${await currentId()}`),
    async status(options) {
      await settle(options);
      return (await find())?.status ?? 'queued';
    },
    async steps(options) {
      const path = `GET /api/runs/${await settledId(options)}/steps?limit=1000`;
      const steps: Step[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: StepPage = await life().call(cursor === '' ? path : `${path}&cursor=${cursor}`);
        steps.push(...page.items);
        cursor = page.nextCursor;
      }
      return steps;
    },
    async result(options = {}) {
      const given = options.timeout === undefined ? undefined : performance.now() + options.timeout;
      await settle(options);
      const { alive, box } = life();
      const end = given ?? performance.now() + PATIENCE_MS;
      for (;;) {
        const left = end - performance.now();
        const known = await alive(find());
        const run = known && (await alive(box.engine.wait(known.runId, Math.max(0, left))));
        if (run && isFinal(run.status)) await model.rethrow(run.runId, journal);
        if (run?.status === 'completed')
          return (run.output === null ? undefined : decode(await box.engine.whole(run.output))) as O;
        if (run && isFinal(run.status)) throw decode(run.error ?? '');
        if (left <= 0) throw new Error(unfinished(id, run));
        if (!run) await alive(new Promise((resolve) => setTimeout(resolve, 5)));
      }
    },
    async state(options) {
      const run = await life().alive(journal.getLastRun(await settledId(options)));
      return run && (stateOf(run) as S | undefined);
    },
    async cancel() {
      await life().settle();
      await life().call(`POST /api/runs/${await currentId()}/cancel`, {});
    },
  };
}

// --- internal ---

interface StepPage {
  items: Step[];
  nextCursor: string | null;
}

/** Below what test runners are commonly given, so that this error is seen, and not theirs. */
const SETTLE_MS = 20_000;
const PATIENCE_MS = 5_000;

function unfinished(id: string, run: RunRow | undefined): string {
  if (!run) return `The start "${id}" still waits for the lock of an earlier run.`;
  const waits = run.waitingFor === null ? '' : ` It waits for ${run.waitingFor}.`;
  return (
    `The run "${id}" has not ended: it is ${run.status}.${waits} ` +
    'Move time with box.clock.advance(), decide with box.approvals.next(), or resume its hook.'
  );
}
