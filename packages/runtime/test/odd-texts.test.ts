import { expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { call, runWorkflow, setupBoxes } from './_setup.ts';

// Texts that no store keeps as they are: U+0000, and half of a surrogate pair.

const boxes = setupBoxes();
const box = boxes.share({
  agents: { helper: defineDeepAgent({ name: 'helper' }) },
  workflows: { echo: { run: async (input: unknown) => input } },
});

const TEXTS = ['\u0000', 'a\u0000b', '\ud800', 'a\udc00b'];

test.each<[route: string, body: (text: string) => object]>([
  ['POST /api/keys', (name) => ({ name, grants: { agents: 'all' } })],
  ['POST /api/keys', (client) => ({ name: 'a', client, grants: { agents: 'all' } })],
  ['POST /api/keys', (name) => ({ name: 'a', grants: { agents: [name] } })],
  ['POST /api/keys', (name) => ({ name: 'a', grants: { workflows: ['echo', name] } })],
  ['PATCH /api/keys/:id', (name) => ({ grants: { agents: [name] } })],
  ['PATCH /api/keys/:id', (name) => ({ grants: { workflows: ['echo', name] } })],
  ['PATCH /api/settings', (defaultModel) => ({ defaultModel })],
  ['PATCH /api/settings', (name) => ({ name })],
])('%s refuses one by name', async (route, body) => {
  const key = await call(await box(), 'POST /api/keys', { name: 'kept', grants: { agents: 'all' } });
  const path = route.replace(':id', String(key.body.id));
  for (const text of TEXTS) {
    const { status, body: answer } = await call(await box(), path, body(text));
    expect([text, status, answer]).toMatchObject([
      text,
      400,
      { code: 'invalid_request', message: expect.stringContaining('must not hold') },
    ]);
  }
});

test('what a workflow is given may be one', async () => {
  for (const text of TEXTS)
    expect(await runWorkflow(await box(), 'echo', { text })).toMatchObject({ output: { text } });
});

test('no read answers 500 to one in its path or its query', async () => {
  const { request } = await box();
  const reads = OPERATIONS.filter(({ kind, route }) => kind === 'read' && route.startsWith('GET '));
  expect(reads.length).toBeGreaterThan(40);
  for (const { id, route, input } of reads)
    for (const text of ['%00', 'a%00b', '%ED%A0%80']) {
      const path = route.slice(4).replaceAll(/:\w+/g, text);
      const names = Object.keys((input as { shape?: object }).shape ?? {});
      for (const query of ['', ...names.map((name) => `?${name}=${text}`)]) {
        const stop = new AbortController();
        const answer = await request(path + query, { signal: stop.signal });
        // This box has no bucket, and says so.
        const code = answer.status >= 500 ? ((await answer.json()) as { code: string }).code : undefined;
        expect([id, path + query, code]).toEqual([id, path + query, id.startsWith('storage.') ? code : undefined]);
        expect([undefined, 'storage_missing']).toContain(code);
        // A stream that answers 200 goes on.
        if (code === undefined) await answer.body?.cancel();
        stop.abort();
      }
    }
});
