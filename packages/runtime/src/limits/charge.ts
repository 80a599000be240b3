import type { RunRow, Tokens } from '../engine/journal/run.ts';
import { chargedTo } from '../engine/box-marks.ts';
import type { Limiter } from './limiter.ts';
import { whoOfAgent } from './limits.ts';
import { costOf } from './prices.ts';
import type { ModelPrices } from './prices.ts';

export interface ChargeOptions {
  limiter: Pick<Limiter, 'charge'>;
  /** The agent of the workspace that a run's name is of. */
  agentOf(runName: string): string;
  /** As `svc.config.ts` has them now. */
  prices(): ModelPrices;
  /** Whether usage is counted that no limit is set for. */
  countsAll(): boolean;
}

/** A call of a model has used tokens. Returns at once, and never throws. */
export type Charge = (run: RunRow, model: string, tokens: Tokens) => void;

/** Adds what calls of models have cost to whom they were made for, and with their tokens to the models. */
export function createCharge({ limiter, agentOf, prices, countsAll }: ChargeOptions): Charge {
  return (run, model, tokens) => {
    if (!countsAll()) return;
    limiter.charge(whoOfRun(run, agentOf), model, {
      tokens: tokens.totalTokens,
      cost: costOf(prices(), model, tokens) ?? 0,
    });
  };
}

/** Who what a run uses is counted for. */
export function whoOfRun(run: RunRow, agentOf: (runName: string) => string): string[] {
  return [...(run.kind === 'agent' ? [whoOfAgent(agentOf(run.name))] : []), ...chargedTo(run)];
}
