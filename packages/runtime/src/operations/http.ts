import type { H3, H3Event } from 'h3';
import { answerJson } from '../http/answer.ts';
import { mountRoute } from '../http/app.ts';
import { readJson } from '../http/body.ts';
import type { Rooms } from '../rooms.ts';
import { callOperation } from './call.ts';
import type { Operation } from './define.ts';
import { splitRoute } from './define.ts';

/** Mounts every operation as a route. */
export function mountOperations(app: H3, operations: readonly Operation[], rooms: Rooms): void {
  for (const op of operations) {
    mountRoute(app, splitRoute(op.route), async (event: H3Event) => {
      const input = await readInput(event, op);
      const output = await callOperation(op, rooms, input, { signal: event.req.signal });
      return answerJson(op.status ?? 200, output);
    });
  }
}

// --- internal ---

/** Path parameters win over the body or the query: a body cannot rename the thing in the path. */
async function readInput(event: H3Event, op: Operation): Promise<unknown> {
  const params = { ...readHeaders(event, op), ...decodeParams(event.context.params) };
  if (op.route.startsWith('GET ') || op.route.startsWith('DELETE '))
    return { ...Object.fromEntries(event.url.searchParams), ...params };
  const body = await readJson(event.req, { emptyAs: {} });
  if (op.body !== undefined) return { ...params, [op.body]: body };
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return { ...body, ...params };
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
