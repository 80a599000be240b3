import { createHash } from 'node:crypto';
import { createYielder } from '../../yielder.ts';
import type { Place } from './places.ts';

/** Base64 as a part holds it. */
export interface Inline {
  /** Where in the text it begins: behind the head of a data: URL. */
  from: number;
  mediaType: string;
  /** Of the bytes, should it be base64 throughout. */
  size: number;
  isPlain: boolean;
}

export interface Decoded {
  bytes: Buffer;
  /** SHA-256, in hex. */
  digest: string;
}

/** Undefined: an address, or something else than base64. */
export function findInline({ kind, text, format }: Pick<Place, 'kind' | 'text' | 'format'>): Inline | undefined {
  const [head, mediaType] = HEAD.exec(text.slice(0, LONGEST_HEAD)) ?? [];
  if (head !== undefined && mediaType !== undefined)
    return { from: head.length, mediaType, size: sizeOf(text, head.length), isPlain: false };
  const isPlain = (kind === 'input_audio' || kind === 'file') && !text.slice(0, LONGEST_HEAD).includes(':');
  if (!isPlain) return undefined;
  const type = kind === 'file' ? 'application/octet-stream' : `audio/${format ?? 'wav'}`;
  return { from: 0, mediaType: TYPE.test(type) ? type : 'application/octet-stream', size: sizeOf(text, 0), isPlain };
}

/** The bytes, read in pieces between which others have their turn. Undefined: it is no base64. */
export async function decodeInline(
  text: string,
  { from, size }: Pick<Inline, 'from' | 'size'>,
): Promise<Decoded | undefined> {
  const bytes = Buffer.allocUnsafe(size);
  const hash = createHash('sha256');
  const yielder = createYielder(HELD_MS);
  let at = 0;
  for (let start = from; start < text.length; start += PIECE) {
    const piece = text.slice(start, start + PIECE);
    const written = bytes.write(piece, at, 'base64');
    const isLast = start + PIECE >= text.length;
    // What is no base64 is left out by the decoder.
    if (written !== (isLast ? size - at : PIECE_BYTES)) return undefined;
    hash.update(bytes.subarray(at, at + written));
    at += written;
    await yielder.yieldIfDue();
  }
  return at === size ? { bytes, digest: hash.digest('hex') } : undefined;
}

export async function encodeBase64(bytes: Buffer): Promise<string> {
  const yielder = createYielder(HELD_MS);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    pieces.push(bytes.toString('base64', at, at + PIECE_BYTES));
    await yielder.yieldIfDue();
  }
  return pieces.join('');
}

// --- internal ---

const HEAD = /^data:([\u0021-\u002B\u002D-\u007E]{3,255});base64,/;
const TYPE = /^[\u0021-\u007E]{3,255}$/;
const LONGEST_HEAD = 280;
/** Characters that are decoded in one go: about a millisecond, with their hash. */
const PIECE = 262_144;
const PIECE_BYTES = (PIECE / 4) * 3;
const HELD_MS = 2;

function sizeOf(text: string, from: number): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - from - padding) * 3) / 4);
}
