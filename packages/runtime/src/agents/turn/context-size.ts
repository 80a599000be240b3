import type { ChatMessage } from '../model/messages.ts';
import type { ModelTool } from '../model/client.ts';

/** How much of a conversation the model is shown. */
export interface ContextOptions {
  /** Tokens the model takes. Default 128,000. */
  maxTokens?: number;
  /** The share of them, up to 1, at which older messages are summarised. Default 0.8. */
  compactAt?: number;
}

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

/** An estimate: four bytes of text are a token, an image is a thousand. */
export function estimateTokens(parts: readonly (ChatMessage | ModelTool)[]): number {
  let images = 0;
  const text = JSON.stringify(parts, (_key, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith('data:')) return value;
    images += 1;
    return '';
  });
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + images * IMAGE_TOKENS;
}

// --- internal ---

const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1_000;
