import { expect, onTestFinished, test } from 'vitest';
import { defineConnection } from '../src/index.ts';
import type { Connection } from '../src/connections/store.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const secretKey = newMasterKey();
const crm = defineConnection({ provider: 'custom', auth: 'api_key', baseUrl: 'https://crm.example/api' });

async function openWith(connections: Record<string, unknown>): Promise<TestBox> {
  const box = await boxes.open({ connections, options: { secretKey } });
  onTestFinished(async () => {
    for (const id of Object.keys(connections)) await call(box, `DELETE /api/connections/${id}`);
  });
  return box;
}

const find = async (box: TestBox, id: string) => (await call<Connection>(box, `GET /api/connections/${id}`)).body;

test('a connection in code is there once the box serves, and is given a credential as any other', async () => {
  const box = await openWith({ crm });
  expect(await find(box, 'crm')).toMatchObject({
    id: 'crm',
    auth: 'api_key',
    baseUrl: 'https://crm.example/api',
    state: 'needs_credential',
    createdBy: 'connections/crm.connection.ts',
  });
  expect((await call(box, 'PUT /api/connections/crm/credential', { apiKey: 'k' })).body).toMatchObject({
    state: 'ready',
  });
});

test('what an operator has set stays, whatever the code says later', async () => {
  const box = await openWith({ crm });
  await call(box, 'PUT /api/connections/crm/credential', { apiKey: 'k' });
  const moved = defineConnection({ provider: 'custom', auth: 'api_key', baseUrl: 'https://other.example' });
  const next = await box.restart({ connections: { crm: moved } });
  expect(await find(next, 'crm')).toMatchObject({ baseUrl: 'https://crm.example/api', state: 'ready' });
  expect(next.logs.map(({ message }) => message)).toEqual([
    'The connection "crm" is not as "connections/crm.connection.ts" says: it stays as it was created. Delete it, and it is created again from the file.',
  ]);
  await call(next, 'DELETE /api/connections/crm');
  expect(await find(await next.restart(), 'crm')).toMatchObject({
    baseUrl: 'https://other.example',
    state: 'needs_credential',
  });
});

test('one that an operator has made is not touched, and nothing is said', async () => {
  const before = await openWith({});
  await call(before, 'POST /api/connections', { id: 'crm', provider: 'notion' });
  const box = await before.restart({ connections: { crm } });
  expect(await find(box, 'crm')).toMatchObject({ provider: 'notion' });
  expect(box.logs).toEqual([]);
  await call(box, 'DELETE /api/connections/crm');
});

test('one that is not usable is a problem of its file, and the others are made', async () => {
  const inside = defineConnection({ provider: 'custom', auth: 'api_key', baseUrl: 'https://10.0.0.1' });
  const box = await openWith({ crm, inside, plain: { provider: 'custom' }, thrown: new Error('No module.') });
  await until(() => box.problems().length === 3);
  expect(box.problems().map(({ file, message }) => [file, message])).toEqual([
    [
      'connections/plain.connection.ts',
      'The default export of "connections/plain.connection.ts" is not a connection. Write: export default defineConnection({ ... }).',
    ],
    ['connections/thrown.connection.ts', 'No module.'],
    ['connections/inside.connection.ts', '"10.0.0.1" is a private address. List it in SVC_ALLOW_PRIVATE_EGRESS.'],
  ]);
  expect(await find(box, 'crm')).toMatchObject({ id: 'crm' });
  expect((await call(box, 'GET /api/connections/inside')).status).toBe(404);
});

test.each([
  [{ provider: 'custom', apiKey: 'k' }, /apiKey/],
  [{ auth: 'oauth2' }, /^provider: /],
  [{ provider: 'custom', header: 'no header' }, 'header: A header has letters, digits and "-".'],
])('defineConnection(%j) throws a sentence', (definition, message) => {
  expect(() => defineConnection(definition as never)).toThrow(message);
});
