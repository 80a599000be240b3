import { streamText } from 'ai';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { call, json, startProvider } from './_setup.ts';
import { ask, KEY, runsOf, streamed, user, whenRunsAre, setupWires } from './_chat-completions.ts';

const { open } = setupWires();

describe('an error', () => {
  const REFUSED: [situation: string, body: unknown, status: number, code: string, param: string | null][] = [
    ['an unknown agent', { model: 'nope', messages: user('x') }, 404, 'model_not_found', null],
    ['no model', { messages: user('x') }, 400, 'invalid_request', 'model'],
    ['no messages', { model: 'helper' }, 400, 'invalid_request', 'messages'],
    ['an empty list of messages', { model: 'helper', messages: [] }, 400, 'invalid_request', 'messages'],
    [
      'an unknown role',
      { model: 'helper', messages: [...user('x'), { role: 'robot', content: 'x' }] },
      400,
      'invalid_request',
      'messages[1].role',
    ],
    ['a message that is none', { model: 'helper', messages: [null] }, 400, 'invalid_request', 'messages[0].role'],
    [
      'a tool call that is none',
      { model: 'helper', messages: [{ role: 'assistant', content: null, tool_calls: [null] }] },
      400,
      'invalid_request',
      'messages[0].tool_calls',
    ],
    [
      'messages that cancel each other out',
      { model: 'helper', messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] },
      400,
      'invalid_request',
      'messages',
    ],
    [
      'a result of the old format',
      { model: 'helper', messages: [...user('x'), { role: 'function', name: 'f', content: '42' }] },
      400,
      'invalid_request',
      'messages[1].role',
    ],
    [
      'a call of the old format',
      {
        model: 'helper',
        messages: [{ role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }, ...user('x')],
      },
      400,
      'invalid_request',
      'messages[0].function_call',
    ],
    [
      'a result of no call',
      { model: 'helper', messages: [...user('x'), { role: 'tool', content: '42' }] },
      400,
      'invalid_request',
      'messages[1].tool_call_id',
    ],
    ...[
      ['stream_options', 'x'],
      ['stream_options.include_usage', { include_usage: 'true' }],
    ].map(([param, options]): (typeof REFUSED)[number] => [
      `${JSON.stringify(options)} for a stream`,
      { model: 'helper', messages: user('x'), stream: true, stream_options: options },
      400,
      'invalid_request',
      String(param),
    ]),
    ['two answers at once', { model: 'helper', messages: user('x'), n: 2 }, 400, 'invalid_request', 'n'],
    ['no answer at all', { model: 'helper', messages: user('x'), n: 0 }, 400, 'invalid_request', 'n'],
    ...Object.entries({
      stream: 'true',
      temperature: 'hot',
      max_tokens: 1.5,
      seed: '1',
      parallel_tool_calls: 1,
      top_p: [],
    }).map(([name, value]): (typeof REFUSED)[number] => [
      `${name} of another type`,
      { model: 'helper', messages: user('x'), [name]: value },
      400,
      'invalid_request',
      name,
    ]),
    ['a body that is a list', [], 400, 'invalid_request', null],
  ];
  test.each(REFUSED)('%s is reported in the shape of the wire', async (_situation, body, status, code, param) => {
    const wire = await open();
    const answer = await fetch(`${wire.url}/chat/completions`, json(body, { headers: KEY }));
    expect({ status: answer.status, retry: answer.headers.get('x-should-retry') }).toEqual({ status, retry: 'false' });
    expect(await answer.json()).toEqual({
      error: { message: expect.stringMatching(/\.$/), type: 'invalid_request_error', param, code },
    });
    expect(await runsOf(wire)).toEqual([]);
  });

  test('takes null for what is left out, and says what a member is that is of another type', async () => {
    const { url } = await open();
    const send = async (more: object) => {
      const body = { model: 'helper', messages: user('say:hi'), ...more };
      const answer = await fetch(`${url}/chat/completions`, json(body, { headers: KEY }));
      return [answer.status, ((await answer.json()) as { error?: { message: string } }).error?.message];
    };
    expect(await send({ stream: null, temperature: null, max_tokens: null, n: 1, seed: 7 })).toEqual([200, undefined]);
    expect(await send({ temperature: 'hot' })).toEqual([400, '"temperature" is "hot"; it must be a number.']);
    expect(await send({ stream: {} })).toEqual([400, '"stream" is an object; it must be true or false.']);
    const [, message] = await send({ seed: 'x'.repeat(10_000) });
    expect(String(message).length).toBeLessThan(120);
  });

  test.each(['', '/v1', '/wire-a'])('at the base address "%s" says which one the client needs', async (base) => {
    const { url } = await open();
    const client = new OpenAI({ apiKey: 'any', baseURL: new URL(url).origin + base, maxRetries: 0 });
    await expect(client.chat.completions.create({ model: 'helper', messages: user('x') })).rejects.toMatchObject({
      status: 404,
      message: `404 There is no route POST ${base}/chat/completions. The base address of this format ends in /wire-a/v1.`,
    });
  });

  test.each(['/responses', '/embeddings'])(
    'at the right base address says of %s only that it is not there',
    async (path) => {
      const { url } = await open();
      const answer = await fetch(url + path, json({}, { headers: KEY }));
      expect(await answer.json()).toMatchObject({ error: { message: `There is no route POST /wire-a/v1${path}.` } });
    },
  );

  test.each([
    ['/chat/completions', 'POST'],
    ['/models', 'GET'],
    ['/models/helper', 'GET'],
  ])('%s without a key is 401', async (path, method) => {
    const { url } = await open();
    for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Basic eA==' }, { 'x-api-key': ' ' }]) {
      const init = method === 'POST' ? json({}, { headers: headers as Record<string, string> }) : { headers };
      const answer = await fetch(url + path, init as RequestInit);
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({
        error: { type: 'authentication_error', code: 'invalid_api_key', param: null },
      });
    }
  });

  test('a body of more than 32 MiB is reported in the shape of the wire', async () => {
    const { url } = await open();
    const body = { model: 'helper', messages: user('x'.repeat(33 * 1_048_576)) };
    const answer = await fetch(`${url}/chat/completions`, json(body, { headers: KEY }));
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([413, 'false']);
    expect(await answer.json()).toMatchObject({ error: { code: 'payload_too_large', param: null } });
  });

  test('openai raises its own kinds of error', async () => {
    const wire = await open();
    await expect(ask(wire, 'x', { model: 'nope' })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(ask(wire, 'x', { n: 2 })).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });

  test.each([
    [500, 500, 3],
    [503, 503, 3],
    [400, 400, 1],
    [404, 502, 1],
  ])(
    'the provider answers %i: the caller gets %i, and the provider is asked %i times and no more',
    async (status, received, requests) => {
      for (const stream of [false, true]) {
        const provider = await startProvider((response) => {
          response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
          response.end('{"error":{"message":"The model is tired.","code":"tired"}}');
        });
        const wire = await open({ provider: { baseUrl: provider.url } });
        const error = await ask(wire, 'hi', { stream }).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(OpenAI.APIError);
        expect(error).toMatchObject({ status: received, code: 'tired' });
        expect((error as Error).message).toContain('The model is tired.');
        expect(provider.served()).toBe(requests);
        await whenRunsAre(wire, 'failed');
      }
    },
  );

  test.each([
    [429, { 'retry-after': '7' }, '7', null],
    [503, { 'retry-after': '7' }, '7', null],
    [429, {}, null, 'false'],
    [500, { 'retry-after': '7' }, '7', 'false'],
  ])('%i of the provider with %o may be repeated only when it says when', async (status, headers, after, retry) => {
    const provider = await startProvider((response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1', ...headers });
      response.end('{"error":{"message":"Busy."}}');
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    const answer = await fetch(
      `${wire.url}/chat/completions`,
      json({ model: 'helper', messages: user('hi') }, { headers: KEY }),
    );
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('x-should-retry')]).toEqual([
      status,
      after,
      retry,
    ]);
  });

  test('of an address that is no provider shows nothing of what it answered', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('internal host list: 10.0.0.7');
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    const error = await ask(wire, 'hi').catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      status: 502,
      message: expect.stringMatching(/answered 404: no message\. The address must end in /),
    });
  });

  test('with 404 and a message that speaks of no model says what the address lacks', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"There is no route POST /chat/completions.","code":"not_found"}}');
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    const error = await ask(wire, 'hi').catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      message: expect.stringContaining(
        'There is no route POST /chat/completions. The address must end in what comes before /chat/completions, such as /v1.',
      ),
    });
  });

  test('whose message is all there is of it is reported, too', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":"No such model: box-own-key-123."}');
    });
    const wire = await open({ provider: { baseUrl: provider.url, apiKey: 'box-own-key-123' } });
    const error = (await ask(wire, 'hi').catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toMatch(/^400 The model provider answered 400: No such model: /);
    expect(error.message).not.toContain('key-123');
  });

  test('of an address that redirects elsewhere says so', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(301, { location: 'https://provider.example/v1/chat/completions' }).end();
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    await expect(ask(wire, 'hi')).rejects.toMatchObject({
      status: 502,
      message: '502 The model provider answered 301. Redirects are not followed.',
    });
    expect(provider.served()).toBe(1);
  });

  test.each([
    [401, 'It refuses the key.'],
    [402, 'The account has no credit.'],
    [403, 'It refuses the key.'],
  ])('the provider answers %i: our own words, once, and none of the provider', async (status, words) => {
    const provider = await startProvider((response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"Incorrect key: box-own-key-123.","code":"invalid_api_key"}}');
    });
    const wire = await open({ provider: { baseUrl: provider.url, apiKey: 'box-own-key-123' } });
    await expect(ask(wire, 'hi')).rejects.toMatchObject({
      status: 502,
      code: 'model_provider_failed',
      message: `502 The model provider answered ${status}. ${words}`,
    });
    expect(provider.served()).toBe(1);
  });

  test.each([400, 401, 403, 404, 429, 500])(
    'with %i that repeats the key of the box: it is in no answer, run, log or event',
    async (status) => {
      const apiKey = 'box+own/key-"123';
      const inner = { message: `No: ${apiKey}, or ${encodeURIComponent(apiKey)}.`, code: `bad ${apiKey}` };
      const provider = await startProvider((response) => {
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
        response.end(JSON.stringify({ error: inner }));
      });
      const wire = await open({ provider: { baseUrl: provider.url, apiKey } });
      const received: string[] = [];
      for (const stream of [false, true]) {
        const body = { model: 'helper', messages: user('hi'), stream };
        received.push(await (await fetch(`${wire.url}/chat/completions`, json(body, { headers: KEY }))).text());
      }
      await whenRunsAre(wire, 'failed', 'failed');
      for (const { runId } of await runsOf(wire))
        for (const route of ['', '/steps', '/timeline', '/logs', '/why', '/export'])
          received.push(JSON.stringify((await call(wire.box, `GET /api/runs/${runId}${route}`)).body));
      received.push(JSON.stringify(wire.box.logs));
      expect(received[0]).toContain(`answered ${status}`);
      for (const text of received) expect(text).not.toMatch(/key-|own%2F|own\/key/);
    },
  );

  test('of a provider that is not there is a 502 in our own words', async () => {
    // One that is free for a moment may be another's the next.
    const wire = await open({ provider: { baseUrl: 'http://127.0.0.1:1/v1' } });
    await expect(ask(wire, 'hi')).rejects.toMatchObject({
      status: 502,
      code: 'model_provider_failed',
      message: '502 The model provider failed: Nothing listens at the address.',
    });
  });

  test('of a provider that says very much is cut', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'a'.repeat(5_000) } }));
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    const error = (await ask(wire, 'hi').catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toMatch(/answered 400: a{1000}…$/);
  });

  test('is what an answer that just ends becomes', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'half an ans' } }] })}\n\n`);
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    await expect(ask(wire, 'hi')).rejects.toMatchObject({ status: 502 });
  });

  test('after output is reported in the stream, which still ends as it should', async () => {
    const wire = await open();
    const { url } = wire;
    const answer = await fetch(
      `${url}/chat/completions`,
      json({ model: 'helper', messages: user('cut; say:one two'), stream: true }, { headers: KEY }),
    );
    expect(answer.status).toBe(200);
    const frames = (await answer.text()).trim().split('\n\n');
    expect(frames.at(-1)).toBe('data: [DONE]');
    expect(JSON.parse(frames.at(-2)?.slice(6) ?? '')).toEqual({
      error: {
        message: expect.stringContaining('The model provider failed'),
        type: 'server_error',
        param: null,
        code: 'model_provider_failed',
      },
    });
    await expect(streamed(wire, 'cut; say:one two')).rejects.toBeInstanceOf(OpenAI.APIError);
    const { fullStream } = streamText({ model: wire.ai, prompt: 'cut; say:one two', onError: () => {} });
    const types: string[] = [];
    for await (const part of fullStream) types.push(part.type);
    expect(types).toContain('error');
  });

  test('after output of an answer that is not streamed is a 5xx no one repeats', async () => {
    const wire = await open();
    await expect(ask(wire, 'tool:add {"a":1,"b":2}; error:500')).rejects.toMatchObject({ status: 500 });
    expect((await runsOf(wire)).length).toBe(1);
  });

  test('of the box itself says nothing of its inside', async () => {
    const instructions = () => {
      throw new Error('A secret path: /home/me.');
    };
    const wire = await open({ agents: { helper: defineDeepAgent({ name: 'helper', instructions }) } });
    await expect(ask(wire, 'x')).rejects.toMatchObject({ status: 500, code: 'internal' });
    await expect(ask(wire, 'x')).rejects.not.toThrow(/secret/);
    await whenRunsAre(wire, 'failed', 'failed');
  });
});
