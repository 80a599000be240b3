import { describe, expect, test } from 'vitest';
import { createLog } from '../src/log.ts';
import { svc } from '../src/index.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import type { Secret } from '../src/secrets/secrets.ts';
import { callTool, connect, write } from './_mcp.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const secretKey = newMasterKey();
const VALUE = 'planted-value-4711';

const read = toStep('read', async (name: string) => (await svc.secrets.get(name)).length);
const open = (options: object = {}) =>
  boxes.open({
    workflows: {
      use: { run: (input: { name: string }) => read(input.name) },
      body: { run: (input: { name: string }) => svc.secrets.get(input.name) },
    },
    options: { secretKey, ...options },
  });
let names = 0;
const newName = () => `SECRET_${Date.now()}_${names++}`;
const put = (box: TestBox, name: string, value: unknown = VALUE) => call(box, `PUT /api/secrets/${name}`, { value });
const find = async (box: TestBox, name: string) =>
  (await call<{ items: Secret[] }>(box, 'GET /api/secrets?limit=200')).body.items.find((one) => one.name === name);

describe('a secret', () => {
  test('is written once, listed without its value, and readable by code alone', async () => {
    const box = await open();
    const name = newName();
    const made = await put(box, name);
    const known = {
      name,
      owner: 'workspace',
      version: 1,
      keyId: secretKey.kid,
      setAt: expect.any(String),
      setBy: 'owner',
      lastUsedAt: null,
    };
    expect(made).toEqual({ status: 201, body: known });
    expect(await find(box, name)).toEqual(known);
    expect((await call(box, `GET /api/secrets/${name}`)).body).toEqual(known);
    expect((await runWorkflow(box, 'use', { name })).output).toBe(VALUE.length);
    await until(async () => (await find(box, name))?.lastUsedAt !== null);
  });

  test('that exists is refused, with the advice to rotate it', async () => {
    const box = await open();
    const name = newName();
    await put(box, name);
    const again = await put(box, name, 'other');
    expect(again).toMatchObject({
      status: 409,
      body: { code: 'secret_exists', message: expect.stringContaining('rotate') },
    });
    const rotated = await call(box, `POST /api/secrets/${name}/rotate`, { value: 'a longer value than before' });
    expect(rotated).toMatchObject({ status: 200, body: { version: 2 } });
    expect((await runWorkflow(box, 'use', { name })).output).toBe(26);
  });

  test('rotated by many at once has the value of one of them', async () => {
    const box = await open();
    const name = newName();
    await put(box, name);
    const lengths = [11, 12, 13, 14, 15, 16];
    const all = await Promise.all(
      lengths.map((length) => call(box, `POST /api/secrets/${name}/rotate`, { value: 'x'.repeat(length) })),
    );
    expect(all.map(({ status }) => status)).toEqual(lengths.map(() => 200));
    expect((await find(box, name))?.version).toBe(7);
    expect(lengths).toContain((await runWorkflow(box, 'use', { name })).output);
  });

  test('that is deleted is gone, and may be set again', async () => {
    const box = await open();
    const name = newName();
    await put(box, name);
    expect((await call(box, `DELETE /api/secrets/${name}`)).body).toEqual({ name, deleted: true });
    expect(await find(box, name)).toBeUndefined();
    expect((await put(box, name)).status).toBe(201);
  });

  test.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
  ])('%s of one that there is not is 404', async (method, path) => {
    const { status, body } = await call(await open(), `${method} /api/secrets/nope${path}`, { value: 'x' });
    expect([status, body.code]).toEqual([404, 'secret_not_found']);
  });

  test.each(['1abc', 'a b', 'a/b', 'é', `a${'x'.repeat(128)}`, '-a'])('cannot be named %j', async (name) => {
    const { status, body } = await put(await open(), encodeURIComponent(name));
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(body)).not.toContain(VALUE);
  });

  test('has at most 64 KiB, and at least a letter', async () => {
    const box = await open();
    expect((await put(box, newName(), 'ü'.repeat(32_768))).status).toBe(201);
    expect((await put(box, newName(), `${'ü'.repeat(32_768)}x`)).status).toBe(400);
    expect((await put(box, newName(), '')).status).toBe(400);
  });

  test('is not in the answer that refuses its body', async () => {
    const box = await open();
    const path = `/api/secrets/${newName()}`;
    const bodies = [`{"value": ${VALUE}}`, `{"value": "${VALUE}`, `"${VALUE}"`, `{"value": ["${VALUE}"]}`, VALUE];
    for (const body of bodies) {
      const answer = await box.request(path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body });
      expect(answer.status).toBe(400);
      expect(await answer.text()).not.toContain(VALUE);
    }
  });

  test('of the box itself is neither listed nor found', async () => {
    const box = await open();
    await call(box, 'PUT /api/model-provider', { baseUrl: box.model.url, apiKey: 'k' });
    const { body } = await call<{ items: Secret[] }>(box, 'GET /api/secrets?limit=200');
    expect(body.items.filter(({ owner, name }) => owner !== 'workspace' || name === 'model-provider-key')).toEqual([]);
    expect((await call(box, 'GET /api/secrets/model-provider-key')).status).toBe(404);
  });

  test('is listed page by page', async () => {
    const box = await open();
    for (let n = 0; n < 3; n++) await put(box, newName());
    const first = await call<{ items: Secret[]; nextCursor: string }>(box, 'GET /api/secrets?limit=1');
    const second = await call<{ items: Secret[] }>(box, `GET /api/secrets?limit=1&cursor=${first.body.nextCursor}`);
    expect(first.body.items).toHaveLength(1);
    expect(String(second.body.items[0]?.name) > String(first.body.items[0]?.name)).toBe(true);
  });
});

describe('code', () => {
  test('that asks for a secret there is not gets an error that says where to set it', async () => {
    const box = await open();
    const quick = toStep('quick', (name: string) => svc.secrets.get(name));
    (quick as { maxRetries?: number }).maxRetries = 0;
    const failing = await boxes.open({
      workflows: {
        use: {
          run: () => quick('MISSING').catch((error: { code?: string; message: string }) => [error.code, error.message]),
        },
      },
      options: { secretKey },
    });
    expect((await runWorkflow(failing, 'use')).output).toEqual([
      'secret_not_found',
      'There is no secret "MISSING". Set it with PUT /api/secrets/MISSING.',
    ]);
    await box.shut();
  });

  test('of a workflow body is refused, so that no value comes into the history', async () => {
    const box = await open();
    const name = newName();
    await put(box, name);
    const run = await finish(box, await startWorkflow(box, 'body', { name }));
    expect(run).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('svc.secrets.get in the step') },
    });
  });

  test('that has read a secret cannot log it', async () => {
    const lines: string[] = [];
    const { createMask } = await import('../src/mask.ts');
    const mask = createMask();
    const log = createLog({ level: 'warn', write: (line) => lines.push(line), mask });
    const name = newName();
    const tell = toStep('tell', async () => {
      const value = await svc.secrets.get(name);
      log.warn(`Sent ${value}.`);
    });
    const box = await boxes.open({ workflows: { tell: { run: () => tell() } }, options: { secretKey, mask, log } });
    await put(box, name);
    await runWorkflow(box, 'tell');
    expect(lines.join('\n')).toContain('Sent [hidden].');
    expect(lines.join('\n')).not.toContain(VALUE);
  });
});

test('the question to a person leaves out the value', async () => {
  const box = await open();
  const client = await connect(box);
  const name = newName();
  const asked = await write(client, 'secrets.set', { name, value: VALUE });
  expect(asked.body).toMatchObject({ code: 'confirmation_required' });
  expect(JSON.stringify(asked)).not.toContain(VALUE);
  const done = await write(client, 'secrets.set', { name, value: VALUE }, asked.body.requestState);
  expect(done.body).toMatchObject({ name, version: 1 });
  const { body } = await callTool(client, 'call_read_operation', { operation: 'secrets.get', input: { name } });
  expect(body).toMatchObject({ name, keyId: secretKey.kid });
});

test('the activity log has who changed a secret, and no value', async () => {
  const box = await open();
  const name = newName();
  await put(box, name);
  await call(box, `POST /api/secrets/${name}/rotate`, { value: `${VALUE}-2` });
  await call(box, `DELETE /api/secrets/${name}`);
  const { body } = await call<{ items: { id: string; operation: string }[] }>(box, `GET /api/activity?target=${name}`);
  expect(body.items.map(({ operation }) => operation)).toEqual(['secrets.delete', 'secrets.rotate', 'secrets.set']);
  const details = await Promise.all(
    body.items.map(async ({ id }) => (await call(box, `GET /api/activity/${id}`)).body),
  );
  expect(details[1]).toMatchObject({ before: { version: 1 }, after: { version: 2 } });
  expect(JSON.stringify(details)).not.toContain(VALUE);
});
