import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { createCredentialWatch } from '../src/auth/credential-watch.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { BoxError } from '../src/errors.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const as = (value: string) => ({ authorization: `Bearer ${value}` });
const open = (kv = createMemoryKv()) =>
  boxes.open({
    agents: { desk: defineDeepAgent({ name: 'desk' }) },
    workflows: {
      waits: { run: async () => sleep('1h') },
      talk: { run: async () => sleep('1h'), mode: 'chat' },
    },
    options: { host: 'image', strategy: operatorToken(TOKEN), kv },
  });

interface Key {
  id: string;
  value: string;
  userSecret: string;
}

const makeKey = async (box: TestBox, more: object = {}): Promise<Key> => {
  const body = { name: 'shop', users: true, grants: { agents: 'all', workflows: 'all' }, ...more };
  return (await call<Key>(box, 'POST /api/keys', body, as(TOKEN))).body;
};

/** Takes minutes to be said. */
const SLOW = [{ role: 'user', content: 'chunks:1000; delay:300' }] as const;

/** Everything a client of the key can have open, as it reads it to its end. */
const OPEN: Record<string, (box: TestBox, headers: Record<string, string>) => Promise<Response>> = {
  'wire-a': (box, headers) =>
    box.request('/wire-a/v1/chat/completions', json({ model: 'desk', stream: true, messages: SLOW }, { headers })),
  'wire-b': (box, headers) =>
    box.request(
      '/wire-b/v1/messages',
      json({ model: 'desk', stream: true, max_tokens: 9, messages: SLOW }, { headers }),
    ),
  agui: (box, headers) =>
    box.request(
      '/agui/v1/agents/desk',
      json({ threadId: 't', runId: 'r', messages: [{ id: '1', ...SLOW[0] }] }, { headers }),
    ),
  ui: (box, headers) => {
    const [{ role, content }] = SLOW;
    const messages = [{ id: '1', role, parts: [{ type: 'text', text: content }] }];
    return box.request('/ui/v1/agents/desk', json({ id: 'u', messages }, { headers }));
  },
  'workflow chat': (box, headers) => box.request('/api/workflows/talk/chat', json({}, { headers })),
  'a run': async (box, headers) => {
    const { runId } = (await call(box, 'POST /api/workflows/waits/start', {}, headers)).body;
    return box.request(`/api/runs/${String(runId)}/streams/default?follow=true`, { headers });
  },
};

/** What each of them ends with for someone who may not read on. */
const LAST: Record<string, RegExp> = {
  'wire-a': /"error":\{[^}]*"code":"invalid_api_key"[^}]*\}\}\s+(?:data: \[DONE\]\s+)?$/,
  'wire-b': /event: error\ndata: \{"type":"error","error":\{"type":"authentication_error"[^\n]*\s+$/,
  agui: /"type":"RUN_ERROR"[^\n]*"code":"unauthorized"[^\n]*\s+$/,
  ui: /data: \{"type":"error","errorText":"[^\n]*(?:revoked|no longer valid)[^\n]*\}\s+(?:data: \[DONE\]\s+)?$/,
  'workflow chat': /event: auth_expired\ndata: \{\}\s+$/,
  'a run': /event: auth_expired\ndata: \{\}\s+$/,
};

/** The stream once it has begun, and all of it once it has ended. */
async function follow(answer: Response): Promise<{ whole: Promise<string> }> {
  expect(answer.status).toBe(200);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader.read()).value, { stream: true });
  const rest = async (): Promise<string> => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += decoder.decode(next.value, { stream: true });
    return text;
  };
  return { whole: rest() };
}

describe('an open stream', () => {
  test.each(Object.keys(OPEN))('of %s ends with its key, revoked on another replica, and says so', async (name) => {
    const kv = createMemoryKv();
    const [box, other] = [await open(kv), await open(kv)];
    const [key, kept] = [await makeKey(box), await makeKey(box)];
    const ask = OPEN[name] as (typeof OPEN)[string];
    const [cut, on] = [await follow(await ask(box, as(key.value))), await follow(await ask(box, as(kept.value)))];
    await call(other, `POST /api/keys/${key.id}/revoke`, {}, as(TOKEN));
    expect(await cut.whole).toMatch(LAST[name] as RegExp);
    // The other one goes on, until its key ends.
    expect(await Promise.race([on.whole, 'open'])).toBe('open');
    await call(box, `POST /api/keys/${kept.id}/revoke`, {}, as(TOKEN));
    expect(await on.whole).toMatch(LAST[name] as RegExp);
  });

  test('of a key that is good for longer than a timer can wait stays open', async () => {
    const box = await open();
    const key = await makeKey(box, { expiresAt: new Date(Date.now() + 60 * 86_400_000).toISOString() });
    const { whole } = await follow(await (OPEN['workflow chat'] as (typeof OPEN)[string])(box, as(key.value)));
    const soon = new Promise<string>((resolve) => setTimeout(resolve, 1_200, 'open'));
    expect(await Promise.race([whole, soon])).toBe('open');
    await call(box, `POST /api/keys/${key.id}/revoke`, {}, as(TOKEN));
    await whole;
  });
});

test('a user has 20 streams open, of whatever kind, and no turn begins for one more', async () => {
  const box = await open();
  const ada = { ...as((await makeKey(box)).value), 'x-svc-user': 'ada' };
  const talk = OPEN['workflow chat'] as (typeof OPEN)[string];
  const answers = await Promise.all(Array.from({ length: 20 }, () => talk(box, ada)));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  const agentRuns = async () =>
    (await call<{ items: unknown[] }>(box, 'GET /api/runs?kind=agent', undefined, as(TOKEN))).body.items;
  for (const [name, ask] of Object.entries(OPEN)) {
    const refused = await ask(box, ada);
    expect([name, refused.status, refused.headers.get('retry-after')]).toEqual([name, 429, '5']);
    expect(await refused.text()).toContain('20 chat streams open');
    expect((await ask(box, { ...ada, 'x-svc-user': 'bob' })).status).toBe(200);
  }
  // Those of the other one alone.
  expect(await agentRuns()).toHaveLength(4);
  for (const { body } of answers) await body?.cancel();
  for (const ask of Object.values(OPEN)) expect((await ask(box, ada)).status).toBe(200);
});

test('every stream of a user ends with the token it was opened with, by the clock, and not before', async () => {
  const box = await open();
  const key = await makeKey(box);
  const ends = Object.entries(OPEN).map(async ([name, ask]) => {
    // Over by its claim, and good for 30 s more, of which 15 are left: clocks differ.
    const endsAt = Math.floor(Date.now() / 1_000) + 15;
    const token = await new SignJWT({ sub: 'ada', iat: endsAt - 600, exp: endsAt - 30 })
      .setProtectedHeader({ alg: 'HS256', typ: 'svc-user+jwt', kid: key.id })
      .sign(Buffer.from(key.userSecret, 'base64'));
    const { whole } = await follow(await ask(box, as(token)));
    expect(await whole).toMatch(LAST[name] as RegExp);
    expect(Date.now()).toBeGreaterThanOrEqual(endsAt * 1_000);
  });
  await Promise.all(ends);
});

test('credentials end by the clock, and a key whose change no one heard of when it is looked at', async () => {
  let at = 0;
  const revoked = new Set<string>();
  const watch = createCredentialWatch({
    now: () => at,
    requireKey: async (id) => {
      if (revoked.has(id)) throw new BoxError('unauthorized', 'It is revoked.');
      if (id === 'away') throw new BoxError('store_unavailable', 'Away.');
      return { agents: [], workflows: [] };
    },
  });
  const [byTime, byKey, away] = [
    watch.enter({ name: 'user', expiresAt: 1_000 }),
    watch.enter({ name: 'key', keyId: 'a', expiresAt: 99_000 }),
    watch.enter({ name: 'key', keyId: 'away' }),
  ];
  at = 1_000;
  await until(() => byTime.signal.aborted);
  expect([byTime.signal.reason, byKey.signal.aborted]).toMatchObject([
    { code: 'unauthorized', details: { reason: 'expired' } },
    false,
  ]);
  revoked.add('a');
  await until(() => byKey.signal.aborted);
  expect([byKey.signal.reason.message, away.signal.aborted]).toEqual(['It is revoked.', false]);
  watch.close();
});
