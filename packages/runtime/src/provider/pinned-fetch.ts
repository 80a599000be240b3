import { Readable } from 'node:stream';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { BoxError } from '../errors.ts';
import { createLookup, requireLiteral } from './egress.ts';
import type { EgressPolicy } from './egress.ts';

export type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` for addresses that came over the API: it connects to an address the policy lets through and to no other,
 * follows no redirect, and breaks off an answer of more than 64 MiB. Takes a text as the body.
 */
export function createPinnedFetch(policy: EgressPolicy): Fetch {
  const lookup = createLookup(policy);
  const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    requireLiteral(url, policy);
    const isPlain = url.protocol === 'http:';
    const { method = 'GET', headers, body, signal } = init;
    const options = {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
      agent: agents[isPlain ? 'http:' : 'https:'],
      lookup,
      ...(signal ? { signal } : {}),
    };
    return new Promise<Response>((resolve, reject) => {
      const send = isPlain ? httpRequest : httpsRequest;
      const request = send(url, options, (message) => resolve(toResponse(message)));
      request.on('error', reject);
      request.end(typeof body === 'string' ? body : undefined);
    });
  };
}

// --- internal ---

const MOST_BYTES = 64 * 1_024 * 1_024;
const EMPTY = new Set([204, 205, 304]);

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 502, headersDistinct } = message;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  if (EMPTY.has(status)) message.resume();
  return new Response(EMPTY.has(status) ? null : (Readable.toWeb(Readable.from(capped(message))) as ReadableStream), {
    status,
    headers,
  });
}

async function* capped(message: IncomingMessage): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > MOST_BYTES)
      throw new BoxError('model_provider_failed', `The model provider answered more than ${MOST_BYTES} bytes.`);
    yield chunk;
  }
}
