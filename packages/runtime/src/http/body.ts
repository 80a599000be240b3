import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { ServerRequest } from 'srvx';
import { currentRequest } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import { yieldOnce } from '../yielder.ts';
import { bodyBudgetOf } from './body-budget.ts';
import type { BodyShare } from './body-budget.ts';
import { MAX_DEPTH, scanJson, tooDeep } from './json-scan.ts';

export interface BodyOptions {
  /** Bytes. Default 1 MiB. */
  limit?: number;
  /** What an empty body stands for; without it an empty body is refused. */
  emptyAs?: unknown;
  /** Refuse the keys `__proto__` and `constructor`. Default true. */
  refuseProtoKeys?: boolean;
}

const MIB = 1_048_576;

/**
 * Reads a JSON body: 415 without a JSON content type, 413 above the limit or of more parts than are taken, 400 when it
 * is not JSON or nests deeper than 64.
 */
export async function readJson(request: Request, options: BodyOptions = {}): Promise<unknown> {
  const { limit = MIB, refuseProtoKeys = true } = options;
  const bytes = await readBytes(request, { limit, isAnonymous: false });
  if (bytes.length === 0 && 'emptyAs' in options) return options.emptyAs;
  return parseJson(bytes, refuseProtoKeys);
}

/** The same of a body that has been read. */
export async function parseJson(bytes: Buffer, refuseProtoKeys = true): Promise<unknown> {
  const isLarge = bytes.length > SMALL;
  if (isLarge) await scanJson(bytes);
  const text = isLarge ? await decodeText(bytes) : bytes.toString('utf8');
  const value = parse(text);
  if (isLarge) await yieldOnce();
  inspectJson(value, refuseProtoKeys);
  if (isLarge) await yieldOnce();
  return value;
}

/** Refuses a value that nests deeper than 64, and one with the keys `__proto__` and `constructor`. */
export function inspectJson(value: unknown, refuseProtoKeys = true): void {
  inspect(value, 0, refuseProtoKeys);
}

/** Reads a body as it is, of whoever has shown a credential: 413 above the limit. */
export function readFileBody(request: Request, limit: number): Promise<Buffer> {
  return readBytes(request, { limit, isAnonymous: false });
}

/** Reads a body as it is, of whoever has shown no credential: 413 above the limit. */
export function readBody(request: Request, limit = MIB): Promise<Buffer> {
  return readBytes(request, { limit, isAnonymous: true });
}

/** True for `application/json` and `application/<x>+json`, with any parameters. */
export function isJsonType(contentType: string | null): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '');
}

// --- internal ---

/** Of whoever stands behind a trusted proxy, not of the proxy. */
function addressOfAnonymous({ socket }: IncomingMessage): string {
  return currentRequest()?.address?.() ?? socket.remoteAddress ?? '';
}

interface Reading {
  limit: number;
  isAnonymous: boolean;
}

async function readBytes(request: Request, { limit, isAnonymous }: Reading): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit);
  try {
    const socket = (request as ServerRequest).runtime?.node?.req as IncomingMessage | undefined;
    if (socket && !socket.readableEnded)
      return await readSocket(
        socket,
        limit,
        bodyBudgetOf(socket)?.open(isAnonymous ? addressOfAnonymous(socket) : undefined),
      );
    return request.body ? await readStream(request.body, limit) : Buffer.alloc(0);
  } catch (error) {
    if (error instanceof BoxError) throw error;
    throw new BoxError('invalid_request', 'The body broke off before its end.', { cause: error });
  }
}

async function readStream(body: ReadableStream<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The same of a request that came over a socket, without the web stream of its body, which costs more than all else. */
function readSocket(socket: IncomingMessage, limit: number, share: BodyShare | undefined): Promise<Buffer> {
  return new Promise<Buffer>((resolve, reject) => {
    const body = new Gathered(limit, share);
    socket.on('data', (chunk: Buffer) => {
      try {
        body.add(chunk);
      } catch (error) {
        // The rest is let through unread, so that the answer is read.
        body.drop();
        reject(error as Error);
      }
    });
    socket.once('end', () => resolve(body.bytes()));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The connection was closed.')));
  }).finally(() => share?.giveBack());
}

/** Bytes that have come, in one piece that grows: of a client that sends byte by byte, a list would hold far more. */
class Gathered {
  readonly #limit: number;
  readonly #share: BodyShare | undefined;
  #bytes: Buffer | undefined;
  #size = 0;
  #isDropped = false;

  constructor(limit: number, share: BodyShare | undefined) {
    this.#limit = limit;
    this.#share = share;
  }

  /** Throws `payload_too_large` and `overloaded`. */
  add(chunk: Buffer): void {
    if (this.#isDropped) return;
    const size = this.#size + chunk.byteLength;
    if (size > this.#limit) throw tooLarge(this.#limit);
    if (this.#size === 0) {
      // Most bodies come at once.
      this.#share?.take(chunk.byteLength);
      this.#bytes = chunk;
    } else {
      if (size > (this.#bytes?.byteLength ?? 0)) this.#grow(size);
      chunk.copy(this.#bytes as Buffer, this.#size);
    }
    this.#size = size;
  }

  bytes(): Buffer {
    return this.#bytes?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }

  drop(): void {
    this.#isDropped = true;
    this.#bytes = undefined;
  }

  #grow(size: number): void {
    const before = this.#bytes?.byteLength ?? 0;
    const larger = Math.max(size, Math.min(this.#limit, Math.max(2 * before, FIRST_PIECE)));
    this.#share?.take(larger - before);
    const piece = Buffer.allocUnsafeSlow(larger);
    this.#bytes?.copy(piece);
    this.#bytes = piece;
  }
}

/** The same text as `toString()` makes, with a round of the event loop after each piece: what is not ASCII takes a while. */
async function decodeText(bytes: Buffer): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += decoder.write(bytes.subarray(at, at + PIECE));
    await yieldOnce();
  }
  return text + decoder.end();
}

/** Bytes that are decoded at once. */
const PIECE = 1_048_576;

/** Bytes of a body that is made and checked in a moment, whatever is in it. */
const SMALL = 131_072;

/** Bytes. */
const FIRST_PIECE = 16_384;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Without the piece of the body that it quotes: that may be a secret.
    const reason = error instanceof Error ? error.message.replace(/, (?:\.{3})?".*$/s, '') : '';
    throw new BoxError('invalid_json', `The body is not JSON: ${reason}.`);
  }
}

function inspect(value: unknown, depth: number, refuseProtoKeys: boolean): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) throw tooDeep();
  if (Array.isArray(value)) {
    for (const item of value) inspect(item, depth + 1, refuseProtoKeys);
    return;
  }
  for (const key of Object.keys(value)) {
    if (refuseProtoKeys && (key === '__proto__' || key === 'constructor'))
      throw new BoxError('invalid_json', `The body has a member named "${key}", which is refused.`);
    inspect((value as Record<string, unknown>)[key], depth + 1, refuseProtoKeys);
  }
}

function tooLarge(limit: number): BoxError {
  return new BoxError('payload_too_large', `The body is larger than ${limit} bytes.`, { details: { limit } });
}
