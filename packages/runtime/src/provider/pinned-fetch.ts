import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createLookup, requireLiteral } from './egress.ts';
import type { EgressPolicy } from './egress.ts';
import { createHttpFetch } from './http-fetch.ts';
import type { Fetch, HttpFetchOptions } from './http-fetch.ts';

export interface PinnedOptions extends Pick<HttpFetchOptions, 'tooLong' | 'silenceMs'> {
  /** Milliseconds for which a connection is kept that nothing uses. Default: a minute. */
  idleMs?: number;
}

/**
 * A `fetch` for addresses that came over the API: it connects to an address the policy lets through and to no other,
 * follows no redirect, and breaks off an answer of more than 64 MiB. Takes a text or bytes as the body.
 */
export function createPinnedFetch(
  policy: EgressPolicy,
  { idleMs = LONGEST_IDLE_MS, tooLong, silenceMs }: PinnedOptions = {},
): Fetch {
  const kept = { keepAlive: true, timeout: idleMs };
  return createHttpFetch({
    check: (url) => requireLiteral(url, policy),
    lookup: createLookup(policy),
    agents: { http: new HttpAgent(kept), https: new HttpsAgent(kept) },
    ...(tooLong ? { tooLong } : {}),
    ...(silenceMs === undefined ? {} : { silenceMs }),
  });
}

// --- internal ---

/** Gateways forget a connection after minutes without a word: what is sent over it then is never answered. */
const LONGEST_IDLE_MS = 60_000;
