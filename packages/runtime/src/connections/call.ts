import { BoxError } from '../errors.ts';
import type { Credential } from './credentials.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { followRedirects, toForeignHeaders } from './redirects.ts';
import type { Resolved } from './resolve.ts';

export interface CallOptions {
  /** By the address that is called first, for all that it leads to. */
  fetchFor(first: URL): GuardedFetch;
  /** Another one in place of a token that the service has not taken. */
  credential(rejected?: string): Promise<Credential>;
  signal: AbortSignal | undefined;
}

/**
 * Calls the service with its credential, which its own origins are sent and no one else. Follows three redirects. A token
 * that is answered with 401 is replaced, and the call made once more.
 */
export async function callService(
  service: Resolved,
  input: string | URL | Request,
  init: RequestInit,
  { fetchFor, credential, signal }: CallOptions,
): Promise<Response> {
  const request = toRequest(service, input, init);
  const body = await readBody(request);
  const fetch = fetchFor(new URL(request.url));
  const used = await credential();
  const answer = await follow({ service, request, body, signal, fetch }, used);
  if (answer.status !== 401 || used.token === undefined) return answer;
  const next = await credential(used.token).catch((error: unknown) => {
    // The service says no, and there is nothing better to ask it with: that is its answer.
    if (error instanceof BoxError && error.code === 'connection_failed') return undefined;
    throw error;
  });
  if (!next || next.token === used.token) return answer;
  await answer.body?.cancel();
  return follow({ service, request, body, signal, fetch }, next);
}

// --- internal ---

interface Call {
  service: Resolved;
  request: Request;
  body: Uint8Array | undefined;
  signal: AbortSignal | undefined;
  fetch: GuardedFetch;
}

const MOST_BYTES = 32 * 1_048_576;

/** Relative to the address of the service: `/user` and `user` are both below it. */
function toRequest(
  { baseUrl, connectionId, origins }: Resolved,
  input: string | URL | Request,
  init: RequestInit,
): Request {
  const text = input instanceof Request ? input.url : String(input);
  const isWhole = /^[a-z][a-z\d+.-]*:/i.test(text);
  const base = baseUrl.replace(/\/+$/, '');
  const path = text.replace(/^\/+/, '');
  const address = isWhole ? text : text === '' ? baseUrl : `${base}/${path}`;
  if (!URL.canParse(address))
    throw new BoxError('connection_invalid', `"${text}" is no address, and no path at ${base}.`);
  const url = new URL(address);
  if (!origins.includes(url.origin))
    throw new BoxError(
      'connection_invalid',
      `The connection "${connectionId}" does not call ${url.origin}. Its credential goes to ${origins.join(', ')}; another origin is listed in "origins" when it is made.`,
    );
  return new Request(input instanceof Request ? input : url, init);
}

async function readBody(request: Request): Promise<Uint8Array | undefined> {
  if (request.body === null) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MOST_BYTES)
      throw new BoxError('connection_invalid', `The body has more than ${MOST_BYTES} bytes, the most that is sent.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function follow({ service, request, body, signal, fetch }: Call, credential: Credential): Promise<Response> {
  return followRedirects({
    fetch,
    url: new URL(request.url),
    method: request.method,
    body,
    headersFor: (url) => toHeaders(request.headers, service, credential, service.origins.includes(url.origin)),
    signal: toSignal(request, signal),
    redirect: request.redirect,
  });
}

function toHeaders(given: Headers, service: Resolved, { header, value }: Credential, isOwn: boolean): Headers {
  const headers = new Headers(given);
  // A stream of an unknown length was read; what is sent has one.
  headers.delete('content-length');
  headers.delete('host');
  if (!isOwn) {
    const foreign = toForeignHeaders(headers);
    foreign.delete(header);
    return foreign;
  }
  for (const [name, text] of Object.entries(service.headers)) if (!headers.has(name)) headers.set(name, text);
  try {
    headers.set(header, value);
  } catch {
    // The error would show the value.
    throw new BoxError(
      'connection_not_ready',
      `The credential of the connection "${service.connectionId}" holds characters that no header can carry. Send it again with PUT /api/connections/${service.connectionId}/credential.`,
    );
  }
  return headers;
}

function toSignal(request: Request, signal: AbortSignal | undefined): AbortSignal {
  return signal ? AbortSignal.any([request.signal, signal]) : request.signal;
}
