import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createTestBox, model } from '../src/testing.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const KEY = { authorization: 'Bearer dev' };

const refunds: unknown[] = [];
const refund = defineTool({
  description: 'Refund an order.',
  inputSchema: z.object({ order: z.string(), amount: z.number() }),
  execute(input, { idempotencyKey }) {
    refunds.push({ ...input, idempotencyKey });
    return { refunded: input.amount };
  },
});
const agents = {
  helper: defineDeepAgent({ name: 'helper', instructions: 'Help.', tools: { refund }, interruptOn: { refund: true } }),
};

interface Completion {
  choices: { message: { content: string | null }; finish_reason: string; svc?: { interrupts: { id: string }[] } }[];
  error?: { code: string };
}

async function ask(box: TestBox, session: string, content: string, more: object = {}) {
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json(
      { model: 'helper', messages: [{ role: 'user', content }], ...more },
      { headers: { ...KEY, 'x-svc-session': session } },
    ),
  );
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Completion };
}

const toldTo = (box: TestBox) => box.model.requests.at(-1)?.messages as { role: string; content: unknown }[];

describe('a conversation the box keeps', () => {
  test('shows the model what was said before, and is there after a restart', async () => {
    const box = await boxes.open({ agents });
    await ask(box, 'kept', 'say:one');
    const again = await box.restart();
    const { body } = await ask(again, 'kept', 'say:two');
    expect(body.choices[0]?.message.content).toBe('two');
    expect(toldTo(again).map(({ role, content }) => [role, content])).toEqual([
      ['system', 'Help.'],
      ['user', 'say:one'],
      ['assistant', 'one'],
      ['user', 'say:two'],
    ]);
  });

  test('takes the newest turn of a client that repeats everything', async () => {
    const box = await boxes.open({ agents });
    await ask(box, 'repeated', 'say:one');
    await ask(box, 'repeated', '', {
      messages: [
        { role: 'user', content: 'say:one' },
        { role: 'assistant', content: 'one' },
        { role: 'user', content: 'say:two' },
      ],
    });
    expect(toldTo(box).map(({ content }) => content)).toEqual(['Help.', 'say:one', 'one', 'say:two']);
  });
});

describe('a text the relational store does not take', () => {
  const CUT = '😀'.slice(0, 1);
  const TEXTS: [string, string][] = [
    ['U+0000', 'a\0b'],
    ['half of an emoji', `a${CUT}`],
    ['the other half', `${'😀'.slice(1)}b`],
  ];
  const echo = defineTool({
    description: 'Echo.',
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => text,
  });
  const scribe = defineDeepAgent({ name: 'scribe', tools: { echo }, files: true });

  test.each(TEXTS)('costs no turn: %s', async (_, text) => {
    const shown = text.replace(/\0|\p{Cs}/gu, '\ufffd');
    const box = await createTestBox({
      agents: { scribe },
      model: [
        model.reply({ toolCalls: [{ name: 'echo', args: { text } }] }),
        model.reply({ toolCalls: [{ name: 'write_file', args: { file_path: 'a.md', content: text } }] }),
        model.reply(text),
        model.reply({ toolCalls: [{ name: 'read_file', args: { file_path: 'a.md' } }] }),
        model.reply('It is "\\ufffd \\u0000".'),
      ],
    });
    onTestFinished(() => box.close());
    expect((await box.agent('scribe').send(`user ${text}`, { session: 's' })).text).toBe(text);
    const turn = await box.agent('scribe').send('again', { session: 's' });
    expect(turn).toMatchObject({ text: 'It is "\\ufffd \\u0000".', toolCalls: [{ result: `1\t${shown}` }] });
    const said = box.model.asked.at(-1)?.messages ?? [];
    expect(said[0]).toEqual({ role: 'user', content: `user ${shown}` });
    expect(said.filter(({ role }) => role === 'tool')[0]?.content).toBe(shown);
    expect(said[5]).toEqual({ role: 'assistant', content: shown });
  });

  test('is no name of a session', async () => {
    const box = await createTestBox({ agents: { scribe }, model: [model.reply('Hello.')] });
    onTestFinished(() => box.close());
    await expect(box.agent('scribe').send('hello', { session: 'a\0b' })).rejects.toMatchObject({
      code: 'invalid_request',
      status: 400,
    });
  });
});

describe('a tool that needs a person', () => {
  const PAUSE = 'tool:refund {"order":"A-1","amount":5}; say:Done.';

  test('ends the answer, refuses the next turn until decided, runs once when approved', async () => {
    const box = await boxes.open({ agents });
    const { body } = await ask(box, 'paused', PAUSE);
    const [choice] = body.choices;
    expect(choice).toMatchObject({
      finish_reason: 'stop',
      message: { content: expect.stringContaining('Run "refund"?') },
    });
    const id = choice?.svc?.interrupts[0]?.id;
    const refused = await ask(box, 'paused', 'say:hello');
    expect([refused.status, refused.body.error?.code, refused.headers.get('x-should-retry')]).toEqual([
      409,
      'approval_pending',
      'false',
    ]);
    const before = refunds.length;
    expect((await call(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' })).status).toBe(200);
    await until(async () => (await ask(box, 'paused', 'say:after')).status === 200);
    expect(refunds.slice(before)).toEqual([{ order: 'A-1', amount: 5, idempotencyKey: expect.any(String) }]);
    expect(toldTo(box).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test('survives a restart, and is refused', async () => {
    const box = await boxes.open({ agents });
    const { body } = await ask(box, 'rejected', PAUSE);
    const id = body.choices[0]?.svc?.interrupts[0]?.id;
    const again = await box.restart();
    const before = refunds.length;
    await call(again, `POST /api/approvals/${id}/decide`, { decision: 'reject', note: 'Too much.' });
    await until(async () => (await ask(again, 'rejected', 'say:after')).status === 200);
    expect(refunds.length).toBe(before);
    expect(JSON.stringify(toldTo(again))).toContain('Too much.');
  });
});
