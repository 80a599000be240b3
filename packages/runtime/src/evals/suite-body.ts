import { currentContext } from '../engine/context.ts';
import type { StepContext } from '../engine/context.ts';
import type { Body } from '../engine/body.ts';
import { RunCancelledError } from '../engine/errors.ts';
import type { RunHandle } from '../engine/handle.ts';
import { startOrAnew, toStartCall, toWaitCall } from '../engine/primitives/child-workflow.ts';
import { callStep } from '../engine/primitives/step.ts';
import type { StepOptions } from '../engine/primitives/step.ts';

/** What the run of a suite is called among the runs of the box. */
export const SUITE_RUN = 'svc.eval';

/** What the scoring of a live turn is called. */
export const LIVE_RUN = 'svc.eval.live';

/** The code of the run of a suite; another name says that what it has recorded is read in another way. */
export const SUITE_CODE = 'svc.eval.1';

/** What the run of a suite needs to know of it. */
export interface SuitePlan {
  samples: number;
  concurrency: number;
  /** The target of each case, in their order. */
  targets: string[];
}

export interface SampleRef {
  evalRunId: string;
  position: number;
  sample: number;
}

/** The outcome of the run of a sample. */
export interface Ended {
  /** Null: it was not started. */
  runId: string | null;
  error: string | null;
}

export interface SuiteWork {
  plan(evalRunId: string): Promise<SuitePlan>;
  /** Starts the run of a sample below this one; the same key finds the same. */
  start(sample: SampleRef, how: { parent: RunHandle; idempotencyKey: string }): Promise<StartedSample>;
  /** Scores it and keeps the result. Repeated it keeps the same. */
  score(sample: SampleRef, ended: Ended, step: StepContext): Promise<void>;
  finish(evalRunId: string): Promise<void>;
}

export type StartedSample = { runId: string; triggerId?: undefined } | { triggerId: string; runId?: undefined };

/**
 * The run of a suite: a lane for each sample that may run at once, each of which takes the next one. Each sample is a start
 * that is recorded, a wait and a step, so whatever has been run is not run again by another process.
 */
export function createSuiteBody(work: SuiteWork): Body {
  return {
    codeHash: SUITE_CODE,
    durability: 'synced',
    async run(input) {
      const { evalRunId } = input as { evalRunId: string };
      const { execution } = currentContext() as { execution: RunHandle };
      const plan = (await inStep('plan', () => work.plan(evalRunId), [evalRunId])) as SuitePlan;
      const { samples, concurrency, targets } = plan;
      const all = targets.length * samples;
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let nth = next++; nth < all; nth = next++) {
          // Every case once before any is repeated.
          const ref = { evalRunId, position: nth % targets.length, sample: Math.floor(nth / targets.length) };
          const ended = await runSample(execution, { work, ref, target: targets[ref.position] ?? '' });
          const score = () => work.score(ref, ended, currentContext() as StepContext);
          await inStep('score', score, [ref.position, ref.sample, ended.runId, ended.error]);
        }
      };
      await Promise.all(Array.from({ length: Math.min(concurrency, all) }, lane));
      await inStep('finish', () => work.finish(evalRunId), [evalRunId]);
      return { evalRunId };
    },
  };
}

// --- internal ---

/** What is scored is kept in the store, which may be away for a while. */
const KEPT: StepOptions = { maxRetries: 8, backoff: { initial: 500, max: 30_000 } };

function inStep(name: string, work: () => Promise<unknown>, args: (string | number | null)[]): Promise<unknown> {
  const step = Object.assign(() => {}, KEPT);
  return callStep(`evals#${name}`, step, work as () => unknown, undefined, args) as Promise<unknown>;
}

interface Sampled {
  work: SuiteWork;
  ref: SampleRef;
  target: string;
}

async function runSample(execution: RunHandle, { work, ref, target }: Sampled): Promise<Ended> {
  const { position, sample } = ref;
  let started: StartedSample | undefined;
  try {
    const start = toStartCall(execution, { name: target, input: { position, sample } }, ({ idempotencyKey }) =>
      startOrAnew(
        execution,
        idempotencyKey,
        (key) => work.start(ref, { parent: execution, idempotencyKey: key }) as never,
      ),
    );
    started = (await execution.invoke(start)) as StartedSample;
    await execution.invoke(
      toWaitCall(target, started.runId === undefined ? { triggerId: started.triggerId } : { runId: started.runId }),
    );
    return { runId: started.runId ?? started.triggerId ?? null, error: null };
  } catch (error) {
    // This run is cancelled, and not that of a sample.
    if (RunCancelledError.is(error)) throw error;
    return { runId: started?.runId ?? started?.triggerId ?? null, error: toMessage(error) };
  }
}

function toMessage(error: unknown): string {
  const {
    code,
    message = String(error),
    cause,
  } = (error ?? {}) as { code?: string; message?: string; cause?: unknown };
  // A run below this one that has failed is said by its own error.
  const inner = cause instanceof Error ? (cause as Error & { code?: string }) : undefined;
  const said = inner ?? { code, message };
  return `${said.code === undefined ? '' : `${said.code}: `}${said.message}`.slice(0, 1_000);
}
