import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { call, json, setupBoxes, startProvider, toModelStream } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const KEY = { authorization: 'Bearer dev' };
const Person = z.object({ name: z.string(), age: z.number().int() });

const agents = {
  reader: defineDeepAgent({ name: 'reader', output: Person }),
  loose: defineDeepAgent({ name: 'loose', output: z.object({ name: z.string().optional() }) }),
};

interface Completion {
  choices: { message: { content: string } }[];
  error?: { code: string; message: string };
}

async function ask(box: TestBox, agent: string, content: string, more: object = {}) {
  const init = json({ model: agent, messages: [{ role: 'user', content }], ...more }, { headers: KEY });
  const answer = await box.request('/wire-a/v1/chat/completions', init);
  const body = (await answer.json()) as Completion;
  const { items } = (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/runs?name=${agent}`)).body;
  return { status: answer.status, body, text: body.choices?.[0]?.message.content, run: items[0] };
}

/** A model that says these texts, one a request. */
async function openScripted(texts: string[]) {
  const asked: { messages: { role: string; content: string }[] }[] = [];
  const provider = await startProvider((response, request) => {
    asked.push(request as never);
    response.end(toModelStream([{ content: texts[asked.length - 1] ?? '' }]));
  });
  return { box: await boxes.open({ agents, provider: { baseUrl: provider.url } }), asked };
}

describe('an agent with an output schema', () => {
  test('sends the provider the schema, and records the answer by it', async () => {
    const box = await boxes.open({ agents });
    const { text, run } = await ask(box, 'reader', 'say:{"name":"Ada","age":36}');
    expect(text).toBe('{"name":"Ada","age":36}');
    expect(run).toMatchObject({ status: 'completed', output: { output: { name: 'Ada', age: 36 } } });
    expect(box.model.requests.at(-1)).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { required: ['name', 'age'] } } },
    });
  });

  test('asks strictly for what strict mode knows', async () => {
    const strict = defineDeepAgent({
      name: 'strict',
      output: z.object({ kind: z.enum(['a', 'b']), tags: z.array(z.string()), n: z.number().int() }),
    });
    const box = await boxes.open({ agents: { ...agents, strict } });
    await ask(box, 'strict', 'say:{"kind":"a","tags":[],"n":1}');
    expect(box.model.requests.at(-1)).toMatchObject({
      response_format: {
        json_schema: { strict: true, schema: { additionalProperties: false, properties: { n: { type: 'integer' } } } },
      },
    });
    await ask(box, 'loose', 'say:{}');
    expect((box.model.requests.at(-1) as { response_format?: object } | undefined)?.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: { type: 'object', properties: { name: { type: 'string' } } } },
    });
  });

  test('asks again once when the answer does not fit, and sends the client the one that does', async () => {
    const { box, asked } = await openScripted(['{"name":"Ada"}', '```json\n{"name":"Ada","age":36}\n```']);
    const { text, run } = await ask(box, 'reader', 'Who?');
    expect(text).toBe('{"name":"Ada","age":36}');
    expect(run).toMatchObject({ output: { output: { name: 'Ada', age: 36 }, steps: 2 } });
    expect(asked[1]?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: '{"name":"Ada"}' },
      { role: 'user', content: expect.stringMatching(/^Your answer does not fit the schema it must have\. "age": /) },
    ]);
  });

  test('fails with a sentence when the second answer does not fit either', async () => {
    const { box, asked } = await openScripted(['Ada', '{"name":1,"age":2}', '{"name":"Ada","age":36}']);
    const { status, body, run } = await ask(box, 'reader', 'Who?');
    expect([status, body.error]).toEqual([
      502,
      expect.objectContaining({
        code: 'agent_output_invalid',
        message: expect.stringMatching(/^The answer of agent "reader" does not fit its schema, .* "name": /),
      }),
    ]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'agent_output_invalid' } });
    expect(asked.length).toBe(2);
  });

  test('leaves it to the client that names a response_format of its own', async () => {
    const box = await boxes.open({ agents });
    const response_format = { type: 'json_object' };
    const { text } = await ask(box, 'reader', 'say:{"own":true}', { response_format });
    expect([text, box.model.requests.at(-1)]).toEqual(['{"own":true}', expect.objectContaining({ response_format })]);
  });
});

describe('an agent whose output is streamed', () => {
  const streams = defineDeepAgent({ name: 'streams', output: Person, streamOutput: true });

  /** The pieces of the answer as they come, and how it ends. */
  async function read(box: TestBox, content: string) {
    const body = { model: 'streams', stream: true, messages: [{ role: 'user', content }] };
    const answer = await box.request('/wire-a/v1/chat/completions', json(body, { headers: KEY }));
    const raw = await answer.text();
    const pieces = Array.from(raw.matchAll(/"delta":\{"content":"((?:[^"\\]|\\.)+)"/g), ([, text]) =>
      JSON.parse(`"${text}"`),
    );
    return { status: answer.status, pieces, raw };
  }

  /** A model that says each of these in as many pieces as there are characters. */
  async function openPieces(texts: string[]) {
    let asked = 0;
    const provider = await startProvider((response) => {
      const pieces = (texts[asked++] ?? '').split('').map((content) => ({ content }));
      response.end(toModelStream(pieces));
    });
    const box = await boxes.open({ agents: { streams }, provider: { baseUrl: provider.url } });
    return { box, asked: () => asked };
  }

  test('is sent as it is written, and recorded by its schema', async () => {
    const box = await boxes.open({ agents: { streams } });
    const content = 'delay:20; say:{"name":"Ada of all the Lovelaces", "age":36}';
    const { pieces } = await read(box, content);
    expect(pieces.length).toBeGreaterThan(3);
    expect(JSON.parse(pieces.join(''))).toEqual({ name: 'Ada of all the Lovelaces', age: 36 });
    const whole = await ask(box, 'streams', content);
    expect(whole.run).toMatchObject({ output: { output: { age: 36 } } });
    expect(whole.text).toBe(pieces.join(''));
  });

  test.each([
    ['bare', '{"name":"A ` da","age":36}'],
    ['in white space', '\n \t{"name":"Ada", "age":36}\n\n'],
    ['in a code block', '```json\n{"name":"```","age":36}\n```\n'],
    ['in a code block without a language', ' ```\n\n{"name":"Ada",\n"age":36}\n```'],
  ])('has nothing around it: %s', async (_, said) => {
    const { box, asked } = await openPieces([said]);
    const { pieces } = await read(box, 'Who?');
    const { items } = (await call<{ items: { output: { content: string } }[] }>(box, 'GET /api/runs?name=streams'))
      .body;
    expect(JSON.parse(pieces.join(''))).toMatchObject({ age: 36 });
    expect(pieces.join('')).toBe(said.trim().replace(/^```.*\n\s*|\n```$/g, ''));
    expect([pieces.length > 10, asked(), items.length]).toEqual([true, 1, 1]);
  });

  test('that does not fit ends with an error after what was sent, and is not asked for again', async () => {
    const { box, asked } = await openPieces(['{"name":"Ada"}', '{"name":"Ada","age":36}']);
    const { pieces, raw } = await read(box, 'Who?');
    expect(pieces.join('')).toBe('{"name":"Ada"}');
    expect(raw).toContain('agent_output_invalid');
    expect(raw).not.toContain('asked again');
    expect(asked()).toBe(1);
  });

  test.each(['Ada is 36.', '``json', '`````', '"Ada"'])(
    'that begins as no object is asked for again: %s',
    async (said) => {
      const { box, asked } = await openPieces([said, '{"name":"Ada","age":36}']);
      const { pieces } = await read(box, 'Who?');
      expect(pieces.join('')).toBe('{"name":"Ada","age":36}');
      expect(asked()).toBe(2);
    },
  );

  test('needs an output to stream', () => {
    expect(() => defineDeepAgent({ name: 'a', streamOutput: true })).toThrow('there is none');
    expect(() => defineDeepAgent({ name: 'a', output: Person, streamOutput: 'yes' as never })).toThrow('true or false');
  });
});
