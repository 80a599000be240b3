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
