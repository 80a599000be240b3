import { BoxError } from '../errors.ts';
import { yieldOnce } from '../yielder.ts';

export const MAX_DEPTH = 64;

/** What one body may be made of, on all its levels together. */
const MOST = {
  'objects and lists': 50_000,
  members: 50_000,
  items: 500_000,
};

/**
 * Counts what JSON text is made of, without making it: what a body costs to parse, check and record grows with its parts
 * far more than with its bytes. Throws `invalid_json` for one that nests deeper than 64, and `payload_too_large` for one
 * that is made of more than is taken. Whether it is JSON is for the parser to say. Yields to the event loop as it goes.
 */
export async function scanJson(bytes: Buffer): Promise<void> {
  const state: State = { at: 0, depth: 0, opened: 0, members: 0, commas: 0, isInText: false };
  while (state.at < bytes.length) {
    scanPiece(bytes, state, Math.min(bytes.length, state.at + PIECE));
    const { opened, members, commas } = state;
    checkMost('objects and lists', opened);
    checkMost('members', members);
    checkMost('items', commas - members);
    await yieldOnce();
  }
}

export function tooDeep(): BoxError {
  return new BoxError('invalid_json', `The body nests deeper than ${MAX_DEPTH} levels.`);
}

// --- internal ---

function checkMost(what: keyof typeof MOST, count: number): void {
  const limit = MOST[what];
  if (count <= limit) return;
  const message = `The body has more than ${limit} ${what}, the most that are taken. Send less at once.`;
  throw new BoxError('payload_too_large', message, { details: { limit } });
}

interface State {
  at: number;
  depth: number;
  opened: number;
  members: number;
  commas: number;
  isInText: boolean;
}

/** Bytes between two rounds of the event loop: a millisecond or two. */
const PIECE = 1_048_576;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

function scanPiece(bytes: Buffer, state: State, end: number): void {
  let { at, depth, opened, members, commas, isInText } = state;
  while (at < end) {
    const byte = bytes[at++] as number;
    if (isInText) {
      if (byte === QUOTE) isInText = false;
      else if (byte === BACKSLASH) at++;
    } else if (byte === QUOTE) isInText = true;
    else if (byte === COMMA) commas++;
    else if (byte === COLON) members++;
    else if (byte === 0x5b || byte === 0x7b) {
      opened++;
      if (++depth > MAX_DEPTH) throw tooDeep();
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  Object.assign(state, { at, depth, opened, members, commas, isInText });
}
