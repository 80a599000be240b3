import type { ChatMessage } from '../model/messages.ts';
import type { ModelTool } from '../../tools/box-tool.ts';

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
