import type { BusyStep, Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunStatus } from '../engine/journal/run.ts';
import { real } from '../engine/real.ts';
import type { TestProcess } from './process.ts';

export interface RestOptions {
  box: { engine: Pick<Engine, 'liveRuns' | 'listBusy'> };
  process: Pick<TestProcess, 'activity'>;
  journal: Pick<Journal, 'listRuns'>;
  /** Milliseconds for which steps under way are waited for. Undefined: they are not. */
  limit: number | undefined;
}

/** Resolves once no run moves any more. Rejects where steps are still under way after `limit`. */
export async function rest({ box: { engine }, process, journal, limit }: RestOptions): Promise<void> {
  const end = real.performanceNow() + (limit ?? 0);
  let quiet = 0;
  let { activity } = process;
  let still = 0;
  let moving = 0;
  while (moving < MOVING_TICKS && quiet < 2) {
    await new Promise((resolve) => real.setTimeout(resolve, 1));
    quiet = engine.liveRuns === 0 ? quiet + 1 : 0;
    const isStill = process.activity === activity;
    still = isStill ? still + 1 : 0;
    moving += isStill ? 0 : 1;
    ({ activity } = process);
    if (still < PATIENCE_TICKS || still % LOOK_TICKS !== 0) continue;
    const busy = limit === undefined ? [] : await findWorking(engine.listBusy(MOST_BUSY), journal);
    if (busy.length === 0) return;
    if (real.performanceNow() >= end) throw new Error(stillBusy(busy, limit ?? 0));
  }
}

// --- internal ---

/** About a second without a record; on a busy machine longer, as everything there takes longer. */
const PATIENCE_TICKS = 800;
const LOOK_TICKS = 50;

/** Runs that call one step after another for ever are not waited for. */
const MOVING_TICKS = 3_000;

const MOST_BUSY = 10;
const PARKED: readonly RunStatus[] = ['waiting', 'blocked'];

/** Those that do not merely wait for a run below theirs, which itself waits for time, a person or a hook. */
async function findWorking(busy: readonly BusyStep[], journal: Pick<Journal, 'listRuns'>): Promise<BusyStep[]> {
  const waits = async ({ runId }: BusyStep): Promise<boolean> => {
    const one = { limit: 1 };
    const found = await Promise.all(PARKED.map((status) => journal.listRuns({ parentRunId: runId, status }, one)));
    return found.some((list) => list.length > 0);
  };
  const waiting = await Promise.all(busy.map(waits));
  return busy.filter((_, index) => !waiting[index]);
}

function stillBusy(busy: readonly BusyStep[], limit: number): string {
  const steps = busy.map(({ step, workflow, runId }) => `"${step}" of "${workflow}" (run ${runId})`).join(', ');
  return (
    `The box is not at rest after ${limit} ms: it waits for the step ${steps}. Let it end, or give it more time ` +
    'with { timeout }; run.peek() answers what is recorded without waiting.'
  );
}
