import type { JSONWebKeySet } from 'jose';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';

/** The public keys of whoever signs tokens. */
export interface KeySet {
  /** `kid`: a key the caller looks for; where the set lacks it, it is read again. Throws `identity_keys_unavailable`. */
  read(kid: string): Promise<JSONWebKeySet>;
}

export interface KeySetOptions {
  url: string;
  /** Whose keys they are. Default: the control plane. */
  of?: string;
  log: Log;
  now(): number;
  fetch?: typeof fetch;
}

/**
 * Kept for ten minutes, and read again for an unknown key at most every 30 s. While their address cannot be
 * reached, the keys it last gave are good for an hour.
 */
export function createKeySet({
  url,
  of = 'the control plane',
  log,
  now,
  fetch: request = fetch,
}: KeySetOptions): KeySet {
  let kept: { set: JSONWebKeySet; readAt: number } | undefined;
  let triedAt = -Infinity;
  let pending: Promise<void> | undefined;

  const readAgain = async (): Promise<void> => {
    triedAt = now();
    try {
      kept = { set: await fetchKeySet(url, request), readAt: now() };
    } catch (error) {
      log.warn(`The keys of ${of} cannot be read.`, { url, error });
    }
  };
  const refresh = (): Promise<void> => (pending ??= readAgain().finally(() => (pending = undefined)));

  return {
    async read(kid) {
      const mayTry = now() - triedAt >= AGAIN_MS;
      const isOld = !kept || now() - kept.readAt >= FRESH_MS;
      const isUnknown = !kept?.set.keys.some((key) => key.kid === kid);
      if (pending || ((isOld || isUnknown) && mayTry)) {
        const reading = refresh();
        // A key that is known is used meanwhile; only one that is not has to wait.
        if (isUnknown || !isUsable(kept, now())) await reading;
      }
      if (kept && isUsable(kept, now())) return kept.set;
      throw new BoxError(
        'identity_keys_unavailable',
        `The keys of ${of} cannot be read from ${url}, so its tokens cannot be checked. Try again later.`,
        { details: { retryAfter: AGAIN_MS / 1_000 } },
      );
    },
  };
}

// --- internal ---

const FRESH_MS = 10 * 60_000;
const AGAIN_MS = 30_000;
const STALE_MS = 60 * 60_000;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1_024;

function isUsable(kept: { readAt: number } | undefined, now: number): boolean {
  return kept !== undefined && now - kept.readAt < STALE_MS;
}

async function fetchKeySet(url: string, request: typeof fetch): Promise<JSONWebKeySet> {
  const answer = await request(url, {
    headers: { accept: 'application/json' },
    // A key set that has moved is not followed: where keys come from is the operator's to say.
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!answer.ok) {
    await answer.body?.cancel();
    throw new Error(`It answers ${answer.status}.`);
  }
  const { keys } = Object(JSON.parse(await readText(answer))) as Partial<JSONWebKeySet>;
  if (!Array.isArray(keys) || !keys.every(isKey)) throw new Error('Its answer is no key set.');
  return { keys };
}

/** Breaks off what is too long, so that no more of it comes. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Whatever ends the loop before its end cancels the body.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error('Its answer is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function isKey(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
