import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
// The client the runtime itself uses.
import OpenAI from '../../packages/runtime/node_modules/openai/index.mjs';
import { startModelServer } from '../model-server.mjs';

type Message = OpenAI.ChatCompletionMessageParam;
type Chunk = OpenAI.ChatCompletionChunk;

const TOOLS: OpenAI.ChatCompletionTool[] = ['add', 'refund'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object' } },
}));

let server: Awaited<ReturnType<typeof startModelServer>>;
let client: OpenAI;

beforeEach(async () => {
  server = await startModelServer();
  client = new OpenAI({ baseURL: server.url, apiKey: 'any', maxRetries: 0 });
});

afterEach(() => server.close());

describe('an answer', () => {
  test('says what it is asked to, and who it is when asked nothing', async () => {
    expect((await ask('say:hello')).message.content).toBe('hello');
    expect((await ask('say:one; two\nsay:three')).message.content).toBe('one; two\nthree');
    const canned = await ask('How are you?');
    expect(canned.message.content).toContain('You said: "How are you?". I am the scripted model');
    expect(canned.finish_reason).toBe('stop');
  });

  test('reads a message of parts as its text', async () => {
    const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'say:parts' }] }];
    expect((await complete(messages)).choices[0]?.message.content).toBe('parts');
  });

  test('counts a token per four characters, and what was sent before as cached', async () => {
    const first: Message[] = [{ role: 'user', content: 'reason:hmmmmmm; say:12345678' }];
    const fresh = (await complete(first)).usage;
    expect(fresh).toEqual({
      prompt_tokens: Math.ceil(JSON.stringify(first).length / 4),
      completion_tokens: 4,
      total_tokens: (fresh?.prompt_tokens ?? 0) + 4,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 2 },
    });
    const again = await complete([...first, { role: 'assistant', content: 'x' }, { role: 'user', content: 'say:y' }]);
    expect(again.usage?.prompt_tokens_details?.cached_tokens).toBe(fresh?.prompt_tokens);
  });

  test('ends as asked', async () => {
    expect((await ask('say:x; finish:length')).finish_reason).toBe('length');
  });
});

describe('a stream', () => {
  test('brings reasoning, then text, then usage in a chunk of its own', async () => {
    const chunks = await stream('reason:let me see; say:all is well', { stream_options: { include_usage: true } });
    const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta as Record<string, unknown>));
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
    expect(deltas.map((delta) => delta['reasoning_content'] ?? '').join('')).toBe('let me see');
    expect(deltas.map((delta) => delta['content'] ?? '').join('')).toBe('all is well');
    expect(finishOf(chunks)).toEqual(['stop']);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 6 } });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
  });

  test('carries no usage unless asked', async () => {
    expect((await stream('say:x')).every((chunk) => chunk.choices.length === 1 && !('usage' in chunk))).toBe(true);
  });

  test.each(['chunks:1000', 'say:short; chunks:1000', `say:${'long '.repeat(500)}; chunks:1000`])(
    'has exactly the pieces asked for: %s',
    async (message) => {
      const texts = (await stream(message)).map((chunk) => chunk.choices[0]?.delta.content).filter(Boolean);
      expect(texts).toHaveLength(1000);
    },
  );

  test('waits between the pieces', async () => {
    const started = performance.now();
    await stream('chunks:5; delay:20');
    expect(performance.now() - started).toBeGreaterThan(95);
  });

  test('brings tool arguments in fragments that join to what was written', async () => {
    const chunks = await stream('tools:add {"a": "x;y|z", "b": [1, 2]} | refund {}', { tools: TOOLS });
    const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    const argumentsOf = (index: number) =>
      calls.map((call) => (call.index === index ? call.function?.arguments : '')).join('');
    expect(calls.filter((call) => call.id).map((call) => call.function?.name)).toEqual(['add', 'refund']);
    expect(calls.length).toBeGreaterThan(4);
    expect([argumentsOf(0), argumentsOf(1)]).toEqual(['{"a": "x;y|z", "b": [1, 2]}', '{}']);
    expect(finishOf(chunks)).toEqual(['tool_calls']);
  });

  test('that is cut ends without a finish', async () => {
    const seen: Chunk[] = [];
    await expect(stream('say:half; cut', {}, seen)).rejects.toThrow('terminated');
    expect(seen.map((chunk) => chunk.choices[0]?.delta.content).join('')).toBe('half');
    expect(finishOf(seen)).toEqual([]);
  });
});

describe('tools', () => {
  test('are played one round after the other, then the text', async () => {
    const rounds = await playTurn('tool:add {"a":1}; tool:refund; say:done');
    expect(rounds).toEqual(['add {"a":1}', 'refund {}', 'done']);
  });

  test('without a text, the last result is quoted', async () => {
    expect((await playTurn('tool:add {"a":1}')).at(-1)).toBe('The tool answered: result of add');
  });

  test('that are not offered are refused in words', async () => {
    expect((await ask('tool:shout {}', { tools: TOOLS })).message.content).toBe(
      'I cannot call the tool "shout". This request offers: add, refund.',
    );
    expect((await ask('tool:add', { tools: TOOLS, tool_choice: 'none' })).message.content).toContain('offers no tools');
  });

  test('arguments that are not JSON are sent as they are', async () => {
    const answer = await ask('tool:add {"a": nope', { tools: TOOLS });
    expect(answer.message.tool_calls).toMatchObject([{ function: { name: 'add', arguments: '{"a": nope' } }]);
    expect(answer.message.content).toBeNull();
  });

  test('a history without the results is refused, as a provider does', async () => {
    const { message } = await ask('tool:add', { tools: TOOLS });
    const user: Message = { role: 'user', content: 'say:x' };
    await expect(complete([user, message, user])).rejects.toMatchObject({ status: 400 });
    await expect(complete([user, { role: 'tool', tool_call_id: 'none', content: '' }])).rejects.toMatchObject({
      status: 400,
    });
  });
});

describe('trouble', () => {
  test('an error has a status, a body and for 429 a time to wait', async () => {
    await expect(ask('error:500')).rejects.toMatchObject({ status: 500, type: 'server_error' });
    const limited = await ask('error:429').catch((error: unknown) => error as InstanceType<typeof OpenAI.APIError>);
    expect(limited).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect('headers' in limited && limited.headers?.get('retry-after')).toBe('1');
  });

  test('an error that happens once leaves the next try to the rest of the script', async () => {
    const message = 'error:500 once; say:recovered';
    await expect(ask(message)).rejects.toMatchObject({ status: 500 });
    expect((await ask(message)).message.content).toBe('recovered');
  });

  test('an error after a tool comes after its result', async () => {
    await expect(playTurn('tool:add; error:503')).rejects.toMatchObject({ status: 503 });
    expect(server.requests).toHaveLength(2);
  });

  test('a hanging answer ends when the caller goes away', async () => {
    const abort = new AbortController();
    await Promise.all([
      expect(ask('hang', {}, abort.signal)).rejects.toThrow('aborted'),
      vi.waitUntil(() => server.requests.length === 1).then(() => abort.abort()),
    ]);
    expect((await ask('say:still here')).message.content).toBe('still here');
  });

  test('a caller may leave in the middle of a stream', async () => {
    const abort = new AbortController();
    const seen: Chunk[] = [];
    await stream('chunks:100000; delay:1', {}, seen, () => abort.abort(), abort.signal).catch(() => undefined);
    expect(seen.length).toBeLessThan(10);
    expect((await ask('say:next')).message.content).toBe('next');
  });

  test('a body it cannot read is 400, another route 404', async () => {
    expect((await post('/chat/completions', '{')).status).toBe(400);
    expect((await post('/chat/completions', '{}')).status).toBe(400);
    expect((await post('/responses', '{}')).status).toBe(404);
  });
});

test('it keeps what it was asked, lists its model, and names a busy port', async () => {
  await complete([{ role: 'user', content: 'say:x' }], { temperature: 0.5 });
  expect(server.requests).toMatchObject([{ model: 'vendor/model', temperature: 0.5 }]);
  expect((await client.models.list()).data.map((model) => model.id)).toEqual(['playground/scripted']);

  const taken = createServer().listen(0, '127.0.0.1');
  await expect.poll(() => taken.address()).not.toBeNull();
  const { port } = taken.address() as { port: number };
  const script = new URL('../model-server.mjs', import.meta.url).pathname;
  await expect(promisify(execFile)(process.execPath, [script, '--port', `${port}`])).rejects.toMatchObject({
    code: 1,
    stderr: `Port ${port} is in use. Choose another one with --port.\n`,
  });
  taken.close();
});

// --- internal ---

function post(path: string, body: string) {
  return fetch(`${server.url}${path}`, { method: 'POST', body });
}

type Options = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

function complete(messages: Message[], options: Options = {}, signal?: AbortSignal) {
  return client.chat.completions.create({ model: 'vendor/model', messages, ...options }, signal && { signal });
}

async function ask(content: string, options: Options = {}, signal?: AbortSignal) {
  const { choices } = await complete([{ role: 'user', content }], options, signal);
  const [choice] = choices;
  if (!choice) throw new Error('The answer has no choice.');
  return choice;
}

/** Collects the chunks, also into `seen`, which keeps them when the stream breaks. */
async function stream(
  content: string,
  options: Partial<OpenAI.ChatCompletionCreateParamsStreaming> = {},
  seen: Chunk[] = [],
  onChunk = () => {},
  signal?: AbortSignal,
) {
  const chunks = await client.chat.completions.create(
    { model: 'vendor/model', messages: [{ role: 'user', content }], ...options, stream: true },
    signal && { signal },
  );
  for await (const chunk of chunks) {
    seen.push(chunk);
    onChunk();
  }
  return seen;
}

function finishOf(chunks: Chunk[]) {
  return chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean);
}

/** Plays a turn to its end as a client with tools would: each round's calls, then the text. */
async function playTurn(content: string) {
  const messages: Message[] = [{ role: 'user', content }];
  const rounds: string[] = [];
  for (;;) {
    const message = (await complete(messages, { tools: TOOLS })).choices[0]?.message;
    if (!message?.tool_calls) return [...rounds, message?.content];
    messages.push(message);
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue;
      rounds.push(`${call.function.name} ${call.function.arguments}`);
      messages.push({ role: 'tool', tool_call_id: call.id, content: `result of ${call.function.name}` });
    }
  }
}

describe('vectors', () => {
  test('are near to each other for texts that share words', async () => {
    const { data, usage } = await client.embeddings.create({
      model: 'any',
      input: ['a red apple', 'the red apple', 'blue sky'],
      encoding_format: 'float',
    });
    const [red = [], apple = [], sky = []] = data.map(({ embedding }) => embedding);
    const nearness = (other: number[]) => red.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
    expect(nearness(apple)).toBeGreaterThan(nearness(sky));
    expect([red.length, usage.prompt_tokens]).toEqual([32, 8]);
    expect(server.embedRequests).toHaveLength(1);
  });

  test('have as many numbers as asked for, and are refused where asked', async () => {
    const embed = (input: string | string[]) =>
      client.embeddings.create({ model: 'any', input, dimensions: 8, encoding_format: 'float' });
    expect((await embed('one')).data[0]?.embedding).toHaveLength(8);
    await expect(embed(['one', 'error:429'])).rejects.toMatchObject({ status: 429 });
    await expect(embed(['one', ''])).rejects.toMatchObject({ status: 400 });
  });
});
