import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import type { ErrorCode } from '../src/errors.ts';
import type { OpenApiDocument, OpenApiOperation } from '../src/openapi/document.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { call, runWorkflow, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
type Json = Record<string, unknown>;

const open = () =>
  boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper' }) },
    workflows: { echo: { run: async (input: unknown) => input } },
  });

async function read(box: TestBox): Promise<OpenApiDocument> {
  const { status, body } = await call<OpenApiDocument>(box, 'GET /api/openapi.json');
  expect(status).toBe(200);
  return body;
}

interface Entry {
  title: string;
  path: string;
  method: string;
  operation: OpenApiOperation;
}

const entriesOf = ({ paths }: OpenApiDocument): Entry[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      title: `${method.toUpperCase()} ${path}`,
      path,
      method,
      operation,
    })),
  );

function* walk(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Json;
  for (const item of Object.values(value)) yield* walk(item);
}

describe('the document lists what the box serves', () => {
  test('every route the app has mounted, and no other', async () => {
    const box = await open();
    const mounted = box.app['~routes'].flatMap(({ method = '', route = '' }) =>
      method === '' || method === 'HEAD' ? [] : `${method} ${route.replace(/:(\w+)/g, '{$1}')}`,
    );
    const listed = entriesOf(await read(box)).map(({ title }) => title);
    expect(listed.sort()).toEqual(mounted.sort());
  });

  test('each is answered by its own handler', async () => {
    const box = await open();
    const unserved: string[] = [];
    for (const { title, path, method } of entriesOf(await read(box))) {
      const answer = await box.request(path.replace(/\{\w+\}/g, 'x'), {
        method: method.toUpperCase(),
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
        ...(method === 'get' || method === 'delete' ? {} : { body: '{' }),
      });
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
      const text = isStream ? await answer.body?.cancel() : await answer.text();
      if (answer.status === 405 || text?.includes('There is no route')) unserved.push(title);
    }
    expect(unserved).toEqual([]);
  });

  test('without a credential, on a box that checks them', async () => {
    const box = await boxes.open({ options: { host: 'image' } });
    expect((await box.request('/api/runs')).status).toBe(401);
    expect((await box.request('/api/openapi.json')).status).toBe(200);
    expect((await box.request('/api/docs')).status).toBe(200);
  });

  test('under the address the box has for itself', async () => {
    expect((await read(await open())).servers).toEqual([{ url: 'http://127.0.0.1:4242' }]);
  });
});

describe('the document is whole:', () => {
  test('every reference leads somewhere, and every component is referred to', async () => {
    const document = await read(await open());
    const refs = new Set([...walk(document)].flatMap(({ $ref }) => (typeof $ref === 'string' ? $ref : [])));
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...refs].sort()).toEqual(known.sort());
  });

  test('each route has a unique id', async () => {
    const ids = entriesOf(await read(await open())).map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('each route has a summary, a known tag and security, a refusal, and says what it answers', async () => {
    const document = await read(await open());
    const tags = document.tags.map(({ name }) => name);
    const lacks = ({ summary, tags: own, security, responses }: OpenApiOperation) => [
      ...(/^[A-Z].*[^.]$/.test(summary) ? [] : ['summary']),
      ...(own.length === 1 && own.every((tag) => tags.includes(tag)) ? [] : ['tag']),
      ...(security.flatMap((one) => Object.keys(one)).every((name) => name in document.components.securitySchemes)
        ? []
        : ['security']),
      ...(Object.keys(responses).some((status) => status.startsWith('4')) ? [] : ['4xx']),
      ...(Object.values(responses).every((response) => 'description' in response) ? [] : ['description']),
    ];
    const wrong = entriesOf(document).flatMap(({ title, operation }) =>
      lacks(operation).map((what) => `${title}: ${what}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the parameters of a path are declared, once and required', async () => {
    const wrong = entriesOf(await read(await open())).filter(({ path, operation }) => {
      const declared = (operation.parameters ?? []).filter(({ in: place }) => place === 'path');
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
      const names = declared.filter(({ required }) => required).map(({ name }) => name);
      return names.sort().join() !== named.join() || names.length !== declared.length;
    });
    expect(wrong.map(({ title }) => title)).toEqual([]);
  });

  test('no two paths differ in the name of a parameter alone', async () => {
    const shapes = Object.keys((await read(await open())).paths).map((path) => path.replace(/\{\w+\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  test('every schema is JSON Schema 2020-12, without members of other drafts', async () => {
    const foreign = ['nullable', '$schema', 'definitions', '$defs'];
    const isWrong = (node: Json) =>
      foreign.some((name) => name in node) || ('exclusiveMinimum' in node && typeof node.exclusiveMinimum !== 'number');
    expect([...walk(await read(await open()))].filter(isWrong)).toEqual([]);
  });

  test('an answer of some size that several routes give is a component', async () => {
    const { paths } = await read(await open());
    const seen = new Map<string, number>();
    for (const { properties, type, ...rest } of walk(paths))
      if (type === 'object' && properties && Object.keys(properties).length > 4) {
        const text = JSON.stringify({ properties, ...rest });
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    expect([...seen].filter(([, times]) => times > 1).map(([text]) => text.slice(0, 200))).toEqual([]);
  });
});

describe('an operation says', () => {
  const find = async (id: string) =>
    entriesOf(await read(await open())).find(({ operation }) => operation.operationId === id)?.operation;

  test('where each member of its input goes', async () => {
    expect((await find('runs.list'))?.parameters?.map(({ name, in: place }) => `${place} ${name}`)).toContain(
      'query status',
    );
    const start = await find('workflows.start');
    expect(start?.parameters).toMatchObject([
      { name: 'name', in: 'path', required: true, description: 'The workflow name' },
      { name: 'idempotency-key', in: 'header', required: false },
      { name: 'x-svc-priority', in: 'header', required: false },
      { name: 'x-svc-delay' },
      { name: 'x-svc-at' },
      { name: 'x-svc-timeout' },
      { name: 'x-svc-id' },
      { name: 'x-svc-on-conflict' },
      { name: 'x-svc-reuse' },
    ]);
    expect(start?.requestBody).toEqual({ required: false, content: { 'application/json': { schema: {} } } });
    expect((await find('provider.set'))?.requestBody).toMatchObject({
      required: true,
      content: {
        'application/json': {
          schema: { properties: { baseUrl: {}, apiKey: {} }, required: ['baseUrl'], additionalProperties: false },
        },
      },
    });
  });

  test('its permission, and that a model asks a person first', async () => {
    expect(await find('runs.cancel')).toMatchObject({
      'x-svc-kind': 'write',
      'x-svc-permission': 'runs:cancel',
      'x-svc-confirm': true,
      'x-svc-cli': 'svc runs cancel',
      security: [{ bearer: [] }, { apiKey: [] }],
    });
    expect(await find('contract.get')).toMatchObject({ security: [] });
    expect(await find('contract.get')).not.toHaveProperty('x-svc-permission');
    expect(await find('keys.create')).toMatchObject({ 'x-svc-copilot': 'no: secret in the answer' });
  });

  test('the codes behind each status', async () => {
    const responses = (await find('runs.cancel'))?.responses as Record<string, { 'x-svc-codes'?: string[] }>;
    expect(responses['404']?.['x-svc-codes']).toEqual(['run_not_found']);
    expect(responses['409']?.['x-svc-codes']).toEqual(['run_final']);
    expect(responses['403']?.['x-svc-codes']).toEqual(['forbidden', 'host_not_allowed', 'users_not_granted']);
  });
});

describe('what the box answers is as the document says:', () => {
  /** Addresses of things that are not there, and bodies that are nearly right. */
  const attempts = OPERATIONS.filter(({ answer }) => answer !== 'sse').flatMap(({ id, route }) => [
    [id, route, {}] as const,
    [id, route, { unexpected: true, decision: 'approve', isPaused: true, cursor: 'x' }] as const,
    [id, route, { decision: 'approve' }] as const,
    [id, route, { isPaused: true }] as const,
  ]);

  test('every code of a refusal is listed under its status', async () => {
    const box = await open();
    const document = await read(box);
    const byId = new Map(entriesOf(document).map(({ operation }) => [operation.operationId, operation]));
    const missing: string[] = [];
    for (const [id, route, body] of attempts) {
      const [method = '', path = ''] = route.split(' ');
      const query = method === 'GET' || method === 'DELETE' ? `?${new URLSearchParams(body as never).toString()}` : '';
      const { status, body: answer } = await call(box, `${method} ${path.replace(/:\w+/g, 'x')}${query}`, body);
      if (status < 400) continue;
      const code = answer.code as ErrorCode;
      const response = byId.get(id)?.responses[String(status)] as { 'x-svc-codes'?: string[] } | undefined;
      if (!response?.['x-svc-codes']?.includes(code)) missing.push(`${id}: ${status} ${code}`);
    }
    expect([...new Set(missing)]).toEqual([]);
  });

  test('a run and a workflow have the members that are required, and no other', async () => {
    const box = await open();
    const { schemas } = (await read(box)).components;
    const required = (name: string) => [...((schemas[name] ?? {}).required as string[])].sort();
    expect(Object.keys(await runWorkflow(box, 'echo', { a: 1 })).sort()).toEqual(required('Run'));
    const { items } = (await call<{ items: Json[] }>(box, 'GET /api/workflows')).body;
    expect(Object.keys(items[0] ?? {}).sort()).toEqual(required('Workflow'));
  });
});
