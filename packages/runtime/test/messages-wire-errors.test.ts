import Anthropic from '@anthropic-ai/sdk';
import AnthropicBefore from 'anthropic-sdk-0';
import { streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { call, json, startProvider, until } from './_setup.ts';
import {
  ask,
  KEY,
  post,
  readEvents,
  runsOf,
  setupWiresB,
  stream,
  toRequest,
  user,
  whenRunsAre,
} from './_messages-wire.ts';
import type { WireB } from './_messages-wire.ts';

const { open } = setupWiresB();

describe('a request that is refused', () => {
  const REFUSED: [situation: string, body: unknown, status: number, type: string, details: object][] = [
    ['an unknown agent', toRequest('x', { model: 'nope' }), 404, 'not_found_error', { error_code: 'agent_not_found' }],
    ['no model', { max_tokens: 1, messages: user('x') }, 400, 'invalid_request_error', { param: 'model' }],
    ['no max_tokens', { model: 'helper', messages: user('x') }, 400, 'invalid_request_error', { param: 'max_tokens' }],
    ['no tokens at all', toRequest('x', { max_tokens: 0 }), 400, 'invalid_request_error', { param: 'max_tokens' }],
    ['half a token', toRequest('x', { max_tokens: 1.5 }), 400, 'invalid_request_error', { param: 'max_tokens' }],
    ...Object.entries({ stream: 'true', temperature: 'hot', top_p: '1', top_k: 0.5 }).map(
      ([name, value]): (typeof REFUSED)[number] => [
        `${name} of another type`,
        toRequest('x', { [name]: value }),
        400,
        'invalid_request_error',
        { param: name },
      ],
    ),
    [
      'an effort that is no word',
      toRequest('x', { output_config: { effort: 3 } }),
      400,
      'invalid_request_error',
      { param: 'output_config.effort' },
    ],
    [
      'thinking without a budget',
      toRequest('x', { thinking: { type: 'enabled' } }),
      400,
      'invalid_request_error',
      { param: 'thinking.budget_tokens' },
    ],
    ...(
      [
        ['tool_choice', { tool_choice: 'any' }],
        ['tool_choice', { tool_choice: { type: 'required' } }],
        ['tool_choice', { tool_choice: { type: 'tool' } }],
        ['tool_choice', { tool_choice: { type: 'any', disable_parallel_tool_use: 'true' } }],
        ['stop_sequences', { stop_sequences: 'END' }],
        ['stop_sequences', { stop_sequences: [5] }],
        ['output_config.format', { output_config: { format: { type: 'json_object' } } }],
        ['output_config.format', { output_format: 'json' }],
        ['thinking', { thinking: 'on' }],
        ['thinking', { thinking: { type: 'enbled' } }],
      ] as [string, object][]
    ).map(([param, more]): (typeof REFUSED)[number] => [
      JSON.stringify(more),
      toRequest('x', more),
      400,
      'invalid_request_error',
      { param },
    ]),
    ['no messages', { model: 'helper', max_tokens: 1 }, 400, 'invalid_request_error', { param: 'messages' }],
    ['an empty list', toRequest('', { messages: [] }), 400, 'invalid_request_error', { param: 'messages' }],
    [
      'a message that is none',
      toRequest('', { messages: [null] }),
      400,
      'invalid_request_error',
      { param: 'messages[0].role' },
    ],
    [
      'a role of another wire',
      toRequest('', { messages: [...user('x'), { role: 'tool', content: 'x' }] }),
      400,
      'invalid_request_error',
      { param: 'messages[1].role' },
    ],
    [
      'content that is none',
      toRequest('', { messages: [{ role: 'user', content: 7 }] }),
      400,
      'invalid_request_error',
      { param: 'messages[0].content' },
    ],
    [
      'a block that is none',
      toRequest('', { messages: [{ role: 'user', content: ['x'] }] }),
      400,
      'invalid_request_error',
      { param: 'messages[0].content[0]' },
    ],
    [
      'a result without its call',
      toRequest('', { messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] }),
      400,
      'invalid_request_error',
      { param: 'messages[0].content[0]' },
    ],
    [
      'a file the box cannot have',
      toRequest('', {
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }],
      }),
      400,
      'invalid_request_error',
      { param: 'messages[0].content[0].source' },
    ],
    [
      'an image of no kind',
      toRequest('', {
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', data: 'A' } }] }],
      }),
      400,
      'invalid_request_error',
      { param: 'messages[0].content[0].source' },
    ],
    [
      'a document without a text',
      toRequest('', { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text' } }] }] }),
      400,
      'invalid_request_error',
      { param: 'messages[0].content[0].source' },
    ],
    [
      'system texts alone',
      toRequest('', { messages: [{ role: 'system', content: 'Be brief.' }] }),
      400,
      'invalid_request_error',
      { param: 'messages' },
    ],
    [
      'a tool without a schema',
      toRequest('x', { tools: [{ name: 'x' }] }),
      400,
      'invalid_request_error',
      { param: 'tools[0]' },
    ],
    ['tools that are no list', toRequest('x', { tools: {} }), 400, 'invalid_request_error', { param: 'tools' }],
    [
      'a thread',
      toRequest('x', { thread: { type: 'create' } }),
      400,
      'invalid_request_error',
      { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    ],
    ['a body that is a list', [], 400, 'invalid_request_error', { error_code: 'invalid_request' }],
  ];
  test.each(REFUSED)('for %s is reported in the shape of the wire', async (_situation, body, status, type, details) => {
    const wire = await open();
    const answer = await post(wire, body);
    expect({ status: answer.status, retry: answer.headers.get('x-should-retry') }).toEqual({ status, retry: 'false' });
    expect(await answer.json()).toEqual({
      type: 'error',
      error: { type, message: expect.stringMatching(/\.$/), details: expect.objectContaining(details) },
      request_id: answer.headers.get('request-id'),
    });
    expect(await runsOf(wire)).toEqual([]);
  });

  test.each([
    ['POST', '/v1/messages'],
    ['POST', '/v1/messages/count_tokens'],
    ['GET', '/v1/models'],
    ['GET', '/v1/models/helper'],
  ])('for want of a key is 401: %s %s', async (method, path) => {
    const { url } = await open();
    for (const headers of [{}, { authorization: 'Bearer ' }, { 'x-api-key': ' ' }]) {
      const init = method === 'POST' ? json({}, { headers: headers as Record<string, string> }) : { headers };
      const answer = await fetch(url + path, init as RequestInit);
      expect([answer.status, answer.headers.get('request-id')]).toEqual([401, expect.stringMatching(/^req_/)]);
      expect(await answer.json()).toMatchObject({
        type: 'error',
        error: { type: 'authentication_error', details: { error_code: 'unauthorized' } },
      });
    }
  });

  test('for one of two credentials is not: either may be the key', async () => {
    const kv = createMemoryKv();
    const dev = await open({ options: { kv } });
    const image = await open({ options: { host: 'image', kv } });
    const { body: key } = await call<{ id: string; value: string }>(dev.box, 'POST /api/keys', {
      name: 'ci',
      grants: { agents: 'all' },
    });
    const statusOf = async (bearer: string, apiKey: string) =>
      (await post(image, toRequest('say:hi'), { authorization: `Bearer ${bearer}`, 'x-api-key': apiKey })).status;
    const unknown = `svc_${'0'.repeat(20)}_${'A'.repeat(43)}`;
    for (const other of ['of-another-vendor', unknown])
      expect([await statusOf(other, key.value), await statusOf(key.value, other)]).toEqual([200, 200]);
    expect(await statusOf('of-another-vendor', unknown)).toBe(401);
    await call(dev.box, `POST /api/keys/${key.id}/revoke`);
    await until(async () => (await statusOf('of-another-vendor', key.value)) === 401);
  });

  test('for a key that is unknown is 401, for one that lacks the agent 403; it lists the agents that are granted', async () => {
    const agents = Object.fromEntries(['helper', 'other'].map((name) => [name, defineDeepAgent({ name })]));
    const kv = createMemoryKv();
    const dev = await open({ options: { kv } });
    const image = await open({ agents, options: { host: 'image', kv } });
    const { body } = await call<{ value: string }>(dev.box, 'POST /api/keys', {
      name: 'ci',
      grants: { agents: ['helper'] },
    });
    const client = image.anthropic.withOptions({ apiKey: body.value });
    expect((await client.messages.create(toRequest('say:hi'))).content).toMatchObject([{ text: 'hi' }]);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['helper']);
    const denied = {
      status: 403,
      error: { error: { type: 'permission_error', details: { error_code: 'forbidden' } } },
    };
    await expect(client.messages.create(toRequest('say:hi', { model: 'other' }))).rejects.toMatchObject(denied);
    await expect(client.models.retrieve('other')).rejects.toMatchObject(denied);
    await expect(ask(image, 'say:hi')).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });

  test.each(['/v1/complete', '/v1/messages/batches', '/v1/files', '/nope'])(
    'for the route %s, which is not there, is reported in the shape of the wire',
    async (path) => {
      const { url } = await open();
      const answer = await fetch(url + path, json({}, { headers: KEY }));
      expect([answer.status, await answer.json()]).toMatchObject([404, { error: { type: 'not_found_error' } }]);
    },
  );

  test.each(['', '/wire-b/v1'])('at the base address "%s" says which one the client needs', async (base) => {
    const { url } = await open();
    const client = new Anthropic({ apiKey: 'any', baseURL: new URL(url).origin + base, maxRetries: 0 });
    await expect(client.messages.create(toRequest('say:hi'))).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining(
        `There is no route POST ${base}/v1/messages. The base address of this format ends in /wire-b,`,
      ),
    });
  });

  test('raises the kinds of error of both SDKs', async () => {
    const wire = await open();
    const request = toRequest('x', { model: 'nope' });
    await expect(wire.anthropic.messages.create(request)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    await expect(wire.before.messages.create(request)).rejects.toBeInstanceOf(AnthropicBefore.NotFoundError);
    await expect(ask(wire, 'x', { model: 'nope' })).rejects.toMatchObject({
      errorCode: 'agent_not_found',
      requestID: expect.stringMatching(/^req_/),
    });
  });

  test('leaves a thread of the SDK to the holder of the conversation', async () => {
    const { anthropic } = await open();
    const thread = anthropic.beta.messages.thread({ model: 'helper', max_tokens: 100 });
    await expect(thread.send(user('say:hi'))).rejects.toMatchObject({ errorCode: 'thread_unsupported_request' });
    const settings = { model: 'helper', max_tokens: 100, unsupportedRequestBehavior: 'continue_unthreaded' as const };
    const held = anthropic.beta.messages.thread(settings);
    expect((await held.send(user('say:one'))).content).toMatchObject([{ text: 'one' }]);
    expect((await held.send(user('say:two'))).content).toMatchObject([{ text: 'two' }]);
  });
});

describe('a provider that fails', () => {
  test.each(['500', ' 42 '])('with the code %j, which is none, has the code of the box', async (code) => {
    const provider = await startProvider((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'The model is tired.', code } }));
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    await expect(ask(wire, 'hi')).rejects.toMatchObject({ errorCode: 'model_provider_failed' });
  });

  test.each([
    [500, 500, 'api_error', 3],
    [503, 503, 'api_error', 3],
    [529, 529, 'overloaded_error', 3],
    [400, 400, 'invalid_request_error', 1],
    [404, 502, 'api_error', 1],
  ])('with %i is %i for the caller, who does not ask again', async (status, received, type, requests) => {
    for (const isStream of [false, true]) {
      const provider = await startProvider((response) => {
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
        response.end('{"error":{"message":"The model is tired.","code":"tired"}}');
      });
      const wire = await open({ provider: { baseUrl: provider.url } });
      const error = await (isStream ? stream : ask)(wire, 'hi').catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ status: received, errorCode: 'tired', error: { error: { type } } });
      expect((error as Error).message).toContain('The model is tired.');
      expect(provider.served()).toBe(requests);
      await whenRunsAre(wire, 'failed');
    }
  });

  test('with 401 is a 502 that repeats nothing of what it says', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"Incorrect key: box-own-key.","code":"invalid_api_key"}}');
    });
    const wire = await open({ provider: { baseUrl: provider.url, apiKey: 'box-own-key' } });
    const error = (await ask(wire, 'hi').catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ status: 502, errorCode: 'model_provider_failed' });
    expect(error.message).toContain('The model provider answered 401. It refuses the key.');
    expect(error.message).not.toMatch(/Incorrect|box-own/);
    expect(provider.served()).toBe(1);
  });

  test.each([
    [429, { 'retry-after': '7' }, '7', null],
    [503, { 'retry-after': '7' }, '7', null],
    [429, {}, null, 'false'],
  ])('with %i and %o may be asked again only when it says when', async (status, headers, after, retry) => {
    const provider = await startProvider((response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1', ...headers });
      response.end('{"error":{"message":"Busy."}}');
    });
    const answer = await post(await open({ provider: { baseUrl: provider.url } }), toRequest('hi'));
    const received = ['retry-after', 'x-should-retry'].map((name) => answer.headers.get(name));
    expect([answer.status, ...received]).toEqual([status, after, retry]);
  });

  test('after output is reported in the stream, and reaches every client', async () => {
    const wire = await open();
    const request = toRequest('cut; say:one two', { stream: true });
    const answer = await post(wire, request);
    expect(answer.status).toBe(200);
    const requestId = answer.headers.get('request-id');
    const last = (await readEvents(answer)).at(-1);
    expect(last).toEqual({
      event: 'error',
      data: {
        type: 'error',
        error: {
          type: 'api_error',
          message: expect.stringContaining('The model provider failed'),
          details: { error_code: 'model_provider_failed' },
        },
        request_id: requestId,
      },
    });
    await expect(stream(wire, 'cut; say:one two')).rejects.toBeInstanceOf(Anthropic.APIError);
    await expect(wire.before.messages.stream(toRequest('cut; say:one two')).finalMessage()).rejects.toBeInstanceOf(
      AnthropicBefore.APIError,
    );
    const read = async () => {
      for await (const _chunk of await wire.langchain.stream('cut; say:one two'));
    };
    await expect(read()).rejects.toThrow('The model provider failed');
    const { fullStream } = streamText({
      model: wire.ai,
      maxOutputTokens: 100,
      prompt: 'cut; say:one two',
      onError: () => {},
    });
    const types: string[] = [];
    for await (const part of fullStream) types.push(part.type);
    expect(types).toContain('error');
  });

  test('after a tool ran is a 5xx no one repeats', async () => {
    const wire = await open();
    await expect(ask(wire, 'tool:add {"a":1,"b":2}; error:500')).rejects.toMatchObject({ status: 500 });
    expect(await runsOf(wire)).toHaveLength(1);
  });
});

describe('a client that goes away', () => {
  test.each([
    ['before the first word of a stream', 0, true],
    ['in the middle of a stream', 1, true],
    ['while it waits for the whole answer', 1, false],
  ])('%s cancels the turn and drops the request to the provider', async (_title, words, isStream) => {
    const endless = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      const choices = [{ index: 0, delta: { content: 'word ' }, finish_reason: null }];
      if (words) response.write(`data: ${JSON.stringify({ choices })}\n\n`);
    });
    const wire = await open({ provider: { baseUrl: endless.url } });
    const abort = new AbortController();
    const { signal } = abort;
    let heard = 0;
    const answer = isStream
      ? wire.anthropic.messages
          .stream(toRequest('hi'), { signal })
          .on('text', () => heard++)
          .finalMessage()
      : wire.anthropic.messages.create(toRequest('hi'), { signal });
    const ended = answer.catch((error: unknown) => error);
    await until(() => endless.open() === 1 && (!isStream || heard === words));
    abort.abort();
    expect(await ended).toBeInstanceOf(Anthropic.APIUserAbortError);
    await until(() => endless.open() === 0);
    await whenRunsAre(wire, 'cancelled');
    expect(wire.box.logs).toEqual([]);
  });

  test('is signalled to a tool that is running', async () => {
    let state = 'not begun';
    const wait = defineTool({
      description: 'Waits.',
      inputSchema: z.object({}),
      async execute(_input, { signal }) {
        state = 'running';
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        state = 'aborted';
      },
    });
    const wire = await open({ agents: { helper: defineDeepAgent({ name: 'helper', tools: { wait } }) } });
    const reading = wire.anthropic.messages.stream(toRequest('tool:wait {}; say:never'));
    const ended = reading.finalMessage().catch(() => {});
    await until(() => state === 'running');
    reading.abort();
    await ended;
    await until(() => state === 'aborted');
    await whenRunsAre(wire, 'cancelled');
  });
});

describe('a turn that someone cancels', () => {
  const cancelAll = async (wire: WireB) => {
    for (const { runId } of await runsOf(wire)) await call(wire.box, `POST /api/runs/${runId}/cancel`);
  };
  const openEndless = async (words: number) => {
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      const choices = [{ index: 0, delta: { content: 'word ' }, finish_reason: null }];
      if (words) response.write(`data: ${JSON.stringify({ choices })}\n\n`);
    });
    return { provider, wire: await open({ provider: { baseUrl: provider.url } }) };
  };

  test.each([
    ['before the first word of a stream', 0, true],
    ['before the whole answer', 1, false],
  ])('%s is an error that no one repeats, not an answer', async (_title, words, isStream) => {
    const { provider, wire } = await openEndless(words);
    const ended = (isStream ? stream : ask)(wire, 'hi').catch((error: unknown) => error);
    await until(() => provider.open() === 1);
    await cancelAll(wire);
    expect(await ended).toMatchObject({ status: 410, errorCode: 'run_cancelled' });
    expect(await runsOf(wire)).toHaveLength(1);
  });

  test('in the middle of a stream is an error in it, for both SDKs', async () => {
    const { wire } = await openEndless(1);
    const now = wire.anthropic.messages.stream(toRequest('hi'));
    const before = wire.before.messages.stream(toRequest('hi'));
    let heard = 0;
    now.on('text', () => heard++);
    before.on('text', () => heard++);
    const ended = [now.finalMessage().catch(String), before.finalMessage().catch(String)];
    await until(() => heard === 2);
    await cancelAll(wire);
    for (const received of await Promise.all(ended)) expect(received).toContain('run_cancelled');
  });
});

test('a box that closes notifies the clients it leaves behind', async () => {
  const wire = await open();
  const answer = post(wire, toRequest('hang'));
  await until(() => wire.asked().length === 1);
  await wire.box.close();
  expect((await answer).status).toBe(503);
  expect(await (await answer).json()).toMatchObject({ error: { details: { error_code: 'shutting_down' } } });
});
