import type { GuardedFetch } from '../connections/guarded-fetch.ts';
import { followRedirects, toForeignHeaders } from '../connections/redirects.ts';
import { BoxError } from '../errors.ts';
import { capAnswer } from '../http/capped-answer.ts';
import type { TriggerLimits } from './limits.ts';
import type { Poll } from './poll-settings.ts';

/** How the request says which version is known already. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

export type Polled =
  | { outcome: 'same'; status: number }
  | { outcome: 'answered'; status: number; body: Buffer; contentType: string | null; validators: Validators }
  /** `waitMs`: before that it is not to be asked again. */
  | { outcome: 'failed'; status: number | null; problem: { code: string; message: string }; waitMs: number };

/** Asks a service once. Rejects only once `signal` says so. */
export type Ask = (poll: Poll, known: Validators, by: { name: string; signal: AbortSignal }) => Promise<Polled>;

export interface AskOptions {
  /** By the address of the poll, for all that it leads to. */
  fetchFor(first: URL): GuardedFetch;
  /** With the credential of a connection. */
  fetchAs(
    connection: string,
    by: { name: string; signal: AbortSignal },
    url: string,
    init: RequestInit,
  ): Promise<Response>;
  limits: Pick<TriggerLimits, 'pollBytes' | 'pollTimeoutMs'>;
}

export function createAsk({ fetchFor, fetchAs, limits }: AskOptions): Ask {
  const { pollBytes, pollTimeoutMs } = limits;
  return async (poll, known, { name, signal: closing }) => {
    const late = AbortSignal.timeout(pollTimeoutMs);
    const signal = AbortSignal.any([closing, late]);
    const headers = toHeaders(poll, known);
    try {
      const answer =
        poll.connection === undefined
          ? await follow(fetchFor(new URL(poll.url)), new URL(poll.url), headers, signal)
          : await fetchAs(poll.connection, { name, signal }, poll.url, { headers });
      const { status } = answer;
      if (status === 304) return { outcome: 'same', status };
      if (status !== 200) {
        await answer.body?.cancel();
        return toRefused(status, answer.headers);
      }
      const body = await read(answer, pollBytes);
      const { headers: said } = answer;
      const validators = { etag: toKept(said.get('etag')), lastModified: toKept(said.get('last-modified')) };
      return { outcome: 'answered', status, body, contentType: said.get('content-type'), validators };
    } catch (error) {
      closing.throwIfAborted();
      if (late.aborted) return failed('connection_failed', `It did not answer within ${pollTimeoutMs / 1_000} s.`);
      if (error instanceof BoxError) return failed(error.code, error.message);
      const { message, code } = error as NodeJS.ErrnoException;
      return failed('connection_failed', `The answer broke off: ${code ?? message}.`);
    }
  };
}

// --- internal ---

const MOST_VALIDATOR = 500;
const LONGEST_WAIT_MS = 24 * 3_600_000;

function toHeaders(poll: Poll, { etag, lastModified }: Validators): Headers {
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'svc', ...lowered(poll.headers ?? {}) });
  if (etag !== null) headers.set('if-none-match', etag);
  if (lastModified !== null) headers.set('if-modified-since', lastModified);
  return headers;
}

function lowered(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The service alone is sent what the poll says of itself: it may be a key. */
function follow(fetch: GuardedFetch, first: URL, headers: Headers, signal: AbortSignal): Promise<Response> {
  const headersFor = ({ origin }: URL) => (origin === first.origin ? new Headers(headers) : toForeignHeaders(headers));
  return followRedirects({ fetch, url: first, method: 'GET', headersFor, signal });
}

async function read(answer: Response, mostBytes: number): Promise<Buffer> {
  const tooLong = () =>
    new BoxError('connection_failed', `The service answered more than ${mostBytes} bytes. Ask it for fewer items.`);
  return Buffer.from(await capAnswer(answer, { mostBytes, tooLong }).arrayBuffer());
}

/** What it says of itself is not shown: it was written by others, and may say what it was asked with. */
function toRefused(status: number, headers: Headers): Polled {
  const message = `The service answered ${status}.`;
  return { outcome: 'failed', status, problem: { code: 'connection_failed', message }, waitMs: toWaitMs(headers) };
}

/** Of `Retry-After`: seconds, or a date. */
function toWaitMs(headers: Headers): number {
  const text = headers.get('retry-after')?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(LONGEST_WAIT_MS, Math.max(0, ms));
}

/** Cut off it would say something else. */
function toKept(value: string | null): string | null {
  return value !== null && value.length <= MOST_VALIDATOR && /^[\u0020-\u007e]*$/.test(value) ? value : null;
}

function failed(code: string, message: string): Polled {
  return { outcome: 'failed', status: null, problem: { code, message }, waitMs: 0 };
}
