import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { call, json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

/** A client with tools of its own and without a session: what the box runs between its calls is not shown to it. */

const boxes = setupBoxes();
const nothing = z.object({});
const counted = vi.fn<() => void>();
const add = defineTool({
  description: 'Add two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute({ a, b }) {
    counted();
    return { sum: a + b };
  },
});
const refund = defineTool({ description: 'Pays back.', inputSchema: nothing, execute: () => 'paid' });
const agents = {
  helper: defineDeepAgent({
    name: 'helper',
    tools: { add, refund },
    interruptOn: { refund: true },
    subagents: [{ name: 'writer', description: 'Writes.', instructions: 'You write.' }],
  }),
};

interface Call {
  id: string;
  name: string;
}
interface Answer {
  text: string;
  calls: Call[];
  finish: string;
  /** As the client sends it back. */
  message: object;
}
interface Format {
  ask(box: TestBox, messages: object[], headers?: Record<string, string>): Promise<Answer>;
  results(results: [Call, string][]): object[];
}

const schema = { type: 'object', properties: {} };

async function post<T>(box: TestBox, path: string, body: object, headers: Record<string, string>): Promise<T> {
  const answer = await box.request(path, json(body, { headers: { authorization: 'Bearer dev', ...headers } }));
  expect(answer.status).toBe(200);
  return (await answer.json()) as T;
}

interface WireA {
  choices: [
    {
      message: { content: string | null; tool_calls?: { id: string; function: { name: string } }[] };
      finish_reason: string;
    },
  ];
}
interface WireB {
  content: { type: string; text?: string; id?: string; name?: string }[];
  stop_reason: string;
}

const FORMATS: Record<string, Format> = {
  'wire-a': {
    async ask(box, messages, headers = {}) {
      const tools = [{ type: 'function', function: { name: 'look', parameters: schema } }];
      const body = { model: 'helper', messages, tools };
      const { choices } = await post<WireA>(box, '/wire-a/v1/chat/completions', body, headers);
      const [{ message, finish_reason: finish }] = choices;
      const calls = (message.tool_calls ?? []).map(({ id, function: { name } }) => ({ id, name }));
      return { text: message.content ?? '', calls, finish, message };
    },
    results: (results) => results.map(([{ id }, content]) => ({ role: 'tool', tool_call_id: id, content })),
  },
  'wire-b': {
    async ask(box, messages, headers = {}) {
      const tools = [{ name: 'look', input_schema: schema }];
      const body = { model: 'helper', max_tokens: 100, messages, tools };
      const { content, stop_reason: stop } = await post<WireB>(box, '/wire-b/v1/messages', body, headers);
      const calls = content.flatMap(({ type, id = '', name = '' }) => (type === 'tool_use' ? [{ id, name }] : []));
      const text = content.map(({ text: said = '' }) => said).join('');
      const finish = stop === 'tool_use' ? 'tool_calls' : 'stop';
      return { text, calls, finish, message: { role: 'assistant', content } };
    },
    results: (results) => [
      {
        role: 'user',
        content: results.map(([{ id }, content]) => ({ type: 'tool_result', tool_use_id: id, content })),
      },
    ],
  },
};

const user = (content: string) => ({ role: 'user', content });

interface Shown {
  role: string;
  content: string | null;
  tool_calls?: { id: string; function: { name: string } }[];
  tool_call_id?: string;
}

/** What the model was shown last, in short: `name` of a call, `=result`, `"text"`. */
function shownTo(box: TestBox): string[] {
  const { messages } = box.model.requests.at(-1) as unknown as { messages: Shown[] };
  return messages
    .slice(1)
    .flatMap(({ role, content, tool_calls: calls = [] }) => [
      ...(role === 'tool' ? [`=${content}`] : []),
      ...(role === 'assistant' && content ? [`"${content}"`] : []),
      ...calls.map(({ function: { name } }) => name),
    ]);
}

describe.each(Object.keys(FORMATS))('a stateless client with tools of its own on %s', (wire) => {
  const format = FORMATS[wire]!;
  const open = () => boxes.open({ agents });

  test('goes on with what the box ran in the same round', async () => {
    const box = await open();
    counted.mockClear();
    const asked = user('tools:add {"a":1,"b":2} | look {}\nsay:Done.');
    const first = await format.ask(box, [asked]);
    expect([first.calls.map(({ name }) => name), first.finish]).toEqual([['look'], 'tool_calls']);
    expect(first.calls[0]?.id).toMatch(/^[\w-]+$/);
    const second = await format.ask(box, [asked, first.message, ...format.results([[first.calls[0]!, 'seen']])]);
    expect(second.text).toBe('Done.');
    expect(shownTo(box)).toEqual(['add', 'look', '={"sum":3}', '=seen']);
    expect(counted).toHaveBeenCalledOnce();
  });

  test('goes on with what the box ran in rounds before, over several requests', async () => {
    const box = await open();
    counted.mockClear();
    const asked = user(
      'tool:add {"a":1,"b":1}\ntool:add {"a":2,"b":2}\ntool:look {}\ntool:add {"a":3,"b":3}\ntool:look {}\nsay:Done.',
    );
    const history: object[] = [asked];
    for (const result of ['one', 'two']) {
      const answer = await format.ask(box, history);
      expect(answer.calls.map(({ name }) => name)).toEqual(['look']);
      history.push(answer.message, ...format.results([[answer.calls[0]!, result]]));
    }
    expect((await format.ask(box, history)).text).toBe('Done.');
    const all = ['add', '={"sum":2}', 'add', '={"sum":4}', 'look', '=one', 'add', '={"sum":6}', 'look', '=two'];
    expect(shownTo(box)).toEqual(all);
    expect(counted).toHaveBeenCalledTimes(3);
    // The provider is sent the ids it gave, and each once.
    const { messages } = box.model.requests.at(-1) as unknown as { messages: Shown[] };
    const ids = messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    expect(new Set(ids).size).toBe(5);
    expect(ids.join()).not.toContain('-svc-');
    // A later question: what was restored stays.
    history.push({ role: 'assistant', content: 'Done.' }, user('say:Bye.'));
    expect((await format.ask(box, history)).text).toBe('Bye.');
    expect(shownTo(box)).toEqual([...all, '"Done."']);
  });

  test('is not kept from what the box ran, by a rule that would hold that where it was run', async () => {
    const box = await open();
    const asked = user('tool:add {"a":1,"b":2}\ntool:look {}\nsay:Done.');
    const first = await format.ask(box, [asked]);
    const check = { kind: 'words', words: ['sum', 'seen'] };
    const attachment = { kind: 'agent', name: 'helper' };
    const rule = { name: `late ${wire}`, check, attachment, sides: ['tool-result'], action: 'hold' };
    const { body } = await call<{ id: string }>(box, 'POST /api/guardrails', rule);
    try {
      await format.ask(box, [asked, first.message, ...format.results([[first.calls[0]!, 'seen']])]);
      // What the client brings has passed nowhere.
      const withheld = `=The guardrail "late ${wire}" withholds this result.`;
      expect(shownTo(box)).toEqual(['add', '={"sum":3}', 'look', withheld]);
    } finally {
      await box.request(`/api/guardrails/${body.id}`, { method: 'DELETE' });
    }
  });

  test('goes on with the answer of a sub-agent that it was called beside', async () => {
    const box = await open();
    const task = JSON.stringify({ subagent_type: 'writer', description: 'say:A poem.' });
    const asked = user(`tools:task ${task} | look {}\nsay:Done.`);
    const first = await format.ask(box, [asked]);
    await format.ask(box, [asked, first.message, ...format.results([[first.calls[0]!, 'seen']])]);
    expect(shownTo(box)).toEqual(['task', 'look', '=A poem.', '=seen']);
  });

  test('is not made to wait for an approval: the model is asked to call the tool alone', async () => {
    const box = await open();
    const asked = user('tools:refund {} | look {}\nsay:Done.');
    const first = await format.ask(box, [asked]);
    expect([first.finish, first.text]).toEqual(['tool_calls', '']);
    await format.ask(box, [asked, first.message, ...format.results([[first.calls[0]!, 'seen']])]);
    expect(shownTo(box)).toEqual(['refund', 'look', expect.stringContaining('Call it again alone.'), '=seen']);
  });

  test('that changed its own calls is shown to the model as it says', async () => {
    const box = await open();
    const asked = user('tool:add {"a":1,"b":1}\ntools:look {} | look {"x":1}\nsay:Done.');
    const first = await format.ask(box, [asked]);
    const [kept, dropped] = first.calls;
    const rest = JSON.parse(JSON.stringify(first.message), (_key, value: unknown) =>
      Array.isArray(value) ? value.filter((one: { id?: string }) => one.id !== dropped?.id) : value,
    ) as object;
    await format.ask(box, [asked, rest, ...format.results([[kept!, 'seen']])]);
    expect(shownTo(box)).toEqual(['add', '={"sum":2}', 'look', '=seen']);
  });

  test('adds nothing with the run of another caller, or one that is gone', async () => {
    const kv = createMemoryKv();
    const dev = await boxes.open({ options: { kv } });
    const box = await boxes.open({ agents, options: { host: 'image', kv } });
    const keys: Record<string, string>[] = [];
    for (const name of ['mine', 'theirs']) {
      const made = await call<{ value: string }>(dev, 'POST /api/keys', { name, grants: { agents: ['helper'] } }, {});
      keys.push({ authorization: `Bearer ${made.body.value}` });
    }
    const asked = user('tool:add {"a":1,"b":1}\ntool:look {}\nsay:Done.');
    const first = await format.ask(box, [asked], keys[0]);
    const again = (to: Call, message: object) => [asked, message, ...format.results([[to, 'seen']])];
    await format.ask(box, again(first.calls[0]!, first.message), keys[0]);
    expect(shownTo(box)).toEqual(['add', '={"sum":2}', 'look', '=seen']);
    await format.ask(box, again(first.calls[0]!, first.message), keys[1]);
    expect(shownTo(box)).not.toContain('add');
    const gone = (text: string) => text.replaceAll(/-svc-[\w-]{22}/g, `-svc-${'A'.repeat(22)}`);
    const other = JSON.parse(gone(JSON.stringify([first.calls[0], first.message]))) as [Call, object];
    await format.ask(box, again(...other), keys[0]);
    expect(shownTo(box)).not.toContain('add');
  });
});

test('on a session the ids of calls are those of the provider, and the box has its own calls', async () => {
  const box = await boxes.open({ agents });
  const { ask, results } = FORMATS['wire-a']!;
  const headers = { 'x-svc-session': 'kept' };
  const first = await ask(box, [user('tools:add {"a":1,"b":2} | look {}\nsay:Done.')], headers);
  expect(first.calls[0]?.id).not.toContain('-svc-');
  await ask(box, results([[first.calls[0]!, 'seen']]), headers);
  expect(shownTo(box)).toEqual(['add', 'look', '={"sum":3}', '=seen']);
});
