import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDynamicConfig, svc } from '../src/index.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, toProgram, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
let names = 0;
/** The boxes of this file share one database. */
const newKey = () => `key_${++names}`;

type Body = Record<string, unknown>;
const put = async (box: TestBox, key: string, body: unknown, ifMatch?: string) => {
  const headers: Record<string, string> = ifMatch === undefined ? {} : { 'if-match': ifMatch };
  const answer = await box.request(`/api/config/${key}`, json(body, { method: 'PUT', headers }));
  return { status: answer.status, body: (await answer.json()) as Body };
};
const get = async (box: TestBox, key: string) => (await call(box, `GET /api/config/${key}`)).body;
const amount = z.number().min(0).default(50).describe('The most that is paid back');

describe('the dynamic configuration', () => {
  test.each(['7', 'true', 'null', '"quoted"', '{"a":1}'])('keeps the text %s as text', async (text) => {
    const key = newKey();
    const box = await boxes.open({ config: defineDynamicConfig({ [key]: z.string().default('none') }) });
    expect((await put(box, key, { value: text })).body).toMatchObject({ value: text, problem: null });
    expect(await get(box, key)).toMatchObject({ value: text, revision: 1 });
  });

  test('has the keys of config.schema.ts with default, type and description', async () => {
    const [a, b] = [newKey(), newKey()];
    const config = defineDynamicConfig({ [b]: z.enum(['slow', 'fast']).nullable().default(null), [a]: amount });
    const box = await boxes.open({ config });
    expect((await call(box, 'GET /api/config')).body).toEqual({
      items: [
        {
          key: a,
          description: 'The most that is paid back',
          value: 50,
          default: 50,
          isSet: false,
          type: { type: 'number', minimum: 0, default: 50 },
          revision: 0,
          problem: null,
          changedBy: null,
          changedAt: null,
        },
        expect.objectContaining({ key: b, value: null, description: null }),
      ],
      nextCursor: null,
    });
    expect(await call(box, 'GET /api/config/other')).toMatchObject({
      status: 404,
      body: { code: 'config_key_not_found', message: expect.stringContaining(`"${a}"`) },
    });
    for (const route of ['DELETE /api/config/other', 'GET /api/config/other/history', 'PUT /api/config/other'])
      expect((await call(box, route, { value: 1 })).body.code).toBe('config_key_not_found');
  });

  test('is set to what fits the schema, dropped again, and remembers both', async () => {
    const key = newKey();
    const box = await boxes.open({ config: { [key]: amount } });
    expect(await put(box, key, { value: 70 })).toMatchObject({
      status: 200,
      body: { value: 70, isSet: true, revision: 1 },
    });
    expect(await put(box, key, { value: -1 })).toMatchObject({
      status: 400,
      body: { code: 'config_value_invalid', details: { issues: [{ path: [] }] } },
    });
    expect((await put(box, key, { value: 'x'.repeat(70_000) })).body.code).toBe('config_value_invalid');
    expect((await put(box, key, {})).body.code).toBe('invalid_request');
    expect((await call(box, `DELETE /api/config/${key}`)).body).toMatchObject({ value: 50, isSet: false, revision: 2 });
    expect((await call(box, `DELETE /api/config/${key}`)).body).toMatchObject({ value: 50, revision: 2 });
    const page = await call<{ nextCursor: string }>(box, `GET /api/config/${key}/history?limit=1`);
    expect(page.body).toMatchObject({ items: [{ revision: 2, isSet: false, changedBy: 'owner' }] });
    const next = await call(box, `GET /api/config/${key}/history?cursor=${page.body.nextCursor}`);
    expect(next.body).toMatchObject({ items: [{ revision: 1, isSet: true, value: 70 }], nextCursor: null });
  });

  test('is not set over a change the caller has not seen', async () => {
    const key = newKey();
    const box = await boxes.open({ config: { [key]: amount } });
    expect((await put(box, key, { value: 1 }, '"0"')).body).toMatchObject({ revision: 1 });
    expect(await put(box, key, { value: 2 }, '"0"')).toMatchObject({
      status: 412,
      body: { code: 'revision_conflict', details: { revision: 1 } },
    });
    expect((await put(box, key, { value: 2 }, '1')).body).toMatchObject({ revision: 2, value: 2 });
    expect((await put(box, key, { value: 3 }, '*')).body).toMatchObject({ revision: 3, value: 3 });
    expect((await put(box, key, { value: 4 }, 'abc')).status).toBe(400);
    const racing = await Promise.all([5, 6, 7].map((value) => put(box, key, { value }, '"3"')));
    expect(racing.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    await Promise.all([8, 9, 10].map((value) => put(box, key, { value })));
    expect(await get(box, key)).toMatchObject({ revision: 7 });
  });

  test('leaves a value that does not fit an edited schema, and says so', async () => {
    const key = newKey();
    const box = await boxes.open({
      config: { [key]: amount },
      workflows: { read: { run: () => svc.config.get(key) } },
    });
    await put(box, key, { value: 70 });
    const edited = {
      config: { [key]: z.number().max(60).default(40) },
      workflows: { read: { run: () => svc.config.get(key) } },
    };
    await box.reload(toProgram(edited));
    expect(await get(box, key)).toMatchObject({
      value: 40,
      isSet: true,
      revision: 1,
      problem: expect.stringContaining('does not fit the schema any more'),
    });
    expect(await runWorkflow(box, 'read')).toMatchObject({ output: 40 });
    await put(box, key, { value: 60 });
    expect(await get(box, key)).toMatchObject({ value: 60, problem: null });
  });

  test.each([
    [{ a: z.number() }, '"a" has no default. Give its schema one'],
    [{ a: 5 }, '"a" is not a zod schema'],
    [{ 'a b': amount }, '"a b" cannot be a key'],
    [z.object({ a: amount }), 'It must be an object of zod schemas by key'],
    [new Error('boom'), 'boom'],
  ])('that does not load is a problem, and the last good keys stay: %#', async (config, message) => {
    const key = newKey();
    const box = await boxes.open({ config: { [key]: amount } });
    await box.reload(toProgram({ config }));
    expect(box.problems()).toMatchObject([{ file: 'config.schema.ts', message: expect.stringContaining(message) }]);
    expect(await get(box, key)).toMatchObject({ value: 50 });
    await box.reload(toProgram({}));
    expect(box.problems()).toEqual([]);
    expect((await call(box, 'GET /api/config')).body).toEqual({ items: [], nextCursor: null });
  });

  test('is there while agents and workflows are held back', async () => {
    const [key, added] = [newKey(), newKey()];
    const box = await boxes.open({ provider: 'none', config: { [key]: amount } });
    expect(await put(box, key, { value: 5 })).toMatchObject({ status: 200 });
    await box.reload(toProgram({ config: { [key]: amount, [added]: amount } }));
    expect(await get(box, added)).toMatchObject({ value: 50 });
  });

  test('leaves no value in the activity log, which every seat reads', async () => {
    const key = newKey();
    const box = await boxes.open({ config: { [key]: z.string().default('none') } });
    await put(box, key, { value: 'hidden words' });
    await put(box, key, { value: 'more hidden words' });
    const { body } = await call<{ items: { id: string }[] }>(box, 'GET /api/activity?operation=config.set&limit=1');
    const entry = (await call(box, `GET /api/activity/${body.items[0]?.id}`)).body;
    expect(entry).toMatchObject({ target: { key }, before: { revision: 1 }, after: { revision: 2 } });
    expect(JSON.stringify(entry)).not.toContain('hidden words');
  });
});

describe('svc.config', () => {
  test('answers in a step what is in force, as the schema makes it, and never the same object twice', async () => {
    const [day, list] = [newKey(), newKey()];
    const config = {
      [day]: z.coerce.date().default(new Date('2020-01-01T00:00:00Z')),
      [list]: z.array(z.string()).default(['a']),
    };
    const read = toStep('read', async () => {
      const changed = (await svc.config.get(list)) as string[];
      changed.push('mine');
      return [(await svc.config.get(day)) instanceof Date, await svc.config.get(list)];
    });
    const box = await boxes.open({ config, workflows: { read: { run: () => read() } } });
    expect(await runWorkflow(box, 'read')).toMatchObject({ output: [true, ['a']] });
    await put(box, list, { value: ['b'] });
    await put(box, day, { value: '2024-05-06' });
    expect(await runWorkflow(box, 'read')).toMatchObject({ output: [true, ['b']] });
    expect(await get(box, day)).toMatchObject({ value: '2024-05-06', default: '2020-01-01T00:00:00.000Z' });
  });

  test('in a body is recorded: a replay has the value of the first time', async () => {
    const key = newKey();
    const { createHook } = await import('../src/index.ts');
    const ask = {
      run: async () => {
        const first = await svc.config.get(key);
        await createHook({ token: key });
        return [first, await svc.config.get(key)];
      },
    };
    const box = await boxes.open({ config: { [key]: amount }, workflows: { ask } });
    const runId = await startWorkflow(box, 'ask');
    await until(async () => (await call(box, `GET /api/runs/${runId}`)).body.status === 'waiting');
    await put(box, key, { value: 60 });
    const next = await box.restart();
    await call(next, `POST /api/workflows/hooks/${key}/resume`, {});
    expect(await finish(next, runId)).toMatchObject({ status: 'completed', output: [50, 60] });
  });

  test('says that a key is not declared, and where it works', async () => {
    const box = await boxes.open({ workflows: { ask: { run: () => svc.config.get('nothing') } } });
    expect(await runWorkflow(box, 'ask')).toMatchObject({ error: { code: 'config_key_not_found' } });
    await expect(svc.config.get('x')).rejects.toThrow('svc.config.get() works in a workflow, a step or a tool.');
  });
});

describeWhen(bothServers, 'configuration on two replicas', (servers) => {
  test.each([
    ['told by Redis', undefined],
    ['without Redis', null],
  ])('%s: what is set through one is what code on the other reads', async (_way, kv) => {
    const key = newKey();
    const read = toStep('read', () => svc.config.get(key));
    const open = createCluster(boxes, servers);
    const program = { config: { [key]: amount }, workflows: { read: { run: () => read() } } };
    const a = await open({ ...program, ...(kv === null ? { kv } : { engine: WITHOUT_LOOKS }) });
    const b = await open({ ...program, ...(kv === null ? { kv } : { engine: WITHOUT_LOOKS }) });
    expect(await runWorkflow(b, 'read')).toMatchObject({ output: 50 });
    await put(a, key, { value: 70 });
    await until(async () => (await runWorkflow(b, 'read')).output === 70, 20_000);
  });
});
