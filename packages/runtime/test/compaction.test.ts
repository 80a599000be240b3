import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createTestBox, model } from '../src/testing.ts';
import type { Asked as AskedOfKit } from '../src/testing.ts';
import { call, json, setupBoxes, startProvider, toModelStream, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Asked {
  messages: { role: string; content: string | null; tool_calls?: unknown[] }[];
}

const note = defineTool({
  description: 'Note something.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => `noted ${text}`,
});

/** An agent whose context holds few of its turns, and a model that says what it was asked for. */
async function openSmall(options: { maxTokens?: number; refuseSummaries?: boolean; summary?: string } = {}) {
  const asked: Asked[] = [];
  let summaries = 0;
  const provider = await startProvider((response, request) => {
    const { messages } = request as unknown as Asked;
    asked.push({ messages });
    const isSummary = messages[0]?.content?.startsWith('You are given a part of a conversation') ?? false;
    if (isSummary && options.refuseSummaries) {
      response.writeHead(400, { 'content-type': 'application/json' });
      return response.end('{"error":{"message":"No."}}');
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const last = messages.at(-1);
    const wantsTool = last?.role === 'user' && last.content?.includes('use the tool') && !isSummary;
    const toolCall = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'note', arguments: '{"text":"x"}' },
    };
    if (wantsTool) return response.end(toModelStream([{ tool_calls: [toolCall] }], 'tool_calls'));
    const content = isSummary ? (options.summary ?? `SUMMARY ${++summaries}`) : `Heard: ${last?.content?.slice(0, 20)}`;
    return response.end(toModelStream([{ reasoning_content: 'Let me think.' }, { content }]));
  });
  const helper = defineDeepAgent({
    name: 'helper',
    instructions: 'Help.',
    tools: { note },
    context: { maxTokens: options.maxTokens ?? 500, compactAt: 0.8 },
  });
  const box = await boxes.open({ agents: { helper }, provider: { baseUrl: provider.url } });
  return { box, asked };
}

interface Summarised {
  summary: { text: string } | null;
}

const LONG = 'word '.repeat(60);

async function say(box: TestBox, session: string, content: string): Promise<number> {
  const headers = { 'x-api-key': 'any', 'x-svc-session': session };
  const body = { model: 'helper', messages: [{ role: 'user', content }] };
  const answer = await box.request('/wire-a/v1/chat/completions', json(body, { headers }));
  await answer.text();
  return answer.status;
}

const read = async (box: TestBox, session: string) =>
  (
    await call<{ summary: { text: string } | null; totalTokens: number; turns: number }>(
      box,
      `GET /api/sessions/${session}?agent=helper`,
    )
  ).body;

describe('a conversation that outgrows the context', () => {
  test('is summarised by a recorded model call, and later turns begin with the summary', async () => {
    const { box, asked } = await openSmall();
    for (const n of [1, 2, 3, 4, 5]) expect(await say(box, 'long', `${n} ${LONG}`)).toBe(200);
    const summary = asked.findIndex(({ messages }) => messages[0]?.content?.startsWith('You are given'));
    expect(asked[summary]?.messages[1]?.content).toContain('[user] 1 word');
    const after = asked[summary + 1]?.messages ?? [];
    expect(after[0]).toMatchObject({ role: 'system', content: expect.stringMatching(/^Help\..*SUMMARY 1$/s) });
    expect(after[1]?.role).toBe('user');
    expect(JSON.stringify(after)).not.toContain('1 word');
    const { items } = (await call<{ items: { runId: string }[] }>(box, 'GET /api/sessions/long/runs?agent=helper'))
      .body;
    const steps = await Promise.all(
      items.map(async ({ runId }) => (await call<{ items: object[] }>(box, `GET /api/runs/${runId}/steps`)).body.items),
    );
    expect(steps.flat()).toContainEqual(
      expect.objectContaining({ kind: 'model', name: 'compact', status: 'completed' }),
    );
  });

  test('has no value in its summary that a rule masks, wherever it is kept', async () => {
    const CARD = '4111 1111 1111 1111';
    const { box, asked } = await openSmall({ summary: `They pay with ${CARD}.` });
    const { body: rule } = await call(box, 'POST /api/guardrails', {
      name: 'no cards in summaries',
      check: { kind: 'pii', kinds: ['card'] },
      sides: ['agent-output'],
      action: 'mask',
    });
    try {
      for (const n of [1, 2, 3, 4, 5]) expect(await say(box, 'masked', `${n} ${LONG}`)).toBe(200);
      expect((await read(box, 'masked')).summary?.text).toMatch(/They pay with \[card\]\./);
      expect(asked.at(-1)?.messages[0]?.content).toContain('They pay with [card].');
      expect(JSON.stringify(asked)).not.toContain(CARD);
      const { items } = (await call<{ items: { runId: string }[] }>(box, 'GET /api/sessions/masked/runs?agent=helper'))
        .body;
      const steps = await Promise.all(items.map(({ runId }) => call(box, `GET /api/runs/${runId}/steps`)));
      expect(JSON.stringify(steps)).toMatch(/"compact".*They pay with \[card\]\./);
      expect(JSON.stringify([steps, box.logs])).not.toContain(CARD);
    } finally {
      await box.request(`/api/guardrails/${String(rule.id)}`, { method: 'DELETE' });
    }
  });

  test('keeps every message, and its summary over a restart', async () => {
    const { box, asked } = await openSmall();
    for (const n of [1, 2, 3, 4]) await say(box, 'kept', `${n} ${LONG}`);
    const { summary } = await read(box, 'kept');
    expect(summary?.text).toMatch(/^SUMMARY/);
    const turns = await call<{ items: { messages: { role: string; reasoning: string | null }[] }[] }>(
      box,
      'GET /api/sessions/kept/messages?agent=helper',
    );
    expect(turns.body.items.map(({ messages }) => messages.map(({ role }) => role))).toEqual(
      Array.from({ length: 4 }, () => ['user', 'assistant']),
    );
    const again = await box.restart();
    await say(again, 'kept', 'short');
    expect(asked.at(-1)?.messages[0]?.content).toContain('SUMMARY');
    expect(asked.at(-1)?.messages.at(-1)?.content).toBe('short');
  });

  test('is cut between turns: every call that is shown has its result', async () => {
    const { box, asked } = await openSmall();
    for (const n of [1, 2, 3, 4, 5, 6]) expect(await say(box, 'tools', `${n} use the tool ${LONG}`)).toBe(200);
    expect((await read(box, 'tools')).summary).not.toBeNull();
    for (const { messages } of asked) {
      const calls = messages.flatMap(({ tool_calls: made = [] }) => made).length;
      expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(calls);
    }
    const turns = asked.filter(({ messages }) => messages[0]?.content?.startsWith('Help'));
    expect(turns.filter(({ messages }) => messages[1]?.role !== 'user')).toEqual([]);
    const kept = await call<{ items: { messages: { role: string }[] }[] }>(
      box,
      'GET /api/sessions/tools/messages?agent=helper',
    );
    for (const { messages } of kept.body.items)
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test('goes on with all it has where no summary is to be had', async () => {
    const { box, asked } = await openSmall({ refuseSummaries: true });
    for (const n of [1, 2, 3, 4]) expect(await say(box, 'refused', `${n} ${LONG}`)).toBe(200);
    expect((await read(box, 'refused')).summary).toBeNull();
    expect(asked.at(-1)?.messages.filter(({ role }) => role === 'user')).toHaveLength(4);
  });

  test('is left alone while it fits, and its reasoning is never sent', async () => {
    const { box, asked } = await openSmall({ maxTokens: 100_000 });
    for (const n of [1, 2, 3, 4]) await say(box, 'fits', `${n} ${LONG}`);
    await until(async () => (await read(box, 'fits')).turns === 4);
    expect(asked).toHaveLength(4);
    expect(JSON.stringify(asked)).not.toContain('Let me think.');
    const { items } = (
      await call<{ items: { messages: object[] }[] }>(box, 'GET /api/sessions/fits/messages?agent=helper&limit=1')
    ).body;
    expect(items[0]?.messages[1]).toMatchObject({ role: 'assistant', reasoning: 'Let me think.' });
  });
});

describe('a turn that has made a summary', () => {
  const isSummary = ({ messages }: AskedOfKit) => String(messages[0]?.content).startsWith('You are given');
  const look = defineTool({ description: 'Read.', inputSchema: z.object({}), execute: () => LONG });
  let summaries = 0;
  const script = (asked: AskedOfKit) => {
    if (isSummary(asked)) return `SUMMARY ${++summaries}`;
    const last = asked.messages.at(-1);
    const calls = last?.role === 'user' && String(last.content).startsWith('read');
    return calls ? model.reply({ text: 'Reading.', toolCalls: [{ name: 'read' }] }) : 'Done.';
  };
  const openKit = async (maxTokens = 400) => {
    const reader = defineDeepAgent({ name: 'reader', tools: { read: look }, context: { maxTokens } });
    const box = await createTestBox({ agents: { reader }, model: script });
    onTestFinished(() => box.close());
    return box;
  };

  test.each([
    ['before its model call', { step: 'model', when: 'before' }],
    ['after its model call', { step: 'model', when: 'recorded' }],
    ['before it is saved', { step: 'session', when: 'before' }],
    ['between its save and the record of it', { step: 'session', when: 'after' }],
  ] as const)('goes on after a crash %s, and makes none twice', async (_, point) => {
    const box = await openKit();
    const send = (text: string) => box.agent('reader').send(text, { session: 's' });
    for (const n of [1, 2, 3]) await send(`${n} ${LONG}`);
    await send(`4 ${LONG}`);
    const before = summaries;
    const received = async () => {
      const { summary } = (await (await box.request('/api/sessions/s?agent=reader')).json()) as Summarised;
      return summary?.text;
    };
    const first = await received();
    expect(first).toMatch(/^SUMMARY/);
    const crashed = box.crashAt(point);
    const lost = send(`read ${LONG}`).catch((error: { code?: string }) => error.code);
    await crashed;
    expect(await lost).toBe('box_crashed');
    const made = summaries - before;
    await box.restart();
    const [run] = await box.listRuns();
    expect(await run?.result()).toMatchObject({ content: 'Done.' });
    expect(summaries - before).toBe(Math.max(made, 1));
    expect(await received()).toBe(`SUMMARY ${summaries}`);
    expect((await send('hello')).text).toBe('Done.');
    expect(box.model.asked.at(-1)?.messages[0]?.content).toContain(`SUMMARY ${summaries}`);
  });

  test('goes on with it, though what the model is shown besides has changed', async () => {
    const reader = (maxTokens: number) =>
      defineDeepAgent({ name: 'reader', tools: { read: look }, interruptOn: { read: true }, context: { maxTokens } });
    const box = await createTestBox({ agents: { reader: reader(400) }, model: script });
    onTestFinished(() => box.close());
    const send = (text: string) => box.agent('reader').send(text, { session: 's' });
    for (const n of [1, 2, 3]) await send(`${n} ${LONG}`);
    const turn = await send(`read ${LONG}`);
    expect((await turn.run.steps()).map(({ name }) => name)).toContain('compact');
    const before = summaries;
    await box.restart({ agents: { reader: reader(100_000) } });
    await (await box.approvals.next()).approve();
    expect((await turn.rest()).text).toBe('Done.');
    expect(summaries).toBe(before);
  });

  test('that failed in its second part shows whole turns behind the first', async () => {
    const reader = (maxTokens: number) =>
      defineDeepAgent({ name: 'reader', tools: { read: look }, context: { maxTokens } });
    let left = 1;
    const refusing = (asked: AskedOfKit) => (isSummary(asked) && left-- <= 0 ? model.fail() : script(asked));
    const box = await createTestBox({ agents: { reader: reader(100_000) }, model: refusing });
    onTestFinished(() => box.close());
    const send = (text: string) => box.agent('reader').send(text, { session: 's' });
    for (const n of [1, 2, 3, 4]) await send(`read ${n} ${LONG}`);
    await box.restart({ agents: { reader: reader(800) } });
    expect((await send(LONG)).text).toBe('Done.');
    const [system, ...shown] = box.model.asked.at(-1)?.messages ?? [];
    expect(system?.content).toContain(`SUMMARY ${summaries}`);
    expect(shown.map(({ role }) => role).join(' ')).toMatch(/^(?:user assistant tool assistant )+user$/);
  });

  test('goes on from the summaries it has, when a crash and a failure came between them', async () => {
    const reader = (maxTokens: number) =>
      defineDeepAgent({ name: 'reader', tools: { read: look }, context: { maxTokens } });
    let isRefused = false;
    const refusing = (asked: AskedOfKit) => (isRefused && isSummary(asked) ? model.fail() : script(asked));
    const box = await createTestBox({ agents: { reader: reader(100_000) }, model: refusing });
    onTestFinished(() => box.close());
    const send = (text: string) => box.agent('reader').send(text, { session: 's' });
    for (const n of [1, 2, 3, 4, 5]) await send(`${n} ${LONG}`);
    await box.restart({ agents: { reader: reader(400) } });
    const lost = box.crashAt({ step: 'compact', when: 'recorded' });
    void send(`read ${LONG}`).catch(() => {});
    await lost;
    isRefused = true;
    await box.restart();
    const again = box.crashAt({ step: 'read', when: 'recorded' });
    await again;
    await box.restart();
    const [run] = await box.listRuns();
    expect(await run?.result()).toMatchObject({ content: 'Done.' });
    expect((await run?.steps())?.map(({ name, status }) => `${name} ${status}`).slice(0, 2)).toEqual([
      'compact completed',
      'compact failed',
    ]);
  });
});

test.each([
  [{ maxTokens: 0 }, 'context.maxTokens is 0; it must be a whole number from 1.'],
  [{ compactAt: 2 }, 'context.compactAt is 2; it must be a share above 0, up to 1.'],
])('the context %j is refused', (context, message) => {
  expect(() => defineDeepAgent({ name: 'helper', context })).toThrow(message);
});
