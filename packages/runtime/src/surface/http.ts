import type { H3, H3Event } from 'h3';
import type { Auth } from '../auth/auth.ts';
import { unwatched } from '../auth/credential-watch.ts';
import type { CredentialWatch, StreamWatch, Watched } from '../auth/credential-watch.ts';
import { OWNER } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { answerJson } from '../http/answer.ts';
import { mountRoute, requestIdOf } from '../http/app.ts';
import { readFileBody, readJson } from '../http/body.ts';
import { untilExpired } from '../http/expiry.ts';
import { answerSse } from '../http/sse.ts';
import type { Frames } from '../http/sse.ts';
import type { Rooms } from './rooms.ts';
import { callOperation, checkPermission } from './call.ts';
import type { Operation } from '../operations/define.ts';
import { splitRoute } from '../operations/define.ts';

/** Mounts every operation as a route. */
export function mountOperations(app: H3, operations: readonly Operation[], options: MountOptions): void {
  const { rooms, auth } = options;
  for (const op of operations) {
    mountRoute(app, splitRoute(op.route), async (event: H3Event) => {
      // Before the body: who is not let in is not read.
      const caller = op.permission === 'none' ? OWNER : await auth.authenticate(event.req.headers);
      // Again in the door: there it holds for every surface.
      checkPermission(op, caller);
      const input = await readInput(event, op);
      const requestId = requestIdOf(event);
      const call = (signal: AbortSignal) =>
        callOperation(op, rooms, input, { signal, caller, requestId, source: 'http' });
      if (op.answer === 'sse') return answerStream(event, call, () => enterStream(op, options, caller));
      return answerJson(op.status ?? 200, await call(event.req.signal));
    });
  }
}

export interface MountOptions {
  rooms: Rooms;
  auth: Pick<Auth, 'authenticate'>;
  watch: Pick<CredentialWatch, 'enter' | 'enterGranted'>;
  /** Of streams that end with a run, as those that keys may open: counts them as well. The others count their own. */
  streams: StreamWatch;
}

// --- internal ---

function enterStream(op: Operation, { watch, streams }: MountOptions, caller: Caller): Watched {
  if (!op.keys) return watch.enter(caller);
  return op.staysOpen ? watch.enterGranted(caller) : streams.enter(caller);
}

async function answerStream(
  { req }: H3Event,
  call: (signal: AbortSignal) => Promise<unknown>,
  enter: () => Watched,
): Promise<Response> {
  const gone = new AbortController();
  // A HEAD has no body that a client could leave.
  if (req.method === 'HEAD') gone.abort();
  const watched = gone.signal.aborted ? unwatched() : enter();
  const abort = () => {
    gone.abort();
    watched.leave();
  };
  try {
    const frames = (await call(AbortSignal.any([req.signal, gone.signal]))) as Frames;
    return answerSse(untilExpired(frames, watched, abort), { onGone: abort });
  } catch (error) {
    abort();
    throw error;
  }
}

/** Path parameters win over the body or the query: a body cannot rename the thing in the path. */
async function readInput(event: H3Event, op: Operation): Promise<unknown> {
  const params = { ...readHeaders(event, op), ...decodeParams(event.context.params) };
  if (op.route.startsWith('GET ') || op.route.startsWith('DELETE '))
    return { ...readQuery(event.url.searchParams, op), ...params };
  if (op.file) {
    const file = await readFileBody(event.req, op.file.limit);
    return { ...readQuery(event.url.searchParams, op), ...params, [op.file.member]: file };
  }
  const body = await readJson(event.req, { emptyAs: {} });
  if (op.body !== undefined) return { ...params, [op.body]: body };
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return { ...body, ...params };
}

function readQuery(query: URLSearchParams, { repeated = [] }: Operation): Record<string, unknown> {
  const lists = repeated.filter((name) => query.has(name)).map((name) => [name, query.getAll(name)]);
  return { ...Object.fromEntries(query), ...Object.fromEntries(lists) };
}

function readHeaders(event: H3Event, { headers = {} }: Operation): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, member]) => {
      const value = event.req.headers.get(name);
      return value === null ? [] : [[member, value]];
    }),
  );
}

function decodeParams(params: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, decodeURIComponent(value)]));
}
