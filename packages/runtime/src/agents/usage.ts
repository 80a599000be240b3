import type { Tokens } from '../engine/journal.ts';
import type { Usage } from '../wires/events.ts';

export function addUsage(a: Usage, b: Usage, sign: 1 | -1 = 1): Usage {
  return {
    inputTokens: a.inputTokens + sign * b.inputTokens,
    outputTokens: a.outputTokens + sign * b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + sign * b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + sign * b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + sign * b.reasoningTokens,
  };
}

export function subtractUsage(a: Usage, b: Usage): Usage {
  return addUsage(a, b, -1);
}

/** As a run counts them. */
export function toTokens(usage: Usage): Tokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens: inputTokens + outputTokens };
}
