import { BoxError } from '../errors.ts';
import type { Credential } from './credentials.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { Resolved } from './resolve.ts';

export interface CallOptions {
  /** By the address that is called first, for all that it leads to. */
  fetchFor(first: URL): GuardedFetch;
  /** Another one in place of a token that the service has not taken. */
  credential(rejected?: string): Promise<Credential>;
  signal: AbortSignal | undefined;
}

/**
 * Calls the service with its credential, which its own origins are sent and nobody else. Follows three redirects. A token
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
  const answer = await follow({ service, request, body, signal, fetch, redirect: request.redirect }, used);
  if (answer.status !== 401 || used.token === undefined) return answer;
  const next = await credential(used.token).catch((error: unknown) => {
    // The service says no, and there is nothing better to ask it with: that is its answer.
    if (error instanceof BoxError && error.code === 'connection_failed') return undefined;
    throw error;
  });
  if (!next || next.token === used.token) return answer;
  await answer.body?.cancel();
  return follow({ service, request, body, signal, fetch, redirect: request.redirect }, next);
}

// --- internal ---

interface Call {
  service: Resolved;
  request: Request;
  body: Uint8Array | undefined;
  signal: AbortSignal | undefined;
  fetch: GuardedFetch;
  redirect: Request['redirect'];
}

const MOST_BYTES = 32 * 1_048_576;
const MOST_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

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

async function follow(
  { service, request, body, signal, fetch, redirect }: Call,
  credential: Credential,
): Promise<Response> {
  let url = new URL(request.url);
  let { method } = request;
  let sent = body;
  for (let redirects = 0; ; redirects++) {
    const headers = toHeaders(request.headers, service, credential, service.origins.includes(url.origin));
    if (sent === undefined) for (const name of OF_BODY) headers.delete(name);
    const answer = await fetch(url, { method, headers, body: sent, signal: toSignal(request, signal) });
    const location = REDIRECTS.has(answer.status) ? answer.headers.get('location') : null;
    if (location === null || redirect === 'manual') return answer;
    await answer.body?.cancel();
    if (redirect === 'error' || redirects === MOST_REDIRECTS || !URL.canParse(location, url.href))
      throw new BoxError('connection_failed', `${url.origin} redirects where it is not followed.`);
    const next = new URL(location, url);
    if (next.protocol !== 'https:' && next.protocol !== url.protocol)
      throw new BoxError('connection_failed', `${url.origin} redirects to an address that is not https.`);
    if (answer.status === 303 || (answer.status < 303 && method === 'POST')) {
      method = method === 'HEAD' ? 'HEAD' : 'GET';
      sent = undefined;
    }
    url = next;
  }
}

const OF_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language'];
/** What only the service itself is to see. */
const OWN = ['authorization', 'cookie', 'proxy-authorization'];

function toHeaders(given: Headers, service: Resolved, { header, value }: Credential, isOwn: boolean): Headers {
  const headers = new Headers(given);
  // A stream of an unknown length was read; what is sent has one.
  headers.delete('content-length');
  headers.delete('host');
  if (!isOwn) {
    for (const name of [...OWN, header]) headers.delete(name);
    return headers;
  }
  for (const [name, text] of Object.entries(service.headers)) if (!headers.has(name)) headers.set(name, text);
  try {
    headers.set(header, value);
  } catch {
    // The error would show the value.
    throw new BoxError(
      'connection_not_ready',
      `The credential of the connection "${service.connectionId}" holds characters that no header carries. Send it anew with PUT /api/connections/${service.connectionId}/credential.`,
    );
  }
  return headers;
}

function toSignal(request: Request, signal: AbortSignal | undefined): AbortSignal {
  return signal ? AbortSignal.any([request.signal, signal]) : request.signal;
}
