import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createModelClient } from '../src/agents/model/client.ts';
import type { ModelReply } from '../src/agents/model/read-reply.ts';
import type { ModelRequest } from '../src/agents/model/request.ts';
import type { TurnEvent } from '../src/agents/events/turn-events.ts';
import { startProvider, until } from './_setup.ts';

afterEach(() => vi.unstubAllEnvs());

const REQUEST: ModelRequest = { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: [], parameters: {} };

interface Called {
  reply: Promise<ModelReply>;
  received: TurnEvent[];
}

function call(
  url: string,
  request: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
  onEvent: (event: TurnEvent) => void = () => {},
): Called {
  const received: TurnEvent[] = [];
  const options = {
    emit(event: TurnEvent) {
      received.push(event);
      onEvent(event);
    },
    messageId: 'msg_1',
    executorOf: () => 'box' as const,
    uniqueId: (id: string) => id,
  };
  const callModel = createModelClient(async () => ({ baseUrl: url }));
  return { reply: callModel({ ...REQUEST, ...request }, options, signal), received };
}

const sse = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });
const frame = (chunk: unknown): string => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`;
const delta = (value: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: value, finish_reason }],
});
const STOP = delta({}, 'stop');

/** What comes of these frames. */
async function replyTo(frames: unknown[]): Promise<ModelReply> {
  const provider = await startProvider((response) => sse(response).end(frames.map(frame).join('')));
  return call(provider.url).reply;
}

const toolCall = (fields: object) => delta({ tool_calls: [fields] });

describe('a stream that is unlike the others', () => {
  test.each<[string, unknown[], object]>([
    ['has no usage', [delta({ content: 'a' }), STOP], { content: 'a', usage: { inputTokens: 0, outputTokens: 0 } }],
    ['has usage that is null', [{ ...delta({ content: 'a' }), usage: null }, STOP], { content: 'a' }],
    [
      'has its usage in the last choice',
      [{ choices: [{ delta: { content: 'a' }, finish_reason: 'stop', usage: { prompt_tokens: 3 } }] }],
      { usage: { inputTokens: 3 } },
    ],
    ['has no [DONE]', [delta({ content: 'a' }), STOP], { content: 'a', finishReason: 'stop' }],
    ['has [DONE] and no finish reason', [delta({ content: 'a' }), '[DONE]'], { content: 'a', finishReason: 'stop' }],
    [
      'has [DONE] and no finish reason after a call',
      [toolCall({ index: 0, id: 'c', function: { name: 'add', arguments: '{}' } }), '[DONE]'],
      { finishReason: 'tool_calls' },
    ],
    ...[
      ['numbers all calls 0', 0, 0] as const,
      ['numbers no call', undefined, undefined] as const,
      ['numbers its calls', 0, 1] as const,
    ].map(([title, first, second]): [string, unknown[], object] => [
      title,
      [
        toolCall({ index: first, id: 'a', function: { name: 'add', arguments: '{"a":1,' } }),
        toolCall({ index: first, function: { arguments: '"b":2}' } }),
        toolCall({ index: second, id: 'b', function: { name: 'big', arguments: '{}' } }),
        STOP,
      ],
      {
        toolCalls: [
          { id: 'a', name: 'add', arguments: '{"a":1,"b":2}' },
          { id: 'b', name: 'big', arguments: '{}' },
        ],
      },
    ]),
    [
      'has chunks of null, of no choices, of text',
      ['null', { choices: [] }, { choices: null }, 'wait', delta({ content: 'a' }), STOP],
      { content: 'a' },
    ],
    [
      'has several choices',
      [{ choices: [{ index: 1, delta: { content: 'b' } }] }, delta({ content: 'a' }), STOP],
      { content: 'a' },
    ],
    ['has content in parts', [delta({ content: [{ type: 'text', text: 'a' }] }), STOP], { content: 'a' }],
    ['thinks in reasoning_content', [delta({ reasoning_content: 'r' }), STOP], { reasoning: 'r' }],
    ['thinks in reasoning', [delta({ reasoning: 'r' }), STOP], { reasoning: 'r' }],
    ['thinks in thinking', [delta({ thinking: 'r' }), STOP], { reasoning: 'r' }],
    [
      'thinks in reasoning beside an empty one',
      [delta({ reasoning_content: '', reasoning: 'r' }), STOP],
      { reasoning: 'r' },
    ],
    [
      'refuses',
      [delta({ content: null, refusal: 'I ' }), delta({ refusal: 'will not.' }), STOP],
      { content: 'I will not.' },
    ],
  ])('%s', async (_, frames, expected) => {
    expect(await replyTo(frames)).toMatchObject(expected);
  });

  test('that ends without a reason and without [DONE] is a failure, never a short answer', async () => {
    await expect(replyTo([delta({ content: 'a' })])).rejects.toMatchObject({
      status: 502,
      code: 'model_provider_failed',
    });
    await expect(replyTo(['[DONE]'])).rejects.toMatchObject({ status: 502 });
  });

  test('that turns into an error tells the message', async () => {
    const frames = [delta({ content: 'a' }), { error: { message: 'Out of memory.', code: 500 } }];
    await expect(replyTo(frames)).rejects.toThrow('failed in the middle of its answer: Out of memory.');
  });

  test('has lines that end in CR LF, comments, and no empty line at its end', async () => {
    const text = `: ping\r\n\r\nevent: x\r\ndata:${JSON.stringify(delta({ content: 'ä' }))}\r\n\r\ndata: ${JSON.stringify(STOP)}`;
    const bytes = Buffer.from(text);
    const provider = await startProvider(async (response) => {
      sse(response);
      for (const byte of bytes) response.write(Buffer.from([byte]));
      response.end();
    });
    expect(await call(provider.url).reply).toMatchObject({ content: 'ä', finishReason: 'stop' });
  });

  test('reports what was read from and written to a cache, under each name it goes by', async () => {
    const usages = [
      { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 } },
      { prompt_tokens: 9, prompt_cache_hit_tokens: 4, cache_creation_input_tokens: 2 },
    ];
    for (const usage of usages)
      expect((await replyTo([STOP, { choices: [], usage }])).usage).toMatchObject({
        inputTokens: 9,
        cacheReadTokens: 4,
        cacheWriteTokens: 2,
      });
  });
});

test('a provider that answers JSON to a streamed request is read as one piece', async () => {
  const provider = await startProvider((response) => {
    const calls = [{ function: { name: 'add', arguments: { a: 1 } } }, { function: { name: 'sub', arguments: '{}' } }];
    const message = { role: 'assistant', content: 'a', reasoning_content: 'r', tool_calls: calls };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices: [{ message }], usage: { prompt_tokens: 1, completion_tokens: 2 } }));
  });
  expect(await call(provider.url).reply).toMatchObject({
    content: 'a',
    reasoning: 'r',
    finishReason: 'tool_calls',
    toolCalls: [{ name: 'add', arguments: '{"a":1}' }, { name: 'sub' }],
    usage: { inputTokens: 1, outputTokens: 2 },
  });
});

describe('an answer that is not what its content type says', () => {
  const document = JSON.stringify({ choices: [{ message: { content: 'ä' }, finish_reason: 'stop' }] }, null, 2);
  const stream = [delta({ content: 'ä' }), STOP].map(frame).join('');
  test.each([
    ['one document without a type', {}, document],
    ['one document as plain text', { 'content-type': 'text/plain' }, `\n${document}`],
    ['one document as a stream', { 'content-type': 'text/event-stream' }, document],
    ['one document behind a byte order mark', { 'content-type': 'application/json' }, `\uFEFF${document}`],
    ['a stream as JSON', { 'content-type': 'application/json' }, stream],
    ['a stream behind a byte order mark', { 'content-type': 'text/event-stream' }, `\uFEFF${stream}`],
  ])('is read all the same: %s', async (_, headers, text) => {
    const provider = await startProvider(async (response) => {
      response.writeHead(200, headers);
      for (const byte of Buffer.from(text)) response.write(Buffer.from([byte]));
      response.end();
    });
    expect(await call(provider.url).reply).toMatchObject({ content: 'ä', finishReason: 'stop' });
  });

  test('and is a page says that the address is a wrong one, and nothing of the page', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Intern</h1>');
    });
    await expect(call(provider.url).reply).rejects.toMatchObject({
      status: 502,
      message:
        'The model provider failed: It answered with a page. The address must end in what comes before /chat/completions, such as /v1.',
    });
    expect(provider.served()).toBe(1);
  });
});

describe('an answer that is whole', () => {
  test('is not waited for when its connection stays open', async () => {
    const provider = await startProvider((response) => {
      sse(response).write([delta({ content: 'a' }), STOP, '[DONE]'].map(frame).join(''));
    });
    expect(await call(provider.url, { timeout: 20_000 }).reply).toMatchObject({ content: 'a' });
    await until(() => provider.open() === 0);
  });

  test('is taken within a timeout that is longer than any timer', async () => {
    const provider = await startProvider(async (response) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      sse(response).end([delta({ content: 'a' }), STOP, '[DONE]'].map(frame).join(''));
    });
    expect(await call(provider.url, { timeout: 2_592_000_000 }).reply).toMatchObject({ content: 'a' });
  });

  test('is no failure when its connection breaks', async () => {
    const provider = await startProvider((response) => {
      sse(response).write([delta({ content: 'a' }), STOP, '[DONE]'].map(frame).join(''), () => response.destroy());
    });
    expect(await call(provider.url).reply).toMatchObject({ content: 'a' });
    expect(provider.served()).toBe(1);
  });
});

describe('an answer that comes in one burst', () => {
  test('is emitted from its beginning on before the rest is read', async () => {
    const pieces = Array.from({ length: 500 }, (_, n) => delta({ content: `${n} ` }));
    const provider = await startProvider((response) => sse(response).end([...pieces, STOP].map(frame).join('')));
    let emitted = 0;
    let seenFirst = 0;
    const { reply } = call(provider.url, {}, undefined, ({ type }) => {
      // What a reader of the turn has taken in the next round of the event loop.
      if (type === 'text.delta' && emitted++ === 0) setImmediate(() => (seenFirst = emitted));
    });
    expect((await reply).content).toBe(pieces.map((_, n) => `${n} `).join(''));
    expect(emitted).toBe(500);
    expect(seenFirst).toBeGreaterThan(0);
    expect(seenFirst).toBeLessThan(50);
  });
});

describe('a call', () => {
  test('without a key sends none, and nothing of what the environment says to others', async () => {
    vi.stubEnv('OPENAI_ORG_ID', 'org-x');
    vi.stubEnv('OPENAI_API_KEY', 'sk-x');
    let headers: unknown;
    const provider = await startProvider((response) => {
      headers = response.req.headers;
      sse(response).end(frame(delta({ content: 'a' }, 'stop')));
    });
    await call(provider.url).reply;
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('openai-organization');
  });

  test('sends a call that was made without arguments back with an empty object', async () => {
    let sent: unknown;
    const provider = await startProvider((response, request) => {
      sent = request.messages;
      sse(response).end(frame(delta({ content: 'a' }, 'stop')));
    });
    const toCalls = (...args: string[]) => ({
      role: 'assistant' as const,
      content: null,
      tool_calls: args.map((text, n) => ({
        id: `c${n}`,
        type: 'function' as const,
        function: { name: 'now', arguments: text },
      })),
    });
    await call(provider.url, { messages: [toCalls('', ' ', '{"a":1}', 'no json')] }).reply;
    expect(sent).toEqual([toCalls('{}', '{}', '{"a":1}', 'no json')]);
  });

  test('is repeated when the connection is refused before an answer began, and not once something was streamed', async () => {
    let requests = 0;
    const provider = await startProvider((response) => {
      requests++;
      if (requests === 1) return response.destroy();
      sse(response).write(frame(delta({ content: 'a' })), () => requests === 3 && response.destroy());
      return requests === 2 && response.end(frame(STOP));
    });
    expect(await call(provider.url).reply).toMatchObject({ content: 'a' });
    expect(requests).toBe(2);
    const { reply, received } = call(provider.url);
    await expect(reply).rejects.toMatchObject({ status: 502 });
    expect(requests).toBe(3);
    expect(received).toContainEqual({ type: 'text.delta', id: 'msg_1', text: 'a' });
  });

  test.each([
    ['429 once, with a wait of 0 s', 429, '0', 2],
    ['503 once, with a wait of 0 s', 503, '0', 2],
    ['429 with a wait longer than anybody waits', 429, '3600', 1],
    ['400', 400, '0', 1],
  ])('answered %s is sent as often as is safe', async (_, status, after, requests) => {
    const provider = await startProvider((response) => {
      if (provider.served() > 1) return sse(response).end(frame(delta({ content: 'a' }, 'stop')));
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': after });
      return response.end('{"error":{"message":"Later."}}');
    });
    const answer = await call(provider.url).reply.catch((error: unknown) => error);
    expect(answer).toMatchObject(
      requests === 2 ? { content: 'a' } : { status, message: `The model provider answered ${status}: Later.` },
    );
    expect(provider.served()).toBe(requests);
  });

  test.each([
    [0, 1],
    [1, 2],
    [3, 4],
  ])('with maxRetries %i is sent %i times', async (maxRetries, requests) => {
    const provider = await startProvider((response) =>
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after-ms': '1' }).end('{}'),
    );
    await expect(call(provider.url, { maxRetries }).reply).rejects.toMatchObject({ status: 503 });
    expect(provider.served()).toBe(requests);
  });

  test.each([
    ['429 with a wait longer than anybody waits', 429, ['m', 'b', 'c']],
    ['503', 503, ['m', 'm', 'b', 'b', 'c']],
    ['nothing', 0, ['m', 'm', 'b', 'b', 'c']],
    ['400', 400, ['m']],
    ['401', 401, ['m']],
  ])('answered %s goes to the next model where another may answer', async (_, status, asked) => {
    const seen: unknown[] = [];
    const provider = await startProvider((response, request) => {
      seen.push(request.model);
      if (request.model === 'c') return sse(response).end(frame(delta({ content: 'a' }, 'stop')));
      if (status === 0) return response.destroy();
      const wait = status === 429 ? { 'retry-after': '3600' } : { 'retry-after-ms': '1' };
      return response.writeHead(status, { 'content-type': 'application/json', ...wait }).end('{}');
    });
    const fallbackModels = ['b', 'm', 'c', 'd'];
    const answer = await call(provider.url, { maxRetries: 1, fallbackModels }).reply.catch((error: unknown) => error);
    expect(seen).toEqual(asked);
    expect(answer).toMatchObject(asked.length > 1 ? { content: 'a', fallback: 'c' } : { name: 'ProviderError' });
  });

  test('that has begun to answer goes to no other model, and the answer of the last one is what it fails with', async () => {
    const provider = await startProvider((response) =>
      sse(response).write(frame(delta({ content: 'a' })), () => response.destroy()),
    );
    await expect(call(provider.url, { fallbackModels: ['b'] }).reply).rejects.toMatchObject({ status: 502 });
    expect(provider.served()).toBe(1);
    const refusing = await startProvider((response, { model }) =>
      response
        .writeHead(model === 'b' ? 404 : 503, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: `Not ${String(model)}.` } })),
    );
    await expect(call(refusing.url, { maxRetries: 0, fallbackModels: ['b'] }).reply).rejects.toMatchObject({
      message: expect.stringContaining('Not b.'),
    });
  });

  test('waits until the date that a refusal names', async () => {
    const at = Math.ceil(Date.now() / 1_000) * 1_000 + 1_000;
    let askedAgainAt = 0;
    const provider = await startProvider((response) => {
      if (provider.served() === 1) return response.writeHead(429, { 'retry-after': new Date(at).toUTCString() }).end();
      askedAgainAt = Date.now();
      return sse(response).end(frame(delta({ content: 'a' }, 'stop')));
    });
    expect(await call(provider.url).reply).toMatchObject({ content: 'a' });
    expect(askedAgainAt).toBeGreaterThanOrEqual(at);
  });

  test('that takes longer than its time is ended at the provider too, before and after the first byte', async () => {
    for (const first of ['', frame(delta({ content: 'a' }))]) {
      const provider = await startProvider((response) => first && sse(response).write(first));
      const { reply } = call(provider.url, { timeout: 1_500 });
      await expect(reply).rejects.toMatchObject({ status: 504, code: 'model_timeout' });
      await until(() => provider.open() === 0);
      expect(provider.served()).toBe(1);
    }
  });

  test('that is cancelled rejects with the reason, and the provider sees the caller go', async () => {
    const provider = await startProvider((response) => void sse(response).write(frame(delta({ content: 'a' }))));
    const stop = new AbortController();
    const { reply, received } = call(provider.url, {}, stop.signal);
    await until(() => received.length > 0);
    stop.abort(new Error('Enough.'));
    await expect(reply).rejects.toThrow('Enough.');
    await until(() => provider.open() === 0);
  });

  test('waits for a first byte that is slow', async () => {
    const provider = await startProvider((response) => {
      setTimeout(() => sse(response).end(frame(delta({ content: 'a' }, 'stop'))), 300);
    });
    expect(await call(provider.url).reply).toMatchObject({ content: 'a' });
  });

  test('uses the connections of those before', async () => {
    const ports = new Set<number | undefined>();
    const provider = await startProvider((response) => {
      ports.add(response.req.socket.remotePort);
      sse(response).end(frame(delta({ content: 'a' }, 'stop')));
    });
    for (let n = 0; n < 8; n++) await call(provider.url).reply;
    // A connection comes free a moment after its answer was read, so there may be a second one.
    expect(ports.size).toBeLessThan(4);
  });
});
