import { setTimeout as sleep } from 'node:timers/promises';
import { CliError, EXIT } from './errors.ts';
import type { CliErrorOptions } from './errors.ts';
import { findNearest } from './nearest.ts';
import { readFrames } from './frames.ts';
import type { Frame } from './frames.ts';
import { resolveTarget } from './target.ts';
import type { Target, TargetNames } from './target.ts';
import type { Context } from './verb.ts';

export type Query = Record<string, string | undefined>;

/** The HTTP side of every verb. Answers the parsed body of a success; throws a CliError for everything else. */
export interface Client {
  get<T>(path: string, query?: Query): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  send<T>(request: BoxRequest): Promise<T>;
  /** The frames of an event stream, over lost connections. Ends when the box says so, or with Ctrl-C. */
  follow(request: BoxRequest): AsyncIterable<Frame>;
}

/** One request to a box. */
export interface BoxRequest {
  method: Method;
  /** Without its query. */
  path: string;
  query?: Query;
  headers?: Record<string, string>;
  /** A JSON value. Undefined: none is sent. */
  body?: unknown;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A client of the box that `--agent` or `--url` names, or of the dev runtime. */
export function openClient(names: TargetNames, context: Context): Client {
  return createClient(resolveTarget(names, context), context);
}

export function createClient(
  target: Target | Promise<Target>,
  { signal, trace }: Pick<Context, 'signal' | 'trace'>,
): Client {
  const connect = async (): Promise<Connection> => ({ target: await target, signal, trace });
  const send = async (request: BoxRequest) => sendRequest(await connect(), request);
  return {
    get: async <T>(path: string, query: Query = {}) => (await send({ method: 'GET', path, query })) as T,
    post: async <T>(path: string, body: unknown) => (await send({ method: 'POST', path, body })) as T,
    send: async <T>(request: BoxRequest) => (await send(request)) as T,
    async *follow(request) {
      yield* followStream(await connect(), request);
    },
  };
}

/** A name or id as one segment of a path. */
export function toSegment(text: string): string {
  // A URL resolves these two away, which would reach another route.
  if (text === '.' || text === '..') throw new CliError('not_found', `There is nothing named "${text}".`);
  return encodeURIComponent(text);
}

// --- internal ---

const TIMEOUT_MS = 60_000;

type Connection = { target: Target } & Pick<Context, 'signal' | 'trace'>;

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

async function sendRequest(connection: Connection, request: BoxRequest): Promise<unknown> {
  const url = toAddress(connection.target, request);
  const started = performance.now();
  const { response, text } = await receive(connection, request).catch((error: unknown) => {
    connection.trace(`${request.method} ${url} failed`);
    throw toConnectionError(error, connection);
  });
  connection.trace(`${request.method} ${url} ${response.status} ${Math.round(performance.now() - started)} ms`);
  const body = parseBody(text);
  if (!response.ok) throw toBoxError(response, body, url);
  if (body === undefined) throw notABox(response, url);
  return body;
}

async function receive(connection: Connection, request: BoxRequest) {
  const response = await open(connection, request, AbortSignal.timeout(TIMEOUT_MS));
  return { response, text: await response.text() };
}

function open({ target, signal }: Connection, request: BoxRequest, limit?: AbortSignal): Promise<Response> {
  const { method, headers, body } = request;
  return fetch(toAddress(target, request), {
    method,
    headers: {
      accept: 'application/json',
      ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'manual',
    signal: limit ? AbortSignal.any([signal, limit]) : signal,
  });
}

function toAddress({ url }: Target, { path, query = {} }: BoxRequest): string {
  return url + path + toSearch(query);
}

/** How long a box may be away before a stream is given up. */
const AWAY_MS = 60_000;

/** Connects again after a loss, behind the last frame that came; the first connection must stand. */
async function* followStream(connection: Connection, request: BoxRequest): AsyncGenerator<Frame> {
  let last: string | undefined;
  let retryMs = 1_000;
  let lostAt: number | undefined;
  let wasOpen = false;
  while (!connection.signal.aborted) {
    try {
      for await (const frame of openStream(connection, request, last)) {
        wasOpen = true;
        last = frame.id ?? last;
        retryMs = frame.retry ?? retryMs;
        lostAt = undefined;
        if (frame.event === 'end') return;
        if (frame.data !== undefined) yield frame;
      }
    } catch (error) {
      if (connection.signal.aborted) return;
      const isRefused = error instanceof CliError && error.code !== LOST;
      if (isRefused || !wasOpen) throw toStreamError(error, connection);
      lostAt ??= performance.now();
      if (performance.now() - lostAt > AWAY_MS) throw toStreamError(error, connection);
    }
    connection.trace(`The stream ended; connecting again${last === undefined ? '' : ` after ${last}`}.`);
    await sleep(retryMs, undefined, { signal: connection.signal }).catch(() => undefined);
  }
}

const LOST = 'shutting_down';

async function* openStream(
  connection: Connection,
  request: BoxRequest,
  last: string | undefined,
): AsyncGenerator<Frame> {
  const url = toAddress(connection.target, request);
  const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) };
  const response = await open(connection, { ...request, headers: { ...request.headers, ...headers } });
  connection.trace(`${request.method} ${url} ${response.status}`);
  if (!response.ok) throw toBoxError(response, parseBody(await response.text()), url);
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
    throw notABox(response, url);
  yield* readFrames(response.body);
}

function toStreamError(error: unknown, connection: Connection): CliError {
  return error instanceof CliError ? error : toConnectionError(error, connection);
}

/** The JSON value, or undefined: no box answers with anything else. */
function parseBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function toBoxError(response: Response, body: unknown, url: string): CliError {
  const failure = (typeof body === 'object' && body !== null ? body : {}) as BoxFailure;
  if (typeof failure.code !== 'string' || typeof failure.message !== 'string') return notABox(response, url);
  const requestId = response.headers.get('x-request-id') ?? failure.requestId;
  return new CliError(failure.code, toMessage(failure.code, failure.message), {
    exitCode: BY_STATUS[response.status]?.exitCode ?? EXIT.generic,
    ...(isRecord(failure.details) ? { details: failure.details, ...suggestName(failure.details, url) } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
  });
}

/** The CLI promises the words "workflow not found"; the box's sentence names the workflow and the real ones. */
function toMessage(code: string, message: string): string {
  return code === 'workflow_not_found' ? `Workflow not found. ${message}` : message;
}

/** The workflow that was meant, when the box lists its own and one is close to the name that was asked for. */
function suggestName({ workflows }: Record<string, unknown>, url: string): CliErrorOptions {
  if (!Array.isArray(workflows)) return {};
  const asked = decodeURIComponent(/\/api\/workflows\/([^/?]+)/.exec(url)?.[1] ?? '');
  const near = findNearest(asked, workflows.map(String));
  return near ? { suggestion: `Did you mean "${near}"?` } : {};
}

function notABox(response: Response, url: string): CliError {
  const { code, exitCode } = BY_STATUS[response.status] ?? { code: 'generic', exitCode: EXIT.generic };
  const requestId = response.headers.get('x-request-id');
  return new CliError(code, `${url} answered ${response.status} with something other than the answer of a box.`, {
    exitCode,
    suggestion: 'Check which program listens on that address.',
    ...(requestId ? { requestId } : {}),
  });
}

function toConnectionError(error: unknown, { target, signal }: Connection): CliError {
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toSearch(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
