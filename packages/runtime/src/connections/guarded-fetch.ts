import { BoxError } from '../errors.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { createPinnedFetch } from '../provider/pinned-fetch.ts';

export interface GuardedRequest {
  method: string;
  headers: Headers;
  body: string | Uint8Array | undefined;
  signal: AbortSignal | undefined;
}

/** Calls an address once: one that the policy lets through, and no other. The answer has at most 64 MiB. */
export type GuardedFetch = (url: URL, request: GuardedRequest) => Promise<Response>;

/**
 * Throws `connection_failed` for an address that must not be called, and for one that does not answer, or says nothing for so
 * long; in the middle of an answer, its body fails.
 */
export function createGuardedFetch(policy: EgressPolicy, silenceMs: number = SILENCE_MS): GuardedFetch {
  const refuse = (what: string): BoxError =>
    new BoxError('connection_failed', `${what}. List it in SVC_ALLOW_PRIVATE_EGRESS to let the box call it.`);
  const tooLong = (most: number): BoxError =>
    new BoxError('connection_failed', `The service answered more than ${most} bytes.`);
  const pinned = createPinnedFetch({ ...policy, refuse }, { tooLong, silenceMs });
  return async (url, { method, headers, body, signal }) => {
    const init = { method, headers, ...(body === undefined ? {} : { body }), ...(signal ? { signal } : {}) };
    try {
      return toWhole(await pinned(url, init as RequestInit));
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof BoxError ? error : unreachable(url, error);
    }
  };
}

// --- internal ---

/** As long as the platform's own fetch waits. */
const SILENCE_MS = 300_000;

/** With all that a Response has: what reads a model's answer needs less. */
function toWhole({ body, status, statusText, headers, url }: Response): Response {
  if (status < 200 || status > 599) throw new Error(`It answered with the status ${status}`);
  const stream = body && ReadableStream.from(body as unknown as AsyncIterable<Uint8Array>);
  const response = new Response(stream as ReadableStream<Uint8Array> | null, { status, statusText, headers });
  return Object.defineProperty(response, 'url', { value: url });
}

function unreachable({ origin }: URL, error: unknown): BoxError {
  const { message, code } = error as NodeJS.ErrnoException;
  return new BoxError('connection_failed', `${origin} could not be reached: ${code ?? message}.`, { cause: error });
}
