import { CliError, EXIT, findSuggestion } from '../errors.ts';
import type { CliErrorOptions } from '../errors.ts';
import { findNearest } from '../nearest.ts';
import { findName, toVerbs } from '../routes.ts';
import type { Target } from './control-plane.ts';
import type { Context } from '../context.ts';
import { isRecord } from '../is-record.ts';

export type Query = Record<string, string | undefined>;

/** One request to a box. */
export interface BoxRequest {
  method: Method;
  /** Without its query. */
  path: string;
  query?: Query;
  headers?: Record<string, string>;
  /** A JSON value. Undefined: none is sent. */
  body?: unknown;
  /** Sent as it is, in place of a JSON value. */
  file?: Blob;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The box of a command, and what is shown to it: a token of a control plane ends while the command runs. */
export interface Connection extends Pick<Context, 'signal' | 'trace' | 'say' | 'note'> {
  target: Target;
}

export const TIMEOUT_MS = 60_000;
/** What is sent may take a while to come, and to be read. */
export const FILE_TIMEOUT_MS = 300_000;

/**
 * The head of the answer, whatever it says. A token that is about to end is renewed before it is shown, and one that
 * is refused once: a request that is refused was not begun.
 */
export async function openResponse(
  connection: Connection,
  request: BoxRequest,
  limit?: AbortSignal,
): Promise<Response> {
  const { target } = connection;
  if (target.renew && (target.expiresAt ?? Infinity) - EARLY_MS < Date.now()) await renew(connection);
  const response = await open(connection, request, limit);
  if (response.status !== 401 || !target.renew) return response;
  await response.body?.cancel();
  await renew(connection);
  return open(connection, request, limit);
}

export function toAddress({ url }: Target, { path, query = {} }: BoxRequest): string {
  return url + path + toSearch(query);
}

/** The JSON value, or undefined: no box answers with anything else. */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function toBoxError(response: Response, body: unknown, url: string): CliError {
  const failure = (typeof body === 'object' && body !== null ? body : {}) as BoxFailure;
  if (typeof failure.code !== 'string' || typeof failure.message !== 'string') return notABox(response, url);
  const requestId = response.headers.get('x-request-id') ?? failure.requestId;
  const suggestion = fillIn(findSuggestion(failure.code), url);
  return new CliError(failure.code, toMessage(failure.code, failure.message, suggestion), {
    exitCode: BY_STATUS[response.status]?.exitCode ?? EXIT.generic,
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(isRecord(failure.details) ? { details: failure.details, ...suggestName(failure.details, url) } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
  });
}

export function notABox(response: Response, url: string): CliError {
  const { code, exitCode } = BY_STATUS[response.status] ?? { code: 'generic', exitCode: EXIT.generic };
  const requestId = response.headers.get('x-request-id');
  return new CliError(code, `${url} answered ${response.status} with something other than the answer of a box.`, {
    exitCode,
    suggestion: 'Check which program listens on that address.',
    ...(requestId ? { requestId } : {}),
  });
}

export function toConnectionError(error: unknown, { target, signal }: Connection): CliError {
  if (signal.aborted) return new CliError('generic', 'Interrupted before the box answered.', INTERRUPTED);
  const cause =
    error instanceof Error && error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : undefined;
  if (cause?.code === 'ECONNREFUSED') return notReachable(target);
  const timedOut = error instanceof Error && error.name === 'TimeoutError';
  const reason = timedOut ? `no answer within ${TIMEOUT_MS / 1000} s` : (cause?.message ?? String(error));
  return new CliError('generic', `The box on ${target.url} did not answer: ${reason}.`, {
    suggestion: 'Look at the log of the box, then try again.',
  });
}

// --- internal ---

/** As long as a clock may be off, and a request may take. */
const EARLY_MS = 15_000;

async function renew({ target, trace }: Connection): Promise<void> {
  const fresh = await target.renew?.();
  if (!fresh) return;
  trace('The control plane gave a fresh token for the box.');
  Object.assign(target, fresh);
}

function open({ target, signal }: Connection, request: BoxRequest, limit?: AbortSignal): Promise<Response> {
  const { method, headers, body, file } = request;
  return fetch(toAddress(target, request), {
    method,
    headers: {
      accept: 'application/json',
      ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? (file ? { body: file } : {}) : { body: JSON.stringify(body) }),
    redirect: 'manual',
    signal: limit ? AbortSignal.any([signal, limit]) : signal,
  });
}

/** What a box says about a failure; a program that is no box says none of it. */
interface BoxFailure {
  code?: unknown;
  message?: unknown;
  details?: unknown;
  requestId?: unknown;
}

const BY_STATUS: Record<number, { code: string; exitCode: number } | undefined> = {
  401: { code: 'not_signed_in', exitCode: EXIT.auth },
  403: { code: 'forbidden', exitCode: EXIT.generic },
  404: { code: 'not_found', exitCode: EXIT.notFound },
};

/** `<id>`, `<name>` and `<key>` are what was asked for. */
function fillIn(suggestion: string | undefined, url: string): string | undefined {
  const name = findName(url);
  return name === undefined ? suggestion : suggestion?.replaceAll(/<(?:id|name|key)>/g, () => name);
}

/** The CLI promises the words "workflow not found"; the box's sentence names the workflow and the real ones. */
function toMessage(code: string, message: string, suggestion: string | undefined): string {
  const text = toVerbs(code === 'workflow_not_found' ? `Workflow not found. ${message}` : message);
  // Said once: the suggestion is the next line.
  return suggestion && text.endsWith(` ${suggestion}`) ? text.slice(0, -suggestion.length).trimEnd() : text;
}

/** The workflow that was meant, when the box lists its own and one is close to the name that was asked for. */
function suggestName({ workflows }: Record<string, unknown>, url: string): CliErrorOptions {
  if (!Array.isArray(workflows)) return {};
  const asked = decodeURIComponent(/\/api\/workflows\/([^/?]+)/.exec(url)?.[1] ?? '');
  const near = findNearest(asked, workflows.map(String));
  return near ? { suggestion: `Did you mean "${near}"?` } : {};
}

const INTERRUPTED: CliErrorOptions = { exitCode: EXIT.interrupted, suggestion: 'Run the command again.' };

function notReachable(target: Target): CliError {
  if (target.isDev) return devNotRunning(target);
  return new CliError('no_deployment', `Nothing answers on ${target.url}.`, {
    suggestion: 'Check the address, and that the box runs.',
  });
}

function devNotRunning({ url }: Target): CliError {
  return new CliError('dev_not_running', `No dev runtime answers on ${url}.`, {
    suggestion: 'Run `svc dev` in another terminal, or pass --agent <installationId>.',
  });
}

function toSearch(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
