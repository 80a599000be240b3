import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { createLog } from '../src/log.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { openDatabase } from '../src/stores/database.ts';
import type { Drizzle } from '../src/stores/drizzle.ts';
import { openPg } from '../src/stores/pg.ts';
import { connect, openMcpBox, write } from './_mcp.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';
import { describeWhen, realServers } from './require.ts';

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

type OpenDatabase = () => Promise<Drizzle | undefined>;

function describeReplicas(openDb: OpenDatabase): void {
  const secretKey = newMasterKey();
  const openOne = (db: Drizzle | undefined, options: TestBoxOptions['options'] = {}) =>
    boxes.open({ options: { exclusive: false, secretKey, ...(db ? { db } : {}), ...options } });
  const openPair = async () => {
    const db = await openDb();
    const pair = [await openOne(db), await openOne(db)] as const;
    return { a: pair[0], b: pair[1], openThird: () => openOne(db) };
  };

  test('what one asked, the other takes the yes to, once', async () => {
    const { a, b } = await openPair();
    const { input, state } = await ask(a);
    const [onA, onB] = [await connect(a), await connect(b)];
    const answers = await Promise.all([onA, onB, onA, onB].map((client) => write(client, REMOVE, input, state)));
    expect(answers.map(({ body }) => body.deleted ?? reasonOf(body)).toSorted()).toEqual([
      true,
      'used',
      'used',
      'used',
    ]);
  });

  test('a yes does not outlive a boot of any of them', async () => {
    const { a, b, openThird } = await openPair();
    const { input, state } = await ask(a);
    await openThird();
    for (const box of [a, b]) {
      const { body } = await write(await connect(box), REMOVE, input, state);
      expect([body.code, reasonOf(body)]).toEqual(['confirmation_required', 'unknown']);
    }
    const again = (await write(await connect(b), REMOVE, input)).body.requestState;
    expect((await write(await connect(a), REMOVE, input, again)).body).toEqual({ deleted: true });
  });

  test('a box with another key takes none of it', async () => {
    const db = await openDb();
    const b = await openOne(db, { secretKey: newMasterKey() });
    // The last to boot: what it writes down holds for both.
    const { input, state } = await ask(await openOne(db));
    expect(reasonOf((await write(await connect(b), REMOVE, input, state)).body)).toBe('unknown');
  });
}

describe('replicas on one PGlite', () => describeReplicas(async () => undefined));

describeWhen(realServers.database, 'replicas on one Postgres', (server) =>
  describeReplicas(async () => {
    const made = await createDatabase(server);
    onTestFinished(() => made.drop());
    const database = openDatabase(openPg(made.url));
    onTestFinished(() => database.close());
    await database.ready;
    return database.db;
  }),
);

describe('a person with a token', () => {
  const open = () => boxes.open({ options: { host: 'image', strategy: plane.strategy({ log }) } });
  const as = async (role: string, claims: Record<string, unknown> = {}) => ({
    authorization: `Bearer ${await plane.mint(role, { claims: { aud: `${plane.url}/mcp`, ...claims } })}`,
  });
  const box = async (role: string) => ({ authorization: `Bearer ${await plane.mint(role)}` });

  test('confirms what the same person asked, whatever the token', async () => {
    const one = await open();
    const { input, state } = await ask(one, { mcp: await as('member'), box: await box('member') });
    const client = await connect(one, {}, await as('member'));
    expect((await write(client, REMOVE, input, state)).body).toEqual({ deleted: true });
  });

  test.each([
    ['another person', 'member', { sub: 'somebody else' }],
    ['the same person in another role', 'owner', { sub: 'user-member' }],
  ])('%s does not confirm it', async (_who, role, claims) => {
    const one = await open();
    const { input, state } = await ask(one, { mcp: await as('member'), box: await box('member') });
    const client = await connect(one, {}, await as(role, claims));
    expect(reasonOf((await write(client, REMOVE, input, state)).body)).toBe('other_call');
  });

  test('is not asked about what the role may not do', async () => {
    const client = await connect(await open(), {}, await as('viewer'));
    const { isError, body } = await write(client, REMOVE, { id: 'any' });
    expect([isError, body.code]).toEqual([true, 'forbidden']);
  });

  test('may not chat with an agent tool either, when the role may not', async () => {
    const options = { host: 'image', strategy: plane.strategy({ log }), mcpTools: () => true } as const;
    const client = await connect(await openMcpBox(boxes, options), {}, await as('viewer'));
    const result = await client.callTool({ name: 'agent_helper', arguments: { message: 'say:hello' } });
    expect(result.structuredContent).toMatchObject({ code: 'forbidden', details: { permission: 'agents:chat' } });
  });

  test.each([
    [
      'a token for the box',
      async () => box('owner'),
      /^Bearer realm="mcp", error="invalid_token", error_description="/,
    ],
    ['no token', async () => ({}), /^Bearer realm="mcp"$/],
  ])('is challenged with %s', async (_what, headers, challenge) => {
    const answer = await (
      await open()
    ).request('/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(await headers()) },
      body: '{}',
    });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(challenge);
  });
});

// --- internal ---

const REMOVE = 'prompts.delete';

interface Credentials {
  mcp?: Record<string, string>;
  box?: Record<string, string>;
}

/** A prompt of its own, whose removal someone was asked about. */
async function ask(box: TestBox, { mcp = {}, box: asCaller = {} }: Credentials = {}) {
  const key = `k${Math.random().toString(36).slice(2)}`;
  const prompt = { ownerKind: 'workspace', key, name: key, text: 'Be brief.' };
  const { status, body } = await call(box, 'POST /api/prompts', prompt, asCaller);
  expect([status, body]).toEqual([201, body]);
  const input = { id: body.id };
  const { body: asked } = await write(await connect(box, {}, mcp), REMOVE, input);
  return { input, state: asked.requestState };
}

function reasonOf(body: Record<string, unknown>): unknown {
  return (body.details as { reason?: unknown } | undefined)?.reason;
}
