import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { Observer } from '../engine/observer.ts';
import type { Limiter } from './limiter.ts';
import { answeringModel } from './asked-model.ts';
import { whoOfRun } from './charge.ts';
import type { Charge } from './charge.ts';

export interface RunSpendingOptions {
  limiter: Pick<Limiter, 'spend' | 'find'>;
  /** The agent of the workspace that a run's name is of. */
  agentOf(runName: string): string;
  /** Whether usage is counted that no limit is set for. */
  countsAll(): boolean;
}

/** Counts tokens for all that a run is counted by. */
export type SpendOfRun = (run: RunRow, tokens: number) => Promise<void>;

export function createRunSpending({ limiter, agentOf, countsAll }: RunSpendingOptions): SpendOfRun {
  return async (run, tokens) => {
    const who = whoOfRun(run, agentOf);
    const all = countsAll();
    const found = all ? [] : await Promise.all(who.map(limiter.find));
    const isCounted = (_: string, index: number): boolean => {
      const { tokensPerDay, tokensPerMonth } = found[index]?.limits ?? {};
      return all || Boolean(tokensPerDay ?? tokensPerMonth);
    };
    limiter.spend(who.filter(isCounted), tokens);
  };
}

export interface LimitObserverOptions extends Pick<RunSpendingOptions, 'agentOf'> {
  limiter: Pick<Limiter, 'leave' | 'reenter' | 'find' | 'unrecorded' | 'settle'>;
  spend: SpendOfRun;
  charge: Charge;
}

/** Counts what runs use, and gives back the places of turns that wait or have ended. */
export function createLimitObserver({ limiter, agentOf, spend, charge }: LimitObserverOptions): Observer {
  /** What runs have used that is being counted. */
  const counting = new Map<string, Promise<void>>();
  const settle = (runId: string): void => {
    limiter.leave(runId);
    const forget = (): void => {
      limiter.unrecorded.forget(runId);
      limiter.settle(runId);
    };
    const under = counting.get(runId);
    if (under) void under.then(forget);
    else forget();
  };
  return {
    created() {},
    started() {},
    appended(run, records) {
      const tokens = records.reduce((sum, record) => sum + tokensOf(record), 0);
      if (tokens === 0) return;
      for (const record of records)
        if (record.kind === 'model' && record.tokens) charge(run, answeringModel(record), record.tokens);
      // Once they are counted: in between they are in neither sum.
      const counted = spend(run, tokens).then(ignore, ignore);
      const all = Promise.all([counting.get(run.runId), counted]).then(() => {
        if (counting.get(run.runId) === all) counting.delete(run.runId);
        limiter.unrecorded.recorded(run.runId, tokens);
        limiter.settle(run.runId);
      });
      counting.set(run.runId, all);
    },
    waiting: ({ runId }) => settle(runId),
    resumed(run) {
      // Turns of the outside alone have places.
      if (run.kind !== 'agent' || run.parentRunId !== null) return;
      void Promise.all(whoOfRun(run, agentOf).map(limiter.find)).then(
        (found) =>
          limiter.reenter(
            run.runId,
            found.filter((limited) => limited !== undefined),
          ),
        () => {},
      );
    },
    ended: ({ runId }) => settle(runId),
  };
}

// --- internal ---

const ignore = (): void => {};

/** Of a call of a model, or of a step or a tool that has asked one. An attempt that failed has used them, too. */
function tokensOf({ tokens }: JournalRecord): number {
  return tokens?.totalTokens ?? 0;
}
