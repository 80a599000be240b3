import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const open = () => boxes.open({ agents: { helper: defineDeepAgent({ name: 'helper' }) } });

interface Tool {
  name: string;
  strict?: unknown;
}
const schema = { type: 'object', properties: {} };
const messages = [{ role: 'user', content: 'say:hi' }];

/** How each wire is asked with tools of the client. */
const WIRES: Record<string, (tools: Tool[]) => [path: string, body: object]> = {
  'wire-a': (tools) => [
    '/wire-a/v1/chat/completions',
    {
      model: 'helper',
      messages,
      tools: tools.map((tool) => ({ type: 'function', function: { parameters: schema, ...tool } })),
    },
  ],
  'wire-b': (tools) => [
    '/wire-b/v1/messages',
    { model: 'helper', max_tokens: 100, messages, tools: tools.map((tool) => ({ input_schema: schema, ...tool })) },
  ],
  'AG-UI': (tools) => [
    '/agui/v1/agents/helper',
    {
      threadId: crypto.randomUUID(),
      runId: 'r',
      messages: [{ id: 'm', role: 'user', content: 'say:hi' }],
      tools: tools.map((tool) => ({ description: 'x', parameters: schema, ...tool })),
    },
  ],
};

async function ask(box: TestBox, wire: string, tools: Tool[]) {
  const [path, body] = WIRES[wire]!(tools);
  const answer = await box.request(path, json(body, { headers: { authorization: 'Bearer dev' } }));
  return { status: answer.status, text: await answer.text() };
}

describe('tools of the client', () => {
  test.each(['wire-a', 'wire-b'])('are strict for the model where they are so on %s', async (wire) => {
    const box = await open();
    const tools = [
      { name: 'a', strict: true },
      { name: 'b', strict: false },
      { name: 'c' },
      { name: 'd', strict: 'x' },
    ];
    expect((await ask(box, wire, tools)).status).toBe(200);
    const asked = box.model.requests.at(-1) as unknown as { tools: { function: Tool }[] };
    expect(asked.tools.map(({ function: { strict } }) => strict)).toEqual([true, false, undefined, undefined]);
  });

  test.each(Object.keys(WIRES))('of one name are refused on %s, before there is a run', async (wire) => {
    const box = await open();
    const { status, text } = await ask(box, wire, [{ name: 'look' }, { name: 'other' }, { name: 'look' }]);
    expect(status).toBe(400);
    expect(text).toContain('Two of \\"tools\\" are named \\"look\\". Give one of them another name.');
    expect(await box.journal.listRuns({}, { limit: 1 })).toEqual([]);
    expect((await ask(box, wire, [{ name: 'look' }, { name: 'Look' }])).status).toBe(200);
  });
});
