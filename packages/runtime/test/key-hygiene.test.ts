import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { sql } from 'drizzle-orm';
import { digestOfKey } from '../src/auth/credential.ts';
import { createLog } from '../src/log.ts';
import { parseProxies } from '../src/http/address.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { createLazyDatabase } from '../src/testing/database.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const shared = boxes.share({});

interface Key {
  id: string;
  value: string;
  expiresAt: string | null;
  addresses: string[] | null;
}

interface Line {
  security?: string;
  [field: string]: unknown;
}

const grants = { workflows: 'all' };
const makeKey = async (box: TestBox, more: object = {}): Promise<Key> =>
  (await call<Key>(box, 'POST /api/keys', { name: 'ci', grants, ...more })).body;

async function open(more: TestBoxOptions['options'] = {}) {
  const lines: Line[] = [];
  const log = createLog({ level: 'info', write: (line) => lines.push(JSON.parse(line) as Line) });
  const proxies = parseProxies([]);
  const box = await boxes.open({
    workflows: { echo: { run: async (input: unknown) => input } },
    options: { log, ...(proxies ? { proxies } : {}), ...more },
  });
  const url = await box.listen();
  const ask = async (key: string, from: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/api/workflows/echo/start`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        'x-forwarded-for': from,
        ...headers,
      },
      body: '{}',
    });
    const { code, message } = (await answer.json()) as { code?: string; message?: string };
    return { status: answer.status, code, message };
  };
  return { box, ask, security: () => lines.filter(({ security }) => security === 'denied') };
}

test('a key with addresses is good from those alone, as trusted proxies say, and the rest is written down', async () => {
  const { box, ask, security } = await open();
  const addresses = ['203.0.113.7', '198.51.100.0/24', '2001:db8::7'];
  const key = await makeKey(box, { addresses, users: true });
  expect(key.addresses).toEqual(addresses);
  for (const from of ['203.0.113.7', '198.51.100.255', '2001:db8::7', 'spoofed, 203.0.113.7'])
    expect([from, (await ask(key.value, from)).status]).toEqual([from, 202]);
  const refused = { status: 403, code: 'address_not_allowed' };
  // The last that is no proxy counts: what comes before it, a caller may have written. Of IPv6, a neighbour is another.
  for (const from of ['203.0.113.8', '203.0.113.7, 192.0.2.1', '2001:db8::8', '127.0.0.1', ''])
    expect([from, await ask(key.value, from)]).toEqual([from, expect.objectContaining(refused)]);
  expect(await ask(key.value, '192.0.2.1', { 'x-svc-user': 'ada' })).toMatchObject(refused);
  const { message } = await ask(key.value, '192.0.2.1');
  expect(message).toContain(`The API key "ci" (svc_${key.id}) may not be used from "192.0.2.1".`);
  expect(security()[0]).toMatchObject({
    code: 'address_not_allowed',
    address: '203.0.113.8',
    caller: { id: `key ${key.id}` },
    route: '/api/workflows/:name/start',
  });
  // Over no socket there is no address, and so none that fits.
  const none = await call(box, 'POST /api/workflows/echo/start', {}, { authorization: `Bearer ${key.value}` });
  expect(none).toMatchObject({ status: 403, body: { code: 'address_not_allowed' } });
});

test('where a key may be used from is changed at once, taken away, and kept when it is rotated', async () => {
  const { box, ask } = await open();
  const key = await makeKey(box);
  expect((await ask(key.value, '192.0.2.1')).status).toBe(202);
  await call(box, `PATCH /api/keys/${key.id}`, { addresses: ['203.0.113.0/24'] });
  expect((await ask(key.value, '192.0.2.1')).status).toBe(403);
  const { body: next } = await call<Key>(box, `POST /api/keys/${key.id}/rotate`, {});
  expect(next.addresses).toEqual(['203.0.113.0/24']);
  expect((await ask(next.value, '192.0.2.1')).status).toBe(403);
  await call(box, `PATCH /api/keys/${key.id}`, { name: 'renamed' });
  expect((await ask(key.value, '192.0.2.1')).status).toBe(403);
  await call(box, `PATCH /api/keys/${key.id}`, { addresses: null });
  expect((await ask(key.value, '192.0.2.1')).status).toBe(202);
});

test.each([[[]], [['here']], [['10.0.0.0/33']], [['10.0.0.1/8/8']], [['2001:db8::/129']], [[7]], ['10.0.0.1']])(
  'addresses %j are refused by their name',
  async (addresses) => {
    const box = await shared();
    const refused = await call<{ code: string; message: string }>(box, 'POST /api/keys', {
      name: 'a',
      grants,
      addresses,
    });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(refused.body.message).toContain('addresses');
  },
);

test('a key that is made without an end has the one of the workspace, one with null has none', async () => {
  const { box } = await open();
  expect((await makeKey(box)).expiresAt).toBe(null);
  expect((await call(box, 'PUT /api/settings/key-expiry', { days: 90 })).body).toMatchObject({ keyDays: 90 });
  const end = Date.parse((await makeKey(box)).expiresAt ?? '');
  expect(Math.round((end - Date.now()) / 86_400_000)).toBe(90);
  expect((await makeKey(box, { expiresAt: null })).expiresAt).toBe(null);
  const own = new Date(Date.now() + 3_600_000).toISOString();
  expect((await makeKey(box, { expiresAt: own })).expiresAt).toBe(own);
  await call(box, 'PUT /api/settings/key-expiry', { days: null });
  expect((await makeKey(box)).expiresAt).toBe(null);
});

test('a key ends in a checksum of what stands before it; one from before there was any is good', async () => {
  const database = createLazyDatabase();
  onTestFinished(() => database.close());
  const db = createDrizzle(database.client, Promise.resolve());
  const { box, ask } = await open({ db });
  const { id, value } = await makeKey(box);
  const [text, checksum] = [value.slice(0, -8), value.slice(-8)];
  expect(createHash('sha256').update(text).digest('hex').slice(0, 8)).toBe(checksum);
  expect((await ask(value, '192.0.2.1')).status).toBe(202);
  for (const wrong of [
    text,
    `${text}00000000`,
    `${value.slice(0, 30)}${value[30] === 'a' ? 'b' : 'a'}${value.slice(31)}`,
  ])
    expect((await ask(wrong, '192.0.2.1')).status).toBe(401);
  const { id: old } = await makeKey(box);
  await db.execute(sql`update svc.api_keys set digest = ${digestOfKey(text.replace(id, old))} where id = ${old}`);
  expect((await ask(text.replace(id, old), '192.0.2.1')).status).toBe(202);
});
