import { request as httpRequest } from 'node:http';
import type { Agent as HttpAgent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { BoxError } from '../errors.ts';
import { capAnswer } from '../http/capped-answer.ts';
import { yieldOnce } from '../yielder.ts';

export type Fetch = typeof globalThis.fetch;

export interface HttpFetchOptions {
  /** Throws when the address is not to be called. Default: any is. */
  check?(url: URL): void;
  lookup?: RequestOptions['lookup'];
  /** Default: those of the process, which keep connections open. */
  agents?: { http: HttpAgent; https: HttpsAgent };
  /** Bytes of an answer, after which it breaks off. Default: 64 MiB. */
  mostBytes?: number;
  /** What is thrown of a longer one. Default: that it is the model provider's. */
  tooLong?(mostBytes: number): Error;
  /** Milliseconds without a byte in either direction, after which it fails or its answer breaks off. Default: no bound. */
  silenceMs?: number;
  /** Those that keep method and body. Default: any redirect is the answer. */
  followsRedirects?: boolean;
}

/**
 * A `fetch` over node:http, as far as the SDK and our readers use one: the answer's body is what Node reads, and no web
 * stream. A short call takes a third of the time. Takes a text or bytes as the body.
 */
export function createHttpFetch(options: HttpFetchOptions = {}): Fetch {
  const { check, followsRedirects = false, mostBytes = MOST_BYTES, tooLong = tooLongAnswer } = options;
  const most = { mostBytes, tooLong };
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    check?.(url);
    const message = await send(url, init, options);
    const isRedirect = message.statusCode !== undefined && REDIRECTS.has(message.statusCode);
    if (!isRedirect || !followsRedirects || init.redirect === 'manual') return toResponse(url, message, most);
    message.resume();
    // Rare, and full of rules: what is sent on, and where.
    return capAnswer(await globalThis.fetch(input, init), { mostBytes, tooLong: () => tooLong(mostBytes) });
  };
}

// --- internal ---

const MOST_BYTES = 64 * 1_048_576;
/** After any other a POST is asked for again as a GET. */
const REDIRECTS = new Set([307, 308]);
/** Characters of a body that takes more than a moment to send. */
const LARGE = 1_048_576;
/** Bytes. */
const PIECE = 262_144;
const EMPTY = new Set([204, 205, 304]);
const CLOSED = new Set<string | undefined>(['ECONNRESET', 'EPIPE']);

async function send(
  url: URL,
  init: RequestInit,
  { lookup, agents, silenceMs }: HttpFetchOptions,
): Promise<IncomingMessage> {
  const { method = 'GET', headers, body, signal } = init;
  const isPlain = url.protocol === 'http:';
  const agent = isPlain ? agents?.http : agents?.https;
  const options = {
    method,
    headers: toHeaders(headers),
    ...(agent ? { agent } : {}),
    ...(lookup ? { lookup } : {}),
  };
  const content = typeof body === 'string' || body instanceof Uint8Array ? body : undefined;
  for (;;) {
    const request = (isPlain ? httpRequest : httpsRequest)(url, options);
    if (silenceMs !== undefined) breakOff(request, silenceMs);
    try {
      return await sendOne(request, content, signal ?? undefined);
    } catch (error) {
      // A kept connection that the other side has closed meanwhile: the request never arrived.
      if (!request.reusedSocket || !CLOSED.has((error as NodeJS.ErrnoException).code)) throw error;
    }
  }
}

/** The socket's own timer: it is no other request's once this one is over. */
function breakOff(request: ClientRequest, silenceMs: number): void {
  request.setTimeout(silenceMs, () => request.destroy(new Error(`no word within ${silenceMs / 1_000} s`)));
}

function sendOne(
  request: ClientRequest,
  content: string | Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    // Not as an option of the request: that watches every end a stream can have.
    const onAbort = (): void => void request.destroy(toError(signal?.reason));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    request.once('close', () => signal?.removeEventListener('abort', onAbort));
    if (signal?.aborted) return;
    if (content === undefined || content.length < LARGE) request.end(content);
    else sendLarge(request, content).catch(reject);
  });
}

/** In pieces, as they are taken: node would copy a large text, and hand it to the system, while no one else has a turn. */
async function sendLarge(request: ClientRequest, content: string | Uint8Array): Promise<void> {
  await yieldOnce();
  const bytes = Buffer.from(content as string);
  request.setHeader('content-length', bytes.length);
  await yieldOnce();
  // One that is closed meanwhile has failed for that.
  const closed = new Promise<void>((resolve) => request.once('close', resolve));
  for (let at = 0; at < bytes.length && !request.destroyed; at += PIECE)
    if (!request.write(bytes.subarray(at, at + PIECE)))
      await Promise.race([new Promise<void>((resolve) => request.once('drain', resolve)), closed]);
  request.end();
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function toHeaders(headers: RequestInit['headers']): Record<string, string> {
  const entries = headers instanceof Headers || Array.isArray(headers) ? headers : Object.entries(headers ?? {});
  return { ...Object.fromEntries(entries as Iterable<[string, string]>), 'accept-encoding': 'identity' };
}

function toResponse(url: URL, message: IncomingMessage, most: Most): Response {
  const { statusCode: status = 502, statusMessage: statusText = '' } = message;
  if (EMPTY.has(status)) message.resume();
  const body = EMPTY.has(status) ? null : toBody(message, most);
  const text = async (): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  };
  let known: Headers | undefined;
  const response = {
    url: url.href,
    status,
    statusText,
    ok: status >= 200 && status < 300,
    get headers() {
      return (known ??= toResponseHeaders(message));
    },
    body,
    text,
    json: async (): Promise<unknown> => JSON.parse(await text()),
  };
  return response as unknown as Response;
}

type Most = Required<Pick<HttpFetchOptions, 'mostBytes' | 'tooLong'>>;

/** What our readers ask of a body: to be read once, or to be released. */
type Body = AsyncIterable<Uint8Array> & { cancel(): Promise<void> };

function toBody(message: IncomingMessage, most: Most): Body {
  const source = toPlain(message);
  const cancel = async (): Promise<void> => void message.destroy();
  return {
    cancel,
    [Symbol.asyncIterator]: () => capped(source, most),
  };
}

/** No compression was asked for; some compress all the same. */
function toPlain(message: IncomingMessage): Readable {
  const unpack = UNPACK[message.headers['content-encoding']?.trim().toLowerCase() ?? ''];
  if (!unpack) return message;
  const plain = unpack();
  message.on('error', (error) => plain.destroy(error));
  plain.on('close', () => message.destroy());
  return message.pipe(plain);
}

const UNPACK: Record<string, (() => ReturnType<typeof createUnzip>) | undefined> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
};

function toResponseHeaders({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}

/** By hand: a generator would cost every piece of an answer two more promises. */
function capped(source: Readable, { mostBytes, tooLong }: Most): AsyncIterator<Uint8Array> {
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let size = 0;
  return {
    async next() {
      const piece = await pieces.next();
      if (piece.done) return piece;
      size += piece.value.byteLength;
      if (size <= mostBytes) return piece;
      source.destroy();
      throw tooLong(mostBytes);
    },
    return: async () => (await pieces.return?.()) ?? { done: true, value: undefined },
  };
}

function tooLongAnswer(mostBytes: number): BoxError {
  return new BoxError('model_provider_failed', `The model provider answered more than ${mostBytes} bytes.`);
}
