import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import type { Run } from '../runs/run.ts';
import type { Step } from '../runs/steps.ts';
import type { Life } from './life.ts';
import type { ScriptedModel } from './model.ts';

/** A run, whichever process of the box has it. It is answered once nothing moves any more. */
export interface TestRun {
  /** Of a start that waits for a lock, the id of its trigger. */
  readonly id: string;
  /** The run as `GET /api/runs/:id` shows it. */
  get(): Promise<Run>;
  status(): Promise<Run['status']>;
  /** What it has recorded, in the order of its calls. */
  steps(): Promise<Step[]>;
  /**
   * What it answered; throws what ended it otherwise, and what a script of the model has thrown in it. A run that does not end by itself within `timeout` (default 5
   * seconds of the machine's clock) is an error that says what it waits for.
   */
  result(options?: { timeout?: number }): Promise<unknown>;
  cancel(): Promise<void>;
}

export interface RunsOptions {
  life(): Life;
  journal: Journal;
  model: ScriptedModel;
}

export function toTestRun(id: string, { life, journal, model }: RunsOptions): TestRun {
  const find = async (): Promise<RunRow | undefined> => {
    const run = await journal.getRun(id);
    if (run) return run;
    const queued = await journal.queue.find(id);
    return queued && 'run' in queued ? queued.run : undefined;
  };
  const settledId = async (): Promise<string> => {
    await life().settle();
    return (await find())?.runId ?? id;
  };
  return {
    id,
    get: async () => life().call(`GET /api/runs/${await settledId()}`),
    async status() {
      await life().settle();
      return (await find())?.status ?? 'queued';
    },
    async steps() {
      const path = `GET /api/runs/${await settledId()}/steps?limit=1000`;
      const steps: Step[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: StepPage = await life().call(cursor === '' ? path : `${path}&cursor=${cursor}`);
        steps.push(...page.items);
        cursor = page.nextCursor;
      }
      return steps;
    },
    async result({ timeout = PATIENCE_MS } = {}) {
      await life().settle();
      const { alive, box } = life();
      const end = performance.now() + timeout;
      for (;;) {
        const left = end - performance.now();
        const known = await alive(find());
        const run = known && (await alive(box.engine.wait(known.runId, Math.max(0, left))));
        if (run && isFinal(run.status)) await model.rethrow(run.runId, journal);
        if (run?.status === 'completed') return run.output === null ? undefined : decode(run.output);
        if (run && isFinal(run.status)) throw decode(run.error ?? '');
        if (left <= 0) throw new Error(unfinished(id, run));
        if (!run) await alive(new Promise((resolve) => setTimeout(resolve, 5)));
      }
    },
    cancel: async () => void (await life().call(`POST /api/runs/${await settledId()}/cancel`, {})),
  };
}

// --- internal ---

interface StepPage {
  items: Step[];
  nextCursor: string | null;
}

const PATIENCE_MS = 5_000;

function unfinished(id: string, run: RunRow | undefined): string {
  if (!run) return `The start "${id}" still waits for the lock of an earlier run.`;
  const waits = run.waitingFor === null ? '' : ` It waits for ${run.waitingFor}.`;
  return (
    `The run "${id}" has not ended: it is ${run.status}.${waits} ` +
    'Move time with box.clock.advance(), decide with box.approvals.next(), or resume its hook.'
  );
}
