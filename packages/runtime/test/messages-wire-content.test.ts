import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { startProvider, toModelStream } from './_setup.ts';
import { ask, CLIENT_TOOL, post, setupWiresB, shownTo, toRequest, user } from './_messages-wire.ts';

const { open } = setupWiresB();

const PIXEL = 'iVBORw0KGgo=';
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } };
const say = { type: 'text', text: 'say:ok' };

describe('what the model is sent of a request', () => {
  test("is the agent's instructions first, then every system text of the client", async () => {
    const wire = await open({ agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }) } });
    await ask(wire, '', {
      system: [
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [...user('say:hi'), { role: 'system', content: 'It rains.' }],
    });
    expect(shownTo(wire)).toEqual([
      { role: 'system', content: 'Help.\n\nBe brief.\n\nBe kind.\n\nIt rains.' },
      { role: 'user', content: 'say:hi' },
    ]);
    await ask(wire, 'say:hi', { system: 'Be brief.' });
    expect(shownTo(wire)[0]?.content).toBe('Help.\n\nBe brief.');
  });

  const DOCUMENTS: [title: string, blocks: object[], content: unknown][] = [
    ['one text', [say], 'say:ok'],
    ['texts', [{ type: 'text', text: 'one' }, say], [{ type: 'text', text: 'one' }, say]],
    ['an image', [image, say], [picture, say]],
    [
      'an image at an address',
      [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }, say],
      [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }, say],
    ],
    [
      'a PDF',
      [
        {
          type: 'document',
          title: 'Bill',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
        },
        say,
      ],
      [{ type: 'file', file: { filename: 'Bill.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } }, say],
    ],
    [
      'a plain document',
      [{ type: 'document', title: 'Bill', source: { type: 'text', media_type: 'text/plain', data: 'Five.' } }, say],
      [{ type: 'text', text: 'Bill:\nFive.' }, say],
    ],
    [
      'a document of blocks',
      [{ type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Five.' }, image] } }, say],
      [{ type: 'text', text: 'Five.' }, picture, say],
    ],
    [
      'a document at an address',
      [{ type: 'document', title: 'Bill', source: { type: 'url', url: 'https://example.com/a.pdf' } }, say],
      [{ type: 'text', text: 'Bill: https://example.com/a.pdf' }, say],
    ],
    [
      'a result of a search',
      [
        {
          type: 'search_result',
          source: 'https://example.com/a',
          title: 'Prices',
          content: [{ type: 'text', text: 'Five.' }],
        },
        say,
      ],
      [{ type: 'text', text: 'Prices (https://example.com/a):\nFive.' }, say],
    ],
    ['a block of a kind nobody knows', [{ type: 'hologram', data: 1 }, say], 'say:ok'],
  ];
  test.each(DOCUMENTS)('of %s is what a provider takes', async (_title, content, received) => {
    const wire = await open();
    await ask(wire, '', { messages: [{ role: 'user', content }] });
    expect(shownTo(wire)).toEqual([{ role: 'user', content: received }]);
  });

  const RESULTS: [title: string, result: object, received: string, pictures: object[]][] = [
    ['a text', { content: 'found' }, 'found', []],
    ['nothing', {}, '', []],
    [
      'blocks',
      {
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
      'one\n\ntwo',
      [],
    ],
    ['an image', { content: [{ type: 'text', text: 'see' }, image] }, 'see', [picture]],
    ['an error', { content: 'It broke.', is_error: true }, 'Error: It broke.', []],
    ['an error that says so', { content: 'Error: It broke.', is_error: true }, 'Error: It broke.', []],
  ];
  test.each(RESULTS)('whose tool answered %s, has the result first', async (_title, result, received, pictures) => {
    const wire = await open();
    await ask(wire, '', {
      tools: [CLIENT_TOOL],
      messages: [
        ...user('go'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'client_tool', input: { n: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', ...result }, say] },
      ],
    });
    expect(shownTo(wire)).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'client_tool', arguments: '{"n":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: received },
      { role: 'user', content: pictures.length > 0 ? [...pictures, say] : 'say:ok' },
    ]);
  });

  test('leaves out calls of the box that come back without results, and takes messages of one role in a row', async () => {
    const wire = await open();
    const { content } = await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.');
    await ask(wire, '', {
      messages: [...user('one'), { role: 'assistant', content }, ...user('two'), ...user('say:ok')],
    });
    expect(shownTo(wire)).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'Three.' },
      { role: 'user', content: 'two' },
      { role: 'user', content: 'say:ok' },
    ]);
  });

  test('holds every call that has its result, also where an answer comes back in several messages', async () => {
    const wire = await open();
    const toCall = (id: string) => ({ type: 'tool_use', id, name: 'client_tool', input: {} });
    const toResult = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: `of ${id}` });
    await ask(wire, '', {
      tools: [CLIENT_TOOL],
      messages: [
        ...user('go'),
        { role: 'assistant', content: 'I look.' },
        { role: 'assistant', content: [toCall('a')] },
        { role: 'assistant', content: [toCall('b')] },
        { role: 'user', content: [toResult('a')] },
        { role: 'user', content: [toResult('b'), say] },
      ],
    });
    const call = { type: 'function', function: { name: 'client_tool', arguments: '{}' } };
    expect(shownTo(wire)).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'I look.', tool_calls: ['a', 'b'].map((id) => ({ id, ...call })) },
      { role: 'tool', tool_call_id: 'a', content: 'of a' },
      { role: 'tool', tool_call_id: 'b', content: 'of b' },
      { role: 'user', content: 'say:ok' },
    ]);
  });

  test('has the settings a provider knows by its own names, and none of the others', async () => {
    const wire = await open();
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
    await ask(wire, 'say:hi', {
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      stop_sequences: ['END'],
      output_config: { effort: 'high', format: { type: 'json_schema', schema } },
      thinking: { type: 'adaptive', display: 'summarized' },
      context_management: { edits: [] },
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      container: null,
      something_new: true,
    });
    const { messages: _messages, tools: _tools, stream_options: _usage, ...received } = wire.asked()[0] ?? {};
    expect(received).toEqual({
      model: 'test/scripted',
      stream: true,
      max_tokens: 1_000,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      stop: ['END'],
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
      reasoning_effort: 'high',
    });
  });

  test.each([
    [{ output_config: { effort: 'low' } }, 'low'],
    [{ output_config: { effort: 'max' } }, 'high'],
    [{ output_config: { effort: 'medium' }, thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 32_000 } }, 'high'],
    [{ thinking: { type: 'disabled' } }, undefined],
    [{ thinking: { type: 'adaptive' } }, undefined],
  ])('has how hard to think as its provider says it: %j', async (extra, effort) => {
    const wire = await open();
    await post(wire, toRequest('say:hi', extra));
    expect(wire.asked()[0]?.reasoning_effort).toBe(effort);
  });
});

test('a model that is refused for how hard it is to think is asked without, and remembered', async () => {
  const asked: unknown[] = [];
  const provider = await startProvider((response, { model, reasoning_effort: effort }) => {
    asked.push(effort);
    if (effort !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' });
      const message = `Unrecognized request argument supplied: reasoning_effort, of ${String(model)}`;
      return void response.end(JSON.stringify({ error: { message, param: null } }));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream([{ content: 'Hello.' }]));
  });
  const wire = await open({ provider: { baseUrl: provider.url } });
  for (let n = 0; n < 2; n++)
    expect(await ask(wire, 'hi', { output_config: { effort: 'high' } })).toMatchObject({
      content: [{ text: 'Hello.' }],
    });
  expect(asked).toEqual(['high', undefined, undefined]);
});
