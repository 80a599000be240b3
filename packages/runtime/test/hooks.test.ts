import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createHook, createWebhook } from '../src/engine/primitives/hook.ts';
import type { WebhookOptions } from '../src/engine/primitives/hook.ts';
import { listHooks } from '../src/engine/stores/contract/world.ts';
import { createLog } from '../src/log.ts';
import { createMask } from '../src/mask.ts';
import { startPlane } from './_plane.ts';
import { call, finish, getRun, json, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const WORKFLOWS = {
  hook: { run: async ({ token = 'order-1' }: { token?: string }) => [await createHook({ token })] },
  many: {
    run: async () => {
      const seen: unknown[] = [];
      for await (const value of createHook({ token: 'many' })) {
        seen.push(value);
        if (value === 'end') return seen;
      }
    },
  },
  webhook: { run: async (options: WebhookOptions) => createWebhook(options) },
  approval: { run: async () => requestApproval({ title: 'Go?' }) },
  busy: {
    run: async () => {
      const seen: string[] = [];
      for await (const request of createWebhook()) {
        seen.push(await request.text());
        if (seen.length === 1) await createHook({ token: 'go' });
        if (seen.length === 5) return seen;
      }
    },
  },
};

const LAZY = {
  run: async () => {
    const seen: unknown[] = [];
    for await (const message of createHook({ token: 'lazy' })) {
      seen.push(message);
      if (seen.length === 1) await createHook({ token: 'go' });
      if (seen.length === 3) return seen;
    }
  },
};

const open = () => boxes.open({ workflows: WORKFLOWS });
const resume = (box: TestBox, token: string, body: unknown) =>
  call(box, `POST /api/workflows/hooks/${encodeURIComponent(token)}/resume`, body);

/** Starts a run and answers its id and the token of its hook once it waits for it. */
async function park(box: TestBox, name: string, input: unknown = {}): Promise<{ runId: string; token: string }> {
  const runId = await startWorkflow(box, name, input);
  await untilStatus(box, runId, 'waiting');
  const [hook] = await listHooks(box.journal, runId);
  return { runId, token: hook?.token ?? '' };
}

describe('a hook', () => {
  test('that is full answers again what it has taken under a key', async () => {
    const options = { engine: { limits: { unreadResumes: 2 } } };
    const box = await boxes.open({ workflows: { lazy: LAZY }, options });
    const { runId } = await park(box, 'lazy');
    const send = (body: unknown, key: string) =>
      call(box, 'POST /api/workflows/hooks/lazy/resume', body, { 'idempotency-key': key });
    const first = await send('a', 'key a');
    expect(first.status).toBe(200);
    await until(async () => (await listHooks(box.journal, runId)).length === 2);
    for (const name of ['b', 'c']) expect((await send(name, `key ${name}`)).status).toBe(200);
    expect(await send('d', 'key d')).toMatchObject({ status: 429, body: { code: 'hook_queue_full' } });
    expect(await send('a', 'key a')).toEqual(first);
    expect(await send('z', 'key a')).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
    expect((await resume(box, 'go', 1)).status).toBe(200);
    expect(await finish(box, runId)).toMatchObject({ output: ['a', 'b', 'c'] });
  });

  const values: unknown[] = [null, [], [1, [null]], {}, { a: { b: 1 } }, 'text', '', 0, false, true];
  test.each(values.map((value) => [JSON.stringify(value), value]))('is resumed with %s', async (_text, value) => {
    const box = await open();
    const { runId } = await park(box, 'hook');
    expect(await getRun(box, runId, '10ms')).toMatchObject({ status: 'waiting', waitingFor: { type: 'hook' } });
    expect(await resume(box, 'order-1', value)).toEqual({ status: 200, body: { runId, status: 'resumed' } });
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: [value] });
  });

  test('resumed without a body gets an empty object', async () => {
    const box = await open();
    const { runId } = await park(box, 'hook');
    expect((await resume(box, 'order-1', undefined)).status).toBe(200);
    expect((await finish(box, runId)).output).toEqual([{}]);
  });

  test('is resumed once: the second is 409 with the first payload, also after the run has ended', async () => {
    const box = await open();
    const { runId } = await park(box, 'hook');
    await resume(box, 'order-1', { n: 1 });
    const refused = {
      status: 409,
      body: { code: 'already_decided', details: { at: expect.any(String), payload: { n: 1 } } },
    };
    expect(await resume(box, 'order-1', { n: 2 })).toMatchObject(refused);
    await finish(box, runId);
    expect(await resume(box, 'order-1', { n: 2 })).toMatchObject(refused);
  });

  test('resumed by 50 clients at once is resumed by one', async () => {
    const box = await open();
    const { runId } = await park(box, 'hook');
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => resume(box, 'order-1', n)));
    const { output } = await finish(box, runId);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const winner = answers.findIndex(({ status }) => status === 200);
    expect(output).toEqual([winner]);
    for (const { status, body } of answers.filter((_, n) => n !== winner))
      expect({ status, body }).toMatchObject({ status: 409, body: { details: { payload: winner } } });
  });

  test('that is iterated takes every resume, in order, over a restart', async () => {
    const first = await open();
    const { runId } = await park(first, 'many');
    for (const value of [1, null]) expect((await resume(first, 'many', value)).status).toBe(200);
    const box = await first.restart();
    for (const value of ['two', 'end']) expect((await resume(box, 'many', value)).status).toBe(200);
    expect((await finish(box, runId)).output).toEqual([1, null, 'two', 'end']);
    expect(await resume(box, 'many', 'late')).toMatchObject({ status: 409, body: { code: 'hook_closed' } });
  });

  test.each(['a b', 'order:1/2', 'ünï', '%41'])('with the token "%s" is found', async (token) => {
    const box = await open();
    const { runId } = await park(box, 'hook', { token });
    expect((await resume(box, token, 1)).status).toBe(200);
    expect((await finish(box, runId)).output).toEqual([1]);
  });

  test('whose run was cancelled is closed, and its token free', async () => {
    const box = await open();
    const { runId } = await park(box, 'hook');
    await call(box, `POST /api/runs/${runId}/cancel`);
    await finish(box, runId);
    expect(await resume(box, 'order-1', 1)).toMatchObject({ status: 409, body: { code: 'hook_closed' } });
    const again = await park(box, 'hook');
    expect((await resume(box, 'order-1', 2)).body.runId).toBe(again.runId);
  });

  test('with the token of another run is refused in that run', async () => {
    const box = await open();
    const first = await park(box, 'hook');
    const second = await finish(box, await startWorkflow(box, 'hook'));
    expect(second).toMatchObject({
      status: 'failed',
      error: { code: 'hook_token_taken', message: expect.stringContaining('"order-1"') },
    });
    await resume(box, 'order-1', 1);
    expect((await finish(box, first.runId)).status).toBe('completed');
  });

  test('that there is not is 404', async () => {
    expect(await resume(await open(), 'nope', {})).toMatchObject({ status: 404, body: { code: 'hook_not_found' } });
  });

  test('resumed twice before its run failed goes on with the third after a retry', async () => {
    let broken = true;
    const check = toStep('check', () => {
      if (broken) throw Object.assign(new Error('Broken.'), { fatal: true });
    });
    const box = await boxes.open({
      workflows: {
        many: {
          run: async () => {
            const seen: unknown[] = [];
            for await (const value of createHook({ token: 'many' })) {
              seen.push(value);
              if (seen.length === 2) await check();
              if (seen.length === 3) return seen;
            }
          },
        },
      },
    });
    const { runId } = await park(box, 'many');
    for (const n of [1, 2]) await resume(box, 'many', n);
    expect((await finish(box, runId)).status).toBe('failed');
    broken = false;
    const retried = String((await call(box, `POST /api/runs/${runId}/retry`)).body.runId);
    await untilStatus(box, retried, 'waiting');
    expect((await resume(box, 'many', 3)).body.runId).toBe(retried);
    expect((await finish(box, retried)).output).toEqual([1, 2, 3]);
  });
});

describe('a webhook', () => {
  const send = (box: TestBox, token: string, init: RequestInit) => box.request(`/api/webhooks/${token}`, init);

  test.each([
    ['JSON', 'application/json', '{"a":[1,null]}', { a: [1, null] }],
    ['JSON of a vendor', 'application/vnd.bank+json; charset=utf-8', '[1]', [1]],
    ['JSON that is none', 'application/json', '{"a":', '{"a":'],
    ['text', 'text/plain', 'hello', 'hello'],
    ['a form', 'application/x-www-form-urlencoded', 'a=1&b=2', 'a=1&b=2'],
    ['nothing', undefined, undefined, ''],
  ])('takes %s', async (_what, type, body, seen) => {
    const box = await open();
    const { runId, token } = await park(box, 'webhook');
    const headers = { 'x-event': 'paid', ...(type === undefined ? {} : { 'content-type': type }) };
    const answer = await send(box, token, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
    expect([answer.status, await answer.text()]).toEqual([202, '']);
    expect((await finish(box, runId)).output).toEqual({
      method: 'POST',
      url: expect.stringContaining(`/api/webhooks/${token}`),
      headers: expect.objectContaining({ 'x-event': 'paid' }),
      body: seen,
    });
  });

  test('leaves out the credentials of its caller, unless it asks for them', async () => {
    const box = await open();
    const headers = { authorization: 'Bearer partner-secret', cookie: 'sid=abc', 'x-signature': 'v1=1' };
    for (const credentials of [false, true]) {
      const { runId, token } = await park(box, 'webhook', { credentials });
      await send(box, token, { method: 'POST', headers });
      const { output } = await finish(box, runId);
      expect((output as { headers: unknown }).headers).toMatchObject({ 'x-signature': 'v1=1' });
      const steps = JSON.stringify((await call(box, `GET /api/runs/${runId}/steps`)).body);
      expect([steps.includes('partner-secret'), steps.includes('sid=abc')]).toEqual([credentials, credentials]);
    }
  });

  test('whose token is unknown reads nothing of a body', async () => {
    const box = await open();
    const { port } = new URL(await box.listen());
    const socket = connect(Number(port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(`POST /api/webhooks/${'a'.repeat(43)} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 404 /);
  });

  test('has an unguessable token, which its url ends with, and which no record shows', async () => {
    const box = await boxes.open({
      workflows: {
        url: {
          run: async () => {
            const hook = createWebhook();
            return [hook.url, await hook];
          },
        },
      },
    });
    const { runId, token } = await park(box, 'url');
    expect(token).toMatch(/^[\w-]{43,}$/);
    for (const path of ['', '/steps', '/timeline'])
      expect(JSON.stringify((await call(box, `GET /api/runs/${runId}${path}`)).body)).not.toContain(token);
    await send(box, token, { method: 'POST' });
    expect((await finish(box, runId)).output).toMatchObject([
      `http://127.0.0.1:4242/api/webhooks/${token}`,
      { body: '' },
    ]);
    const other = await park(box, 'url');
    expect(other.token).not.toBe(token);
  });

  test('has a token that is shown to those alone who may decide, wherever the run keeps it', async () => {
    const plane = await startPlane();
    onTestFinished(() => plane.close());
    const tell = toStep('tell', (url: string, hook: string) => ({ url, hook }));
    const fail = toStep('fail', (url: string) => {
      throw Object.assign(new Error(`No answer from ${url}.`), { fatal: true, asked: { [url]: 1 } });
    });
    const box = await boxes.open({
      workflows: {
        give: {
          run: async () => {
            const hook = createWebhook();
            await tell(hook.url, hook.token);
            await hook;
            return fail(hook.url);
          },
        },
      },
      options: { host: 'image', strategy: plane.strategy({ log: createLog({ level: 'silent', write() {} }) }) },
    });
    const as = async (role: string) => ({ authorization: `Bearer ${await plane.mint(role)}` });
    const { runId } = (await call(box, 'POST /api/workflows/give/start', {}, await as('member'))).body;
    const findHook = async () => (await listHooks(box.journal, String(runId)))[0];
    await until(async () => (await findHook()) !== undefined);
    const { token = '' } = (await findHook()) ?? {};
    await send(box, token, { method: 'POST' });
    const read = async (role: string, path: string) =>
      JSON.stringify((await call(box, `GET /api/runs${path}`, undefined, await as(role))).body);
    await until(async () => (await read('owner', `/${String(runId)}`)).includes('"failed"'));
    for (const path of [
      '',
      ...['', '/steps', '/timeline', '/why', '/export'].map((end) => `/${String(runId)}${end}`),
    ]) {
      for (const role of ['viewer', 'member']) expect(await read(role, path)).not.toContain(token);
    }
    expect(await read('viewer', `/${String(runId)}/steps`)).toContain('/api/webhooks/[hidden]');
    expect(await read('approver', `/${String(runId)}/steps`)).toContain(token);
    const mask = createMask();
    expect(mask.text(`Give ${token} or http://x/api/webhooks/${token}?a`)).toBe(
      'Give [hidden] or http://x/api/webhooks/[hidden]?a',
    );
  });

  test('takes so many that its run has not, refuses more until it has, and loses none it took', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS, options: { engine: { limits: { unreadResumes: 3 } } } });
    const { runId, token } = await park(box, 'busy');
    const tell = (text: string) => send(box, token, { method: 'POST', body: text });
    expect((await tell('0')).status).toBe(202);
    await until(async () => (await listHooks(box.journal, runId)).length === 2);
    for (const text of ['1', '2', '3']) expect((await tell(text)).status).toBe(202);
    for (const text of ['lost', 'lost']) {
      const refused = await tell(text);
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
        429,
        '5',
        expect.objectContaining({ code: 'hook_queue_full' }),
      ]);
    }
    expect((await resume(box, 'go', 1)).status).toBe(200);
    await until(async () => (await tell('4')).status === 202);
    expect(await finish(box, runId)).toMatchObject({ output: ['0', '1', '2', '3', '4'] });
  });

  test('answers what its workflow says', async () => {
    const box = await open();
    const respondWith = { status: 200, headers: { 'content-type': 'text/xml' }, body: '<ok/>' };
    const { token } = await park(box, 'webhook', { respondWith });
    const answer = await send(box, token, json({}));
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/xml',
      '<ok/>',
    ]);
  });

  test.each([
    ['status 99', { status: 99 }],
    ['a body to 204', { status: 204, body: 'x' }],
    ['a header name with a space', { headers: { 'a b': 'x' } }],
  ])('whose answer is impossible fails its run at once: %s', async (_what, respondWith) => {
    const box = await open();
    expect(await finish(box, await startWorkflow(box, 'webhook', { respondWith }))).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('respondWith') },
    });
  });

  test('called twice is resumed once', async () => {
    const box = await open();
    const { runId, token } = await park(box, 'webhook');
    const answers = await Promise.all(Array.from({ length: 5 }, (_, n) => send(box, token, json({ n }))));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 202);
    expect((await finish(box, runId)).output).toMatchObject({ body: { n: winner } });
  });

  test.each([
    ['__proto__', '{"__proto__":{"polluted":1}}'],
    ['50,000 levels', '['.repeat(50_000) + ']'.repeat(50_000)],
  ])('refuses a body with %s, and waits on', async (_what, body) => {
    const box = await open();
    const { runId, token } = await park(box, 'webhook');
    const answer = await send(box, token, json(body));
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_json' }]);
    expect((await getRun(box, runId)).status).toBe('waiting');
    expect((await send(box, token, json({}))).status).toBe(202);
  });

  test('larger than 1 MiB is 413', async () => {
    const box = await open();
    const { token } = await park(box, 'webhook');
    expect((await send(box, token, { method: 'POST', body: 'x'.repeat(1_048_577) })).status).toBe(413);
  });

  test('and a hook are not found by the route of the other', async () => {
    const box = await open();
    const hooks = { hook: await park(box, 'hook'), approval: await park(box, 'approval') };
    const webhook = await park(box, 'webhook');
    const notFound = { status: 404, body: { code: 'hook_not_found' } };
    expect(await resume(box, webhook.token, {})).toMatchObject(notFound);
    for (const { token } of Object.values(hooks))
      expect(await call(box, `POST /api/webhooks/${token}`, {})).toMatchObject(notFound);
    expect(await call(box, 'POST /api/webhooks/nope', {})).toMatchObject(notFound);
    for (const { runId } of [webhook, ...Object.values(hooks)])
      expect((await getRun(box, runId)).status).toBe('waiting');
  });

  test('is called over a socket, after a restart', async () => {
    const first = await open();
    const { runId, token } = await park(first, 'webhook');
    const box = await first.restart();
    const url = await box.listen();
    expect((await fetch(`${url}/api/webhooks/${token}?a=1`, { method: 'POST', body: 'ping' })).status).toBe(202);
    expect((await finish(box, runId)).output).toMatchObject({ body: 'ping', url: expect.stringContaining('?a=1') });
  });

  test('of a run that has ended is closed', async () => {
    const box = await open();
    const { runId, token } = await park(box, 'webhook');
    await call(box, `POST /api/runs/${runId}/cancel`);
    await until(async () => (await getRun(box, runId)).status === 'cancelled');
    expect(await call(box, `POST /api/webhooks/${token}`, {})).toMatchObject({
      status: 409,
      body: { code: 'hook_closed' },
    });
  });
});
