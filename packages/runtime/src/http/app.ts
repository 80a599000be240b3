import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { H3 } from 'h3';
import type { EventHandler, H3Event, HTTPMethod } from 'h3';
import { runInContext } from '../engine/context.ts';
import type { RequestContext } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { addressOf, LOOPBACK_PROXIES, wholeAddressOf } from './address.ts';
import type { Proxies } from './address.ts';
import { answerError, toBoxError } from './answer.ts';
import { isJsonType } from './body.ts';
import { createCors, DEFAULT_CORS_ORIGINS } from './cors.ts';
import type { RouteDoc } from './route-doc.ts';
import { isTunnelled } from './tunnelled.ts';

export interface AppOptions {
  log: Log;
  /** Origins whose pages may call, as they are in force at a request. Default: `DEFAULT_CORS_ORIGINS`. */
  corsOrigins?: () => readonly string[];
  /** Dev only: the Host names that may call; anything else is 403 on every route. Undefined: any. */
  isAllowedHost?: (host: string) => boolean;
  /** What holds in place of both for requests that came through a tunnel. Default: none is answered. */
  tunnel?: TunnelAccess;
  /** Prefixes of paths whose bodies may be of any type: an unguessable path is what lets a caller in. */
  anyBody?: readonly string[];
  /** Paths whose body is a file of any type, each with a header that no form of a foreign page can send. */
  fileRoutes?: readonly { path: string; header: string }[];
  /** Other names of paths: what lies below one is what lies below the other, for whoever asks and whatever holds there. */
  aliases?: Readonly<Record<string, string>>;
  /** Rooms that speak someone else's protocol, with its shape of error. */
  errorShapes?: readonly ErrorShape[];
  /** What a request waits for before it comes to its route: a box that has just begun. Default: nothing. */
  untilReady?: (path: string) => Promise<void> | undefined;
  /** Who may say in `X-Forwarded-For` for whom it asks. Default: what runs on this machine. */
  proxies?: Proxies;
  /** Called with every answer as it begins. */
  onAnswer?: (answer: Answered) => void;
  /** Called with what was refused for want of a credential or a permission. */
  onRefusal?: (refusal: Refused) => void;
  /** Called with an answer that is a stream; answers what to do at its end. */
  onStream?: () => () => void;
}

/** Who may call through the tunnel, as it is at a request. */
export interface TunnelAccess {
  isAllowedHost(host: string): boolean;
  corsOrigins(): readonly string[];
}

export interface Answered {
  context: RequestContext;
  method: string;
  /** As it was mounted: `/api/runs/:id`. Undefined: there is none. */
  route: string | undefined;
  scheme: string;
  status: number;
  /** Milliseconds since 1970. */
  start: number;
  end: number;
}

export interface Refused {
  code: string;
  requestId: string;
  route: string | undefined;
  address: string | undefined;
  /** Undefined: no caller was authenticated. */
  caller: { id: string; name: string } | undefined;
}

export interface ErrorShape {
  /** Of the path: `/wire-a/`. */
  prefix: string;
  /** Of a protocol of someone else: the address a client has to be given, where it asks then, and the paths it asks for below another. */
  client?: { base: string; at: string; asks: RegExp };
  answer(error: BoxError, requestId: string, request: Request): Response;
}

/** A route as the fallback and the route list see it. */
export interface RouteEntry {
  method: HTTPMethod;
  path: string;
  summary: string;
  /** Of a route that is no operation. */
  doc?: RouteDoc;
}

const MAX_URL = 8_192;
const FALLBACK = '/**';
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** The h3 app with what holds for every route: request id, host and content-type checks, one shape of error. */
export function createApp(options: AppOptions): H3 {
  const { corsOrigins = () => DEFAULT_CORS_ORIGINS, tunnel } = options;
  const own = createCors(corsOrigins);
  const outer = createCors(tunnel?.corsOrigins ?? (() => []));
  const files = (options.fileRoutes ?? []).map(({ path, header }) => ({ pattern: toPattern(path), header }));
  const corsOf = (event: H3Event) => (contextOf(event, options.proxies).isTunnelled ? outer : own);
  const aliases = Object.entries(options.aliases ?? {});
  const app = new H3({
    silent: true,
    // Before anything looks at the path: no check knows the other name.
    onRequest(event) {
      const { pathname } = event.url;
      const found = aliases.find(([alias]) => pathname.startsWith(alias) && isEndOf(pathname[alias.length]));
      if (found) event.url.pathname = found[1] + pathname.slice(found[0].length);
    },
    onError(thrown, event) {
      const error = toBoxError(thrown);
      const { requestId } = contextOf(event, options.proxies);
      const path = event.url.pathname;
      // What is in the place of a parameter may be what lets its holder in.
      const route = routeOf(event);
      if (error.code === 'internal') options.log.error('A request failed.', { requestId, route, error: error.cause });
      if (isRefusal(error, event)) {
        const { caller, address } = contextOf(event, options.proxies);
        options.onRefusal?.({ code: error.code, requestId, route, address: address?.(), caller });
      }
      const shape =
        options.errorShapes?.find(({ prefix }) => path.startsWith(prefix)) ??
        findAstray(options.errorShapes ?? [], event);
      return withRequestId(
        shape ? shape.answer(error, requestId, event.req) : answerError(error, requestId),
        requestId,
      );
    },
    onResponse(response, event) {
      if (!response.headers.has('x-request-id')) withRequestId(response, requestIdOf(event));
      guardAnswer(response.headers);
      corsOf(event).markAnswer(response, event.req);
      tellAnswer(options, event, response);
    },
  });
  app.use((event, next) => runInContext(contextOf(event, options.proxies), next));
  app.use((event) => {
    checkRequest(event, options, files);
    return corsOf(event).answerPreflight(event.req) ?? options.untilReady?.(event.url.pathname);
  });
  return app;
}

/** One route. What answers GET answers HEAD, without the body. */
export function mountRoute(app: H3, { method, path }: Omit<RouteEntry, 'summary'>, handler: EventHandler): void {
  app.on(method, path, handler);
  // The fallback matches every method, so HEAD must be named to come before it.
  if (method === 'GET') app.on('HEAD', path, handler);
}

/** The last route: 405 with `Allow` when the path exists under another method, else 404. */
export function mountFallback(app: H3, routes: readonly RouteEntry[], shapes: readonly ErrorShape[] = []): void {
  const patterns = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }));
  app.all(FALLBACK, (event) => {
    const { pathname } = event.url;
    const methods = patterns.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method);
    // An address may fit two routes, as one with a name does and one with a parameter there.
    const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)))];
    if (allow.length > 0)
      throw new BoxError(
        'method_not_allowed',
        `${event.req.method} is not allowed here. Allowed: ${allow.join(', ')}.`,
        {
          details: { allow },
        },
      );
    const client = findAstray(shapes, event)?.client;
    const hint = client ? ` The base address of this format ends in ${client.base}.` : '';
    throw new BoxError('not_found', `There is no route ${event.req.method} ${pathname}.${hint}`);
  });
}

export function requestIdOf(event: H3Event): string {
  return contextOf(event).requestId;
}

// --- internal ---

/** A request without any credential is none: it has tried nothing. */
function isRefusal({ code, status, details }: BoxError, { req: { headers } }: H3Event): boolean {
  if (code === 'invalid_signature' || status === 403) return true;
  if (code === 'rate_limited') return details?.of === 'credentials';
  return status === 401 && (headers.has('authorization') || headers.has('x-api-key'));
}

interface FileRoute {
  pattern: RegExp;
  header: string;
}

function checkRequest(event: H3Event, options: AppOptions, files: readonly FileRoute[]): void {
  const { anyBody = [] } = options;
  const { isTunnelled: isOutside } = contextOf(event, options.proxies);
  const isAllowedHost = isOutside ? (options.tunnel?.isAllowedHost ?? (() => false)) : options.isAllowedHost;
  const { method, headers, url } = event.req;
  if (url.length > MAX_URL) throw new BoxError('uri_too_long', `The URL is longer than ${MAX_URL} bytes.`);
  const host = headers.get('host') ?? event.url.host;
  if (isAllowedHost && !isAllowedHost(host))
    throw new BoxError(
      'host_not_allowed',
      `The Host "${host}" may not call this box. ${isOutside ? 'Use its public address' : 'Use 127.0.0.1 or localhost'}.`,
    );
  if (anyBody.some((prefix) => event.url.pathname.startsWith(prefix))) return;
  if (!WRITES.has(method)) return;
  if (files.some(({ pattern, header }) => headers.has(header) && pattern.test(event.url.pathname))) return;
  // In dev, where no credential is asked for, a form of any page could send an empty POST.
  if ((method === 'DELETE' || isOutside || !isAllowedHost) && !hasBody(event)) return;
  if (!isJsonType(headers.get('content-type')))
    throw new BoxError('unsupported_media_type', 'Send the body with "content-type: application/json".');
}

function hasBody({ req, runtime }: H3Event): boolean {
  const { headers } = req;
  if (headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0) return true;
  // Of a request that came over a socket, the headers say it all.
  return !runtime?.node && req.body !== null;
}

/** The protocol whose client was given another address than it needs. */
function findAstray(shapes: readonly ErrorShape[], { req, url: { pathname } }: H3Event): ErrorShape | undefined {
  if (req.method !== 'POST' || pathname.startsWith('/api/')) return undefined;
  return shapes.find(({ client }) => {
    const asked = client?.asks.exec(pathname)?.[0];
    return asked !== undefined && pathname !== `${client?.at}${asked}`;
  });
}

/** No answer is for a cache that others share, unless it says so, nor for a browser to guess what it is. */
function guardAnswer(headers: Headers): void {
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
}

/** Of a segment of a path. */
function isEndOf(character: string | undefined): boolean {
  return character === undefined || character === '/';
}

interface OwnContext {
  request?: RequestContext;
  startedAt?: number;
}

/** Made once for a request, at the latest by whoever answers that it cannot be read. */
function contextOf(event: H3Event, proxies = LOOPBACK_PROXIES): RequestContext {
  const own = event.context as OwnContext;
  own.startedAt ??= performance.now();
  return (own.request ??= {
    kind: 'request',
    requestId: `req_${randomUUID()}`,
    address: () => addressOf(event, proxies),
    wholeAddress: () => wholeAddressOf(event, proxies),
    isTunnelled: isTunnelled(event.runtime?.node?.req as IncomingMessage | undefined),
    traceparent: event.req.headers.get('traceparent'),
  });
}

function routeOf({ context }: H3Event): string | undefined {
  const route = context.matchedRoute?.route;
  return route === FALLBACK ? undefined : route;
}

function tellAnswer({ onAnswer, onStream }: AppOptions, event: H3Event, response: Response): void {
  const context = contextOf(event);
  const { startedAt = performance.now() } = event.context as OwnContext;
  const start = performance.timeOrigin + startedAt;
  const scheme = event.url.protocol.replace(':', '');
  const { method } = event.req;
  const { status } = response;
  onAnswer?.({
    context,
    method,
    route: routeOf(event),
    scheme,
    status,
    start,
    end: performance.timeOrigin + performance.now(),
  });
  const socket = event.runtime?.node?.res;
  if (!onStream || !socket || response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return;
  socket.once('close', onStream());
}

function withRequestId(response: Response, requestId: string): Response {
  response.headers.set('x-request-id', requestId);
  return response;
}

function toPattern(path: string): RegExp {
  const source = path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[^/]+/g, '[^/]+');
  return new RegExp(`^${source}/?$`);
}
