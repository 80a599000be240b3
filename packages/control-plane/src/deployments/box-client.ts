import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createLookup, requireLiteral } from '../../../runtime/src/provider/egress.ts';
import type { EgressPolicy } from '../../../runtime/src/provider/egress.ts';
import { createHttpFetch } from '../../../runtime/src/provider/http-fetch.ts';
import { PlaneError } from '../errors.ts';

/** What a box answered: JSON, or something else. */
export interface BoxAnswer {
  status: number;
  /** Undefined: it is no JSON object. */
  body: Record<string, unknown> | undefined;
}

/** Asks one box, over connections of its own to the address that was checked. */
export interface BoxClient {
  /** From the address of the box. Throws `box_unreachable`, `address_private`. */
  ask(path: string, init?: { method: string; headers: Record<string, string>; body?: string }): Promise<BoxAnswer>;
  close(): void;
}

/**
 * `address`: an origin a caller has given. A name is looked up for the connection itself, and what is connected to is what was
 * checked; no redirect is followed; all that is asked takes 10 s and 64 KiB an answer at most.
 */
export function createBoxClient(address: string, { allowPrivate }: { allowPrivate: boolean }): BoxClient {
  const policy: EgressPolicy = {
    allowLoopback: allowPrivate,
    allowPrivate,
    allowed: [],
    refuse: (what) =>
      new PlaneError('address_private', `${what}. A box is registered under an address that is public.`),
  };
  const agents = { http: new HttpAgent(), https: new HttpsAgent() };
  const limit = AbortSignal.timeout(MOST_MS);
  const fetchBox = createHttpFetch({
    check: (url) => requireLiteral(url, policy),
    lookup: createLookup(policy),
    agents,
    mostBytes: MOST_BYTES,
  });
  return {
    async ask(path, init) {
      try {
        const answer = await fetchBox(`${address}${path}`, { ...init, signal: limit });
        if (answer.status >= 300 && answer.status < 400) {
          await answer.body?.cancel();
          throw unreachable(address, `it answers with a redirect (${answer.status})`);
        }
        return { status: answer.status, body: parseObject(await answer.text()) };
      } catch (error) {
        if (error instanceof PlaneError) throw error;
        throw unreachable(address, limit.aborted ? `no answer within ${MOST_MS / 1_000} s` : reasonOf(error), error);
      }
    },
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

export function unreachable(address: string, reason: string, cause?: unknown): PlaneError {
  return new PlaneError('box_unreachable', `The box at ${address} cannot be registered: ${reason}.`, { cause });
}

// --- internal ---

const MOST_MS = 10_000;
const MOST_BYTES = 65_536;

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name does not resolve',
  EHOSTUNREACH: 'no route leads there',
  ENETUNREACH: 'no route leads there',
  model_provider_failed: `its answer is longer than ${MOST_BYTES} bytes`,
};

function reasonOf(error: unknown): string {
  const { code = '' } = error as { code?: string };
  return REASONS[code] ?? (/TLS|CERT|SSL/.test(code) ? 'its certificate is not valid' : 'its answer is not valid HTTP');
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
