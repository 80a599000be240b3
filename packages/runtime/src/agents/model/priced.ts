import type { ModelPrices } from '../../limits/prices.ts';
import { costOf } from '../../limits/prices.ts';
import { toTokens } from '../events/usage.ts';
import type { CallModel } from './client.ts';

/** The same calls: what a reply has cost is part of it, where the model has a price. */
export function withCost(callModel: CallModel, prices: () => ModelPrices): CallModel {
  return async (request, options, signal) => {
    const reply = await callModel(request, options, signal);
    const cost = costOf(prices(), reply.fallback ?? request.model, toTokens(reply.usage));
    return cost === undefined ? reply : { ...reply, cost };
  };
}
