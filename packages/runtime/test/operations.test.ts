import { createCredentialWatch } from '../src/auth/credential-watch.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createApp, mountFallback } from '../src/http/app.ts';
import { createLog } from '../src/log.ts';
import { operationsOf } from '../src/operations/define.ts';
import { mountOperations } from '../src/surface/http.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { OWNER } from '../src/auth/caller.ts';
import type { Rooms } from '../src/surface/rooms.ts';
import { json } from './_setup.ts';

const rename = operationsOf<{}>()({
  id: 'things.rename',
  summary: 'Rename a thing',
  route: 'PUT /api/things/:id',
  tag: 'things',
  kind: 'write',
  permission: 'none',
  copilot: 'yes',
  status: 201,
  input: z.strictObject({ id: z.string(), name: z.string().min(1, 'Say how it is called.') }),
  output: z.unknown(),
  handle: (_rooms, input) => input,
});

function open() {
  const app = createApp({ log: createLog({ level: 'silent', write: () => {} }) });
  const activity = { record: async () => {}, findAsker: async () => undefined };
  const rooms = { activity } as unknown as Rooms;
  const watch = createCredentialWatch({ requireKey: async () => ({ agents: [], workflows: [] }) });
  mountOperations(app, [rename], { rooms, auth: { authenticate: async () => OWNER }, watch, streams: watch });
  mountFallback(app, []);
  return async (path: string, body: unknown) => app.request(path, json(body, { method: 'PUT' }));
}

test('path, body and status make one call', async () => {
  const answer = await open()('/api/things/a%20b', { name: 'new' });
  expect([answer.status, await answer.json()]).toEqual([201, { id: 'a b', name: 'new' }]);
});

test('a body cannot rename the thing in the path', async () => {
  const answer = await open()('/api/things/mine', { id: 'yours', name: 'new' });
  expect(await answer.json()).toEqual({ id: 'mine', name: 'new' });
});

test.each([[[]], ['"text"'], [null], [7], [{ name: 'new', extra: 1 }], [{}]])(
  'the body %j is refused',
  async (body) => {
    const answer = await open()('/api/things/mine', body);
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_request' }]);
  },
);

test('what is wrong with a body is a sentence with one full stop', async () => {
  const { code, message } = (await (await open()('/api/things/mine', { name: '' })).json()) as Record<string, string>;
  expect([code, message]).toEqual(['invalid_request', 'The request is not valid. "name": Say how it is called.']);
});

test('every operation has an id, a route and a verb of its own, and a sentence that says what it does', () => {
  for (const key of ['id', 'route', 'cli'] as const) {
    const values = OPERATIONS.flatMap((op) => op[key] ?? []);
    expect(new Set(values).size).toBe(values.length);
  }
  expect(OPERATIONS.filter(({ id }) => !/^[a-z]+(\.[a-z_]+){1,2}$/.test(id))).toEqual([]);
  expect(OPERATIONS.filter(({ summary }) => !/^[A-Z][a-z]+ [^.]+$/.test(summary.replaceAll('. ', '')))).toEqual([]);
  const mixed = OPERATIONS.filter(({ kind, route }) => (kind === 'read') !== route.startsWith('GET '));
  // They change nothing, and have a body.
  expect(mixed.map(({ id }) => id)).toEqual([
    'guardrails.test',
    'storage.download',
    'provider.test',
    'connections.test',
    'database.query',
    'rag.search',
  ]);
});
