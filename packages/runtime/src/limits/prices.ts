import { checkMembers } from '../definition-checks.ts';
import type { Tokens } from '../engine/journal/run.ts';

/** What a million tokens of a model cost, in whichever currency all prices of the workspace are. */
export interface ModelPrice {
  inputPerMillion: number;
  outputPerMillion: number;
  /** Of input that the provider had in its cache. Default: as other input. */
  cacheReadPerMillion?: number;
  /** Of input that the provider put into its cache. Default: as other input. */
  cacheWritePerMillion?: number;
}

/** By the id that the model is asked by. */
export type ModelPrices = Record<string, ModelPrice>;

/** Undefined: there is no price for the model. */
export function costOf(prices: ModelPrices, model: string, tokens: Tokens): number | undefined {
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  if (!price) return undefined;
  const { inputPerMillion, cacheReadPerMillion = inputPerMillion, cacheWritePerMillion = inputPerMillion } = price;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokens;
  // The input has what is in the cache in it.
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const millionths =
    fresh * inputPerMillion +
    cacheReadTokens * cacheReadPerMillion +
    cacheWriteTokens * cacheWritePerMillion +
    outputTokens * price.outputPerMillion;
  return millionths / MILLION;
}

/** A sum of many small parts, without what is an error of adding them. */
export function toAmount(cost: number): number {
  return Number(cost.toFixed(9));
}

/** Throws a sentence on a member that is not known, and on a price that is none. */
export function checkPrices(prices: unknown): void {
  if (prices === undefined) return;
  if (typeof prices !== 'object' || prices === null || Array.isArray(prices))
    throw new TypeError('"prices" of svc.config.ts is no object of prices by model.');
  for (const [model, price] of Object.entries(prices as Record<string, unknown>)) {
    const what = `"prices" of svc.config.ts for "${model}"`;
    const given = (price ?? {}) as Record<string, unknown>;
    checkMembers(what, given, [...NEEDED, ...OTHERS]);
    const wrong = [...NEEDED, ...OTHERS.filter((name) => given[name] !== undefined)].find(
      (name) => !isPrice(given[name]),
    );
    if (wrong !== undefined) throw new TypeError(`${what}: "${wrong}" is no number from 0 to ${MILLION}.`);
  }
}

// --- internal ---

const MILLION = 1_000_000;
const NEEDED = ['inputPerMillion', 'outputPerMillion'] as const;
const OTHERS = ['cacheReadPerMillion', 'cacheWritePerMillion'] as const;

function isPrice(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MILLION;
}
