import { splitName } from '../definitions/subagents.ts';
import { chargedTo } from '../engine/box-marks.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { Limiter } from '../limits/limiter.ts';
import { whoOfAgent } from '../limits/limits.ts';
import type { Limited } from '../limits/limits.ts';

/** Holds turns to the limits of their agent and of who asks for them. */
export interface TurnLimits {
  /**
   * Before a turn begins that a caller from outside asks for. Throws `rate_limited` and `budget_exceeded`; else the turn has
   * its places until it waits or ends, or `leave` is called.
   */
  enter(turn: { runId: string; name: string; limited: readonly Limited[] }): Promise<void>;
  leave(runId: string): void;
  /** Before one goes on that waits for the client which asks for it. Throws the same. */
  enterAgain(turn: { runId: string; name: string; limited: readonly Limited[] }): Promise<void>;
  /**
   * Before one that a run asks for: it waits for no place, which the run may have itself. Throws `budget_exceeded`, which
   * a step is not to repeat; else `leave` is called when it does not begin.
   */
  enterBelow(turn: { runId: string; name: string }, parent: RunRow): Promise<void>;
}

export interface TurnLimitsOptions {
  /** Undefined: nothing has limits. */
  limiter?: Pick<Limiter, 'find' | 'admit' | 'enter' | 'admitAgain' | 'leave' | 'reserve' | 'settle'> | undefined;
}

export function createTurnLimits({ limiter }: TurnLimitsOptions): TurnLimits {
  if (!limiter) return { enter: async () => {}, leave() {}, enterAgain: async () => {}, enterBelow: async () => {} };
  const whoOf = (runName: string): string => whoOfAgent(splitName(runName).agent);
  return {
    async enter({ runId, name, limited }) {
      const agent = await limiter.find(whoOf(name));
      const own = agent ? [agent] : [];
      if (own.length === 0 && limited.length === 0) return;
      await limiter.admit(own);
      await limiter.enter(runId, [...own, ...limited]);
    },
    leave(runId) {
      limiter.settle(runId);
      limiter.leave(runId);
    },
    async enterAgain({ runId, name, limited }) {
      const agent = await limiter.find(whoOf(name));
      await limiter.admitAgain(runId, [...(agent ? [agent] : []), ...limited]);
    },
    async enterBelow({ runId, name }, parent) {
      try {
        await limiter.reserve([whoOf(name), ...chargedTo(parent)], { id: runId });
      } catch (error) {
        throw Object.assign(error as Error, { fatal: true });
      }
    },
  };
}
