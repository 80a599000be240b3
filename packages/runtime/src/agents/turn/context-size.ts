import type { ChatMessage } from '../model/messages.ts';
import { REFERENCE } from '../files/reference.ts';
import type { ModelTool } from '../../tools/box-tool.ts';

/** An estimate: four bytes of text are a token, an image is a thousand. */
export function estimateTokens(parts: readonly (ChatMessage | ModelTool)[]): number {
  let images = 0;
  const text = JSON.stringify(parts, (_key, value: unknown) => {
    if (typeof value !== 'string' || !FILES.some((head) => value.startsWith(head))) return value;
    images += 1;
    return '';
  });
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + images * IMAGE_TOKENS;
}

// --- internal ---

/** What the bytes of a file begin with, and what stands for them. */
const FILES = ['data:', REFERENCE];
const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1_000;
