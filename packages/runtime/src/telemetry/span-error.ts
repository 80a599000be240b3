import { decode } from '../engine/serialize.ts';
import type { Mask } from '../mask.ts';
import type { SpanError } from './span.ts';

/** The error a record or a run holds. A message may quote anything, so secrets are taken out of it. */
export function toSpanError(encoded: string | null, mask: Mask): SpanError {
  const { name, message, code } = read(encoded) as { name?: unknown; message?: unknown; code?: unknown };
  const type = typeof code === 'string' && code !== '' ? code : typeof name === 'string' ? name : '_OTHER';
  return { type, message: mask.text(typeof message === 'string' ? message : 'It failed.').slice(0, MAX_MESSAGE) };
}

// --- internal ---

const MAX_MESSAGE = 2_000;

function read(encoded: string | null): object {
  try {
    const error = encoded === null ? {} : decode(encoded);
    return typeof error === 'object' && error !== null ? error : { message: String(error) };
  } catch {
    return {};
  }
}
