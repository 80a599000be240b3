import type { ContextOptions } from './agent.ts';

const MAX_TOKENS = 128_000;
const COMPACT_AT = 0.8;

/** The tokens at which older messages are summarised. */
export function compactionLimit({ maxTokens = MAX_TOKENS, compactAt = COMPACT_AT }: ContextOptions = {}): number {
  return Math.floor(maxTokens * compactAt);
}

/** Throws a sentence when a part is wrong. */
export function checkContext({ maxTokens = MAX_TOKENS, compactAt = COMPACT_AT }: ContextOptions = {}): void {
  if (!(Number.isInteger(maxTokens) && maxTokens > 0))
    throw new TypeError(`context.maxTokens is ${String(maxTokens)}; it must be a whole number from 1.`);
  if (!(typeof compactAt === 'number' && compactAt > 0 && compactAt <= 1))
    throw new TypeError(`context.compactAt is ${String(compactAt)}; it must be a share above 0, up to 1.`);
}
