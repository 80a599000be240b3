import type { RequestContext } from '../engine/context.ts';
import type { Answered } from '../http/app.ts';
import { newSpanId, newTraceId, parseTraceparent, placeOfRun } from './ids.ts';
import type { SpanPlace } from './ids.ts';
import { ERROR_TYPE, HTTP, RUN } from './names.ts';
import type { Sampler } from './sampler.ts';
import type { SpanData } from './span.ts';

/** The span of a request: in the trace of its caller, or in one of its own. */
export function placeOfRequest(context: RequestContext): SpanPlace {
  context.span ??= {
    traceId: parseTraceparent(context.traceparent)?.traceId ?? newTraceId(),
    spanId: newSpanId(),
  };
  return context.span;
}

/** Undefined: it is not exported. The path is that of the route: what is in its place may be a credential. */
export function toRequestSpan(request: Answered, sampler: Sampler): SpanData | undefined {
  const { context, method, route, status, start, end, scheme } = request;
  const remote = parseTraceparent(context.traceparent);
  const place = placeOfRequest(context);
  const isProbe = route !== undefined && PROBES.has(route);
  if (isProbe || !sampler(place.traceId, remote)) return undefined;
  return {
    ...place,
    ...(remote ? { parentSpanId: remote.spanId, isParentRemote: true } : {}),
    name: route === undefined ? method : `${method} ${route}`,
    kind: 'server',
    start,
    end: Math.max(start, end),
    attributes: {
      [HTTP.method]: method,
      [HTTP.scheme]: scheme,
      [HTTP.status]: status,
      [HTTP.requestId]: context.requestId,
      ...(route === undefined ? {} : { [HTTP.route]: route, [HTTP.path]: route }),
      ...(status >= 500 ? { [ERROR_TYPE]: String(status) } : {}),
    },
    links: (context.runs ?? []).map((runId) => ({ ...placeOfRun(runId), attributes: { [RUN.id]: runId } })),
    ...(status >= 500 ? { error: { type: String(status), message: '' } } : {}),
  };
}

// --- internal ---

/** Asked every few seconds by a platform: no trace needs them. */
const PROBES = new Set(['/live', '/health', '/metrics']);
