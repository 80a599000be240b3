import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { describeWhen } from './require.ts';
import { call, json, runWorkflow, setupBoxes, until, untilStatus } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const PROGRAM: TestBoxOptions = {
  agents: {
    helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }),
    other: defineDeepAgent({ name: 'other', instructions: 'Help.' }),
  },
  workflows: {
    echo: { run: async (input: unknown) => input },
    fails: {
      run: async () => {
        throw new Error('No.', { cause: new Error('Inner.') });
      },
    },
    ask: { run: async () => requestApproval({ title: 'Go?' }) },
  },
};

interface Key {
  id: string;
  value: string;
}

/** A box that makes keys and one that checks them, on the same database. */
async function openBoth(kv = createMemoryKv()): Promise<{ dev: TestBox; image: TestBox }> {
  const dev = await boxes.open({ options: { kv } });
  const image = await boxes.open({ ...PROGRAM, options: { host: 'image', kv } });
  return { dev, image };
}

const makeKey = async (box: TestBox, grants: object, more: object = {}): Promise<Key> =>
  (await call<Key>(box, 'POST /api/keys', { name: 'ci', grants, ...more }, {})).body;
const as = (value: string) => ({ authorization: `Bearer ${value}` });

interface WireError {
  error: { type: string; code: string; message: string };
}

const chat = (box: TestBox, headers: Record<string, string>, model = 'helper') =>
  call<WireError>(
    box,
    'POST /wire-a/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'say:hello' }] },
    headers,
  );

describe('an API key', () => {
  test('is shown once, listed by its prefix, and nowhere kept as it is', async () => {
    const { dev } = await openBoth();
    const { status, body } = await call<Key & Record<string, unknown>>(dev, 'POST /api/keys', {
      name: 'ci',
      grants: { agents: ['helper'] },
    });
    expect(status).toBe(201);
    expect(body.value).toMatch(new RegExp(`^svc_${body.id}_[\\w-]{43}[\\da-f]{8}$`));
    const { body: list } = await call<{ items: object[] }>(dev, 'GET /api/keys?limit=1');
    expect(list.items).toEqual([
      {
        id: body.id,
        prefix: `svc_${body.id}`,
        name: 'ci',
        grants: { agents: ['helper'], workflows: [] },
        limits: null,
        addresses: null,
        client: body.id,
        users: false,
        sessions: 'own',
        status: 'active',
        createdBy: 'owner',
        createdAt: expect.any(String),
        expiresAt: null,
        revokedAt: null,
        lastUsedAt: null,
      },
    ]);
  });

  test('pages, newest first', async () => {
    const { dev } = await openBoth();
    const made = [await makeKey(dev, {}), await makeKey(dev, {}), await makeKey(dev, {})].map(({ id }) => id);
    const first = (await call<{ items: Key[]; nextCursor: string }>(dev, 'GET /api/keys?limit=2')).body;
    const next = (await call<{ items: Key[] }>(dev, `GET /api/keys?limit=1&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...next.items].map(({ id }) => id).toSorted()).toEqual(made.toSorted());
    expect((await call(dev, 'GET /api/keys?cursor=x')).status).toBe(400);
  });

  test('of none by that id is 404', async () => {
    const { dev } = await openBoth();
    expect((await call(dev, 'POST /api/keys/nope/revoke')).body).toMatchObject({ code: 'key_not_found' });
    expect((await call(dev, 'PATCH /api/keys/nope', { name: 'new' })).body).toMatchObject({ code: 'key_not_found' });
  });

  test('that would be over before it begins is refused', async () => {
    const { dev } = await openBoth();
    const { status } = await call(dev, 'POST /api/keys', { name: 'old', expiresAt: '2020-01-01T00:00:00Z' });
    expect(status).toBe(400);
  });
});

describe('a box that checks keys', () => {
  test('lets a granted key chat, from either header, and notes its use', async () => {
    const { dev, image } = await openBoth();
    const { id, value } = await makeKey(dev, { agents: ['helper'] });
    expect((await chat(image, as(value))).status).toBe(200);
    expect((await chat(image, { 'x-api-key': value })).status).toBe(200);
    await until(async () => {
      const { body } = await call<{ items: (Key & { lastUsedAt: string | null })[] }>(dev, 'GET /api/keys');
      return body.items.find((key) => key.id === id)?.lastUsedAt !== null;
    });
  });

  test('refuses a key that is missing, unknown or of another value, in the shape of the wire', async () => {
    const { dev, image } = await openBoth();
    const { value } = await makeKey(dev, { agents: 'all' });
    const wrong = `${value.slice(0, -43)}${'A'.repeat(43)}`;
    for (const headers of [
      {},
      as('anything'),
      as('svc_nope'),
      as(`svc_${'0'.repeat(20)}_${'A'.repeat(43)}`),
      as(wrong),
    ])
      expect(await chat(image, headers)).toMatchObject({
        status: 401,
        body: { error: { type: 'authentication_error', code: 'invalid_api_key' } },
      });
  });

  test('shows the error of a run without where in the code it was thrown; people see the place in the project', async () => {
    const { dev, image } = await openBoth();
    const { value } = await makeKey(dev, { workflows: 'all' });
    const { runId } = (await call(image, 'POST /api/workflows/fails/start', {}, as(value))).body;
    const { body } = await call<{ error: { message: string; stack: null; cause: { stack: null } } }>(
      image,
      `GET /api/workflows/runs/${String(runId)}?wait=20s`,
      undefined,
      as(value),
    );
    expect(body.error).toMatchObject({ message: 'No.', stack: null, cause: { message: 'Inner.', stack: null } });
    expect(JSON.stringify(body)).not.toMatch(/api-keys\.test|file:/);
    const run = await runWorkflow(await boxes.open(PROGRAM), 'fails');
    const { stack } = run.error as { stack: string };
    expect(stack).toMatch(/at .*packages\/runtime\/test\/api-keys\.test\.ts:\d+/);
    expect(JSON.stringify(run)).not.toContain(process.cwd());
  });

  test('refuses an agent that is not granted with 403, whether there is one or not', async () => {
    const { dev, image } = await openBoth();
    const { value } = await makeKey(dev, { agents: ['helper'] });
    for (const name of ['other', 'nobody'])
      expect(await chat(image, as(value), name)).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    expect((await call(image, 'GET /wire-a/v1/models/other', undefined, as(value))).status).toBe(403);
  });

  test('names no agent that is not granted to a key of one that is gone', async () => {
    const { dev, image } = await openBoth();
    const headers = as((await makeKey(dev, { agents: ['gone', 'helper'] })).value);
    const messages = [{ role: 'user', content: 'say:hi' }];
    const asked: [route: string, body?: object][] = [
      ['POST /wire-a/v1/chat/completions', { model: 'gone', messages }],
      ['GET /wire-a/v1/models/gone'],
      ['POST /wire-b/v1/messages', { model: 'gone', max_tokens: 9, messages }],
      ['POST /wire-b/v1/messages/count_tokens', { model: 'gone', messages }],
      ['GET /wire-b/v1/models/gone'],
      ['POST /agui/v1/agents/gone', { threadId: 't', runId: 'r', messages: [{ id: 'm', ...messages[0] }] }],
    ];
    for (const [route, body] of asked) {
      const answer = await call(image, route, body, headers);
      const text = JSON.stringify(answer.body).replaceAll('\\"', "'");
      expect([route, answer.status, text]).toEqual([route, 404, expect.stringContaining("This box has 'helper'.")]);
    }
  });

  test('lists only the agents that are granted', async () => {
    const { dev, image } = await openBoth();
    const list = async (value: string) =>
      (await call<{ data: { id: string }[] }>(image, 'GET /wire-a/v1/models', undefined, as(value))).body.data;
    expect((await list((await makeKey(dev, { agents: ['other'] })).value)).map(({ id }) => id)).toEqual(['other']);
    expect(await list((await makeKey(dev, { agents: 'all' })).value)).toHaveLength(2);
    expect(await list((await makeKey(dev, { workflows: 'all' })).value)).toHaveLength(0);
  });

  test('refuses an expired key', async () => {
    const { dev, image } = await openBoth();
    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const { value } = await makeKey(dev, { agents: 'all' }, { expiresAt });
    await until(async () => (await chat(image, as(value))).status === 401);
    expect((await chat(image, as(value))).body.error.message).toContain('expired');
  });

  test('refuses a revoked key at once where replicas hear of each other', async () => {
    const { dev, image } = await openBoth();
    /** Milliseconds from the last look at the key to its refusal. */
    const revoke = async (): Promise<number> => {
      const { id, value } = await makeKey(dev, { agents: 'all' });
      const looked = performance.now();
      expect((await chat(image, as(value))).status).toBe(200);
      const { body } = await call(dev, `POST /api/keys/${id}/revoke`);
      expect(body).toMatchObject({ status: 'revoked' });
      await until(async () => (await chat(image, as(value))).status === 401);
      const refused = performance.now();
      expect((await call(dev, `POST /api/keys/${id}/revoke`)).body).toEqual(body);
      return refused - looked;
    };
    // On a busy machine one of several: without being told it would never be sooner than 3 s.
    const times = [await revoke(), await revoke(), await revoke(), await revoke()];
    expect(Math.min(...times)).toBeLessThan(3_000);
  });

  test('takes a rotated key beside the one in its place, whose sessions, limits and users are its own', async () => {
    const { dev, image } = await openBoth();
    const limits = { requestsPerMinute: 1_000 };
    const old = await makeKey(dev, { agents: 'all' }, { users: true, limits });
    const say = (value: string, content: string) =>
      image.request(
        '/wire-a/v1/chat/completions',
        json(
          { model: 'helper', messages: [{ role: 'user', content }] },
          { headers: { ...as(value), 'x-svc-session': 'kept' } },
        ),
      );
    expect((await say(old.value, 'say:first')).status).toBe(200);
    const rotated = await call<Key & { replaces: { id: string; expiresAt: string }; userSecret: string }>(
      dev,
      `POST /api/keys/${old.id}/rotate`,
      { overlap: '8s' },
    );
    const { id, value, replaces, userSecret } = rotated.body;
    expect([rotated.status, replaces.id, id === old.id, userSecret === null]).toEqual([201, old.id, false, false]);
    expect(Date.parse(replaces.expiresAt) - Date.now()).toBeLessThanOrEqual(8_000);
    const { items } = (await call<{ items: Record<string, unknown>[] }>(dev, 'GET /api/keys')).body;
    const shown = ({ name, grants, client, users, expiresAt }: Record<string, unknown>) => [
      name,
      grants,
      client,
      users,
      expiresAt,
    ];
    const [made, kept] = [items.find((key) => key.id === id), items.find((key) => key.id === old.id)];
    expect(shown(made ?? {})).toEqual([kept?.name, kept?.grants, old.id, true, null]);
    expect(made?.limits).toEqual(limits);
    expect(JSON.stringify(items)).not.toContain(value);
    // Both are good, and are one owner.
    expect((await say(value, 'say:second')).status).toBe(200);
    expect(image.model.requests.at(-1)?.messages).toHaveLength(4);
    expect((await say(old.value, 'say:third')).status).toBe(200);
    await until(async () => (await say(old.value, 'say:late')).status === 401, 20_000);
    expect((await say(value, 'say:fourth')).status).toBe(200);
    const again = await call(dev, `POST /api/keys/${old.id}/rotate`);
    expect(again).toMatchObject({ status: 409, body: { code: 'key_not_active', details: { status: 'expired' } } });
    expect((await call(dev, 'POST /api/keys/nope/rotate')).body).toMatchObject({ code: 'key_not_found' });
    for (const overlap of ['31d', 'soon', '-1s'])
      expect((await call(dev, `POST /api/keys/${id}/rotate`, { overlap })).body).toMatchObject({
        code: 'invalid_request',
        details: { param: 'overlap' },
      });
  });

  test('refuses a revoked key within 5 s where they do not', async () => {
    const dev = await boxes.open();
    const image = await boxes.open({ ...PROGRAM, options: { host: 'image' } });
    const { id, value } = await makeKey(dev, { agents: 'all' });
    expect((await chat(image, as(value))).status).toBe(200);
    await call(dev, `POST /api/keys/${id}/revoke`);
    // Three seconds, and what a busy machine takes.
    await until(async () => (await chat(image, as(value))).status === 401, 8_000);
  });

  test.each(['revoked', 'expired'])(
    'cuts the answer of a key that is %s meanwhile, and gives no other',
    async (end) => {
      const { dev, image } = await openBoth();
      const more = end === 'expired' ? { expiresAt: new Date(Date.now() + 3_000).toISOString() } : {};
      const { id, value } = await makeKey(dev, { agents: ['helper'] }, more);
      const ask = (content: string) =>
        image.request(
          '/wire-b/v1/messages',
          json(
            { model: 'helper', max_tokens: 100, stream: true, messages: [{ role: 'user', content }] },
            { headers: { 'x-api-key': value } },
          ),
        );
      const answer = await ask(`say:${'word '.repeat(40)}\ndelay:250`);
      expect(answer.status).toBe(200);
      if (end === 'revoked') await call(dev, `POST /api/keys/${id}/revoke`);
      let refused: Response | undefined;
      await until(async () => (refused = await ask('say:hi')).status === 401);
      const said = await answer.text();
      expect(said.match(/"text":"word/g)?.length).toBeLessThan(40);
      expect(said).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"authentication_error"[^\n]*\s+$/);
      expect(await refused?.json()).toMatchObject({
        type: 'error',
        error: { type: 'authentication_error', message: expect.stringContaining(`is ${end}`) },
      });
    },
  );

  test('follows what a key is granted', async () => {
    const { dev, image } = await openBoth();
    const { id, value } = await makeKey(dev, { agents: ['other'] });
    expect((await chat(image, as(value))).status).toBe(403);
    const change = { name: 'renamed', grants: { agents: ['helper'] } };
    expect((await call(dev, `PATCH /api/keys/${id}`, change)).body).toMatchObject(change);
    await until(async () => (await chat(image, as(value))).status === 200);
  });
});

describe('a key that is granted workflows', () => {
  test('starts them, reads their schemas and their runs', async () => {
    const { dev, image } = await openBoth();
    const headers = as((await makeKey(dev, { workflows: ['echo'] })).value);
    const started = await call(image, 'POST /api/workflows/echo/start', { a: 1 }, headers);
    expect(started.status).toBe(202);
    const run = await call(image, `GET /api/workflows/runs/${started.body.runId}?wait=20s`, undefined, headers);
    expect(run).toMatchObject({ status: 200, body: { status: 'completed', output: { a: 1 } } });
    expect((await call(image, 'GET /api/workflows/echo/schema', undefined, headers)).status).toBe(200);
  });

  test('gets 403 for all else', async () => {
    const { dev, image } = await openBoth();
    const headers = as((await makeKey(dev, { agents: 'all', workflows: ['echo'] })).value);
    const all = as((await makeKey(dev, { workflows: 'all' })).value);
    const { runId } = (await call(image, 'POST /api/workflows/ask/start', {}, all)).body;
    const refused = [
      'POST /api/workflows/ask/start',
      'POST /api/workflows/nope/start',
      'GET /api/workflows/ask/schema',
      'POST /api/workflows/ask/chat',
      `GET /api/runs/${runId}/steps`,
      'GET /api/workflows',
      'GET /api/runs',
      'GET /api/keys',
      'POST /api/keys',
      'GET /api/services',
      'GET /api/discovery',
      'GET /api/approvals',
    ];
    for (const route of refused)
      expect([route, await call(image, route, undefined, headers)]).toMatchObject([
        route,
        { status: 403, body: { code: 'forbidden' } },
      ]);
  });

  test('without agents does not chat', async () => {
    const { dev, image } = await openBoth();
    expect((await chat(image, as((await makeKey(dev, { workflows: 'all' })).value))).status).toBe(403);
  });
});

describe('without a key', () => {
  test('an image answers 401 on what needs a credential, and what needs none as ever', async () => {
    const { image } = await openBoth();
    for (const route of ['GET /api/runs', 'POST /api/workflows/echo/start', 'GET /api/keys', 'GET /api/services'])
      expect(await call(image, route)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    for (const path of ['/live', '/health', '/api/health', '/api/contract', '/'])
      expect((await image.request(path)).status).toBe(200);
  });

  test('dev answers everything, and takes any key that is not empty on the chat wires', async () => {
    const dev = await boxes.open(PROGRAM);
    expect((await chat(dev, as('anything'))).status).toBe(200);
    expect((await chat(dev, {})).status).toBe(401);
    const { runId } = (await call(dev, 'POST /api/workflows/ask/start', {})).body;
    await untilStatus(dev, String(runId), 'waiting');
    const { items } = (await call<{ items: { approvalId: string }[] }>(dev, `GET /api/approvals?run=${runId}`)).body;
    const decided = await dev.request(`/api/approvals/${items[0]?.approvalId}/decide`, json({ decision: 'approve' }));
    expect(await decided.json()).toMatchObject({ decidedBy: 'owner' });
  });
});

test('dev judges a key as an image does, once it has made one, and takes any other text for the owner', async () => {
  const dev = await boxes.open(PROGRAM);
  const { id, value } = await makeKey(dev, { agents: ['helper'], workflows: ['echo'] });
  expect((await chat(dev, as(value))).status).toBe(200);
  expect((await chat(dev, as(value), 'other')).status).toBe(403);
  expect((await call(dev, 'POST /api/workflows/echo/start', {}, as(value))).status).toBe(202);
  expect((await call(dev, 'GET /api/runs', undefined, as(value))).status).toBe(403);
  expect((await call(dev, 'GET /api/runs', undefined, { 'x-api-key': value })).status).toBe(403);
  for (const unknown of ['svc_anything', `svc_${'0'.repeat(20)}_${'A'.repeat(43)}`])
    for (const answer of [await chat(dev, as(unknown)), await call(dev, 'GET /api/runs', undefined, as(unknown))])
      expect(answer.status).toBe(401);
  await call(dev, `POST /api/keys/${id}/revoke`);
  expect((await chat(dev, as(value))).status).toBe(401);
  for (const headers of [as('anything'), { 'x-api-key': 'anything' }, {}] as Record<string, string>[])
    expect((await call(dev, 'GET /api/runs', undefined, headers)).status).toBe(200);
});

describeWhen(bothServers, 'replicas over Redis', (servers) => {
  test('refuse a key that another has revoked', async () => {
    const open = createCluster(boxes, servers);
    const dev = await open({});
    const image = await open({ ...PROGRAM, options: { host: 'image' } });
    const { id, value } = await makeKey(dev, { agents: 'all' });
    expect((await chat(image, as(value))).status).toBe(200);
    await call(dev, `POST /api/keys/${id}/revoke`);
    await until(async () => (await chat(image, as(value))).status === 401);
  });
});
