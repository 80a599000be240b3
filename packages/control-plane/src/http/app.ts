import { randomUUID } from 'node:crypto';
import { H3 } from 'h3';
import type { H3Event } from 'h3';
import { addressOf } from '../../../runtime/src/http/address.ts';
import type { Proxies } from '../../../runtime/src/http/address.ts';
import { answerJson } from '../../../runtime/src/http/answer.ts';
import type { Log } from '../../../runtime/src/log.ts';
import { BoxError } from '../../../runtime/src/errors.ts';
import type { Mode } from '../config.ts';
import { PlaneError } from '../errors.ts';
import type { Pages } from '../pages/serve.ts';
import { callRoute } from './call.ts';
import type { Door } from './call.ts';
import type { Call, RawRoute, Route } from './route.ts';

export interface AppOptions extends Door {
  mode: Mode;
  log: Log;
  proxies: Proxies;
  now(): number;
  routes: readonly Route[];
  raw: readonly RawRoute[];
  pages: Pages;
}

/** The h3 app: every route, one shape of error, and what holds for every answer. */
export function createApp(options: AppOptions): H3 {
  const { mode, log, proxies, now } = options;
  const app = new H3({
    silent: true,
    onError(thrown, event) {
      const error = toKnown(thrown);
      const { one } = event.context as { one?: Route };
      const requestId = requestIdOf(event);
      if (error.code === 'internal')
        log.error('A request failed.', { requestId, route: event.context.matchedRoute?.route, error: error.cause });
      const { code, message, details } = error;
      const body = one?.toErrorBody?.(error) ?? { code, message, details, requestId };
      return answerJson(error.status, body, headersOf(error));
    },
    onResponse(response, event) {
      response.headers.set('x-request-id', requestIdOf(event));
      guardAnswer(response.headers, options.publicUrl());
    },
  });
  app.use((event) => {
    if (event.req.url.length > MAX_URL)
      throw new PlaneError('uri_too_long', `The URL is longer than ${MAX_URL} bytes.`);
    if (!isPlainTarget(event.runtime?.node?.req.url ?? '/'))
      throw new PlaneError('invalid_request', 'The path of the request is absolute, or has "." or ".." in it.');
  });
  app.use((event) => options.pages(event));
  const toCall = (event: H3Event, headers: [string, string][]): Call => ({
    event,
    request: event.req,
    address: addressOf(event, proxies),
    now: now(),
    account: notSignedIn,
    person: notSignedIn,
    setHeader: (name, value) => void headers.push([name, value]),
  });
  const serves = ({ mode: of = mode }: { mode?: Mode }) => of === mode;
  const routes = options.routes.filter(serves);
  for (const one of routes)
    mount(app, one, async (event) => {
      (event.context as { one?: Route }).one = one;
      const headers: [string, string][] = [];
      return withHeaders(await callRoute(one, options, toCall(event, headers)), headers);
    });
  for (const one of options.raw.filter(serves))
    mount(app, one, async (event) => {
      const headers: [string, string][] = [];
      return withHeaders(await one.handle(event, toCall(event, headers)), headers);
    });
  mountFallback(app, routes);
  return app;
}

export function requestIdOf(event: H3Event): string {
  const own = event.context as { requestId?: string };
  return (own.requestId ??= `req_${randomUUID()}`);
}

/** Nothing of us is framed, guessed at or kept by a cache, unless the answer says so; browsers stay on https once there. */
export function guardAnswer(headers: Pick<Headers, 'has' | 'set'>, publicUrl: string): void {
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
  headers.set('referrer-policy', 'no-referrer');
  if (!headers.has('cross-origin-opener-policy')) headers.set('cross-origin-opener-policy', 'same-origin');
  if (!headers.has('content-security-policy')) headers.set('content-security-policy', CLOSED);
  if (publicUrl.startsWith('https:')) headers.set('strict-transport-security', 'max-age=31536000');
}

// --- internal ---

const MAX_URL = 8_192;

/** What a proxy in front has judged is what is answered: no path that becomes another one by the way. */
function isPlainTarget(target: string): boolean {
  const [path = ''] = target.split(/[?#]/, 1);
  return path.startsWith('/') && !/[\\/](?:\.|%2e){1,2}(?:[\\/]|$)/i.test(path);
}

function notSignedIn(): never {
  throw new PlaneError('unauthorized', 'You are not signed in.');
}

function mount(
  app: H3,
  { method, path }: Pick<RawRoute, 'method' | 'path'>,
  handler: (event: H3Event) => Promise<Response>,
): void {
  if (method === 'ALL') return void app.all(path, handler);
  app.on(method, path, handler);
  // The fallback matches every method, so HEAD must be named to come before it.
  if (method === 'GET') app.on('HEAD', path, handler);
}

/** 405 with `Allow` when the path exists under another method, else 404. */
function mountFallback(app: H3, routes: readonly Route[]): void {
  const patterns = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }));
  app.all('/**', (event) => {
    const { pathname } = event.url;
    const methods = patterns.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method);
    const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)))].join(', ');
    if (allow !== '')
      throw new PlaneError('method_not_allowed', `${event.req.method} is not allowed here. Allowed: ${allow}.`, {
        headers: { allow },
      });
    throw new PlaneError('not_found', `There is no route ${event.req.method} ${pathname}.`);
  });
}

function toPattern(path: string): RegExp {
  const source = path.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(/:[^/]+/g, '[^/]+');
  return new RegExp(`^${source}/?$`);
}

type Known = PlaneError | BoxError;

/** What a caller is sent of a thrown thing. What comes of the runtime's HTTP layer has the same shape. */
function toKnown(thrown: unknown): Known {
  for (const one of [thrown, (thrown as { cause?: unknown } | null)?.cause])
    if (one instanceof PlaneError || one instanceof BoxError) return one;
  const status = (thrown as { status?: unknown } | null)?.status;
  if (status === 404) return new PlaneError('not_found', 'There is no such route.');
  if (status === 400)
    return new PlaneError('invalid_request', 'The request cannot be read: its URL or a header is broken.');
  return new PlaneError(
    'internal',
    'Something went wrong inside the control plane. The log of this request says what.',
    {
      cause: thrown,
    },
  );
}

function headersOf(error: Known): Record<string, string> {
  if (error instanceof PlaneError) return error.headers;
  const { retryAfter } = (error.details ?? {}) as { retryAfter?: number };
  return retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
}

/** Of an answer that is no page. */
const CLOSED = "default-src 'none'; frame-ancestors 'none'";

function withHeaders(response: Response, headers: readonly [string, string][]): Response {
  for (const [name, value] of headers) response.headers.append(name, value);
  return response;
}
