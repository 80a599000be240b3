import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import type { UIMessage } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createAgent, KEY } from './_agui.ts';
import type { Calls } from './_agui.ts';
import { toUiMessages } from '../src/wires/ui-messages/messages.ts';
import { call, setupBoxes, until } from './_setup.ts';
import { openUi, partsOf, textOf } from './_ui-messages.ts';

const boxes = setupBoxes();
const WAIT_MS = 20_000;

const readChat = async (url: string, id: string): Promise<UIMessage[]> => {
  const answer = await fetch(`${url}/${id}`, { headers: KEY });
  return ((await answer.json()) as { messages: UIMessage[] }).messages;
};

describe('a chat of useChat', () => {
  test('is answered in one message, with what the box runs as tool parts', async () => {
    const { chat, box } = await openUi(boxes);
    const one = chat('tools');
    await one.sendMessage({ text: 'reason:because; tool:add {"a": 1, "b":2}; say:three' });
    expect(one.error).toBeUndefined();
    expect(one.status).toBe('ready');
    expect(one.messages).toHaveLength(2);
    const callId = expect.any(String) as string;
    expect(partsOf(one)).toEqual([
      { type: 'step-start' },
      { type: 'reasoning', id: expect.any(String), text: 'because', state: 'done' },
      {
        type: 'tool-add',
        toolCallId: callId,
        state: 'output-available',
        input: { a: 1, b: 2 },
        output: 3,
        providerExecuted: true,
      },
      { type: 'step-start' },
      { type: 'text', text: 'three', state: 'done' },
    ]);
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    expect(one.messages[1]?.metadata).toEqual({
      svc: {
        runId: run?.runId,
        usage: { inputTokens: run?.inputTokens, outputTokens: run?.outputTokens, totalTokens: run?.totalTokens },
      },
    });
    // The next request has all of it, and adds what is new alone.
    await one.sendMessage({ text: 'say:again' });
    expect(textOf(one)).toBe('again');
    expect(box.model.requests.at(-1)?.messages?.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    expect(await readChat(`${await box.listen()}/ui/v1/agents/helper`, 'tools')).toMatchObject(
      one.messages.map(({ id, role }) => ({ id, role })),
    );
  });

  test('shows a call that failed in one state, as it happens and after a reload', async () => {
    const { chat, url } = await openUi(boxes);
    const one = chat('failed');
    await one.sendMessage({ text: 'tool:add {"a": "one", "b":2}; say:no' });
    const failed = { type: 'tool-add', state: 'output-error', errorText: expect.stringContaining('add') };
    const [, live] = partsOf(one);
    expect(live).toMatchObject(failed);
    const messages = await readChat(url, 'failed');
    expect(partsOf({ messages })[1]).toEqual(live);
    // What is kept for people is none of the model's.
    const again = chat('failed', { messages });
    await again.sendMessage({ text: 'say:again' });
    expect(textOf(again)).toBe('again');
  });

  test('is refused before a run where a parameter is of another type, and takes no place of a stream', async () => {
    const { box } = await openUi(boxes);
    const url = `${await box.listen()}/ui/v1/agents/helper`;
    const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'say:x' }] }];
    const send = (more: object) =>
      fetch(url, {
        method: 'POST',
        headers: { ...KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ id: 'typed', messages, ...more }),
      });
    // More often than a caller may have streams.
    for (let times = 0; times < 30; times++) {
      const answer = await send({ temperature: 'hot' });
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { code: 'invalid_request', details: { param: 'temperature' } },
      ]);
    }
    expect(await box.journal.listRuns({ kind: 'agent' }, { limit: 1 })).toEqual([]);
    expect((await send({ temperature: 0 })).status).toBe(200);
  });

  test('is generated again from an earlier message, and edited', async () => {
    const { chat, box } = await openUi(boxes);
    const one = chat('again');
    await one.sendMessage({ text: 'say:first' });
    await one.regenerate();
    expect(one.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(box.model.requests.at(-1)?.messages?.map(({ role }) => role)).toEqual(['system', 'user']);
    await one.sendMessage({ text: 'say:other', messageId: String(one.messages[0]?.id) });
    expect(textOf(one)).toBe('other');
    expect(box.model.requests.at(-1)?.messages?.map(({ content }) => content)).toEqual(['Help.', 'say:other']);
  });

  test('runs its own tools', async () => {
    const { chat, box } = await openUi(boxes);
    const asked = vi.fn<(name: string) => void>();
    const one = chat('frontend', {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        asked(toolCall.toolName);
        void one.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: 'Vienna' });
      },
    });
    const tools = [{ name: 'locate', description: 'Where the person is.' }];
    await one.sendMessage({ text: 'tool:add {"a":1,"b":1}; tool:locate {}; say:There.' }, { body: { tools } });
    await until(() => textOf(one) === 'There.', WAIT_MS);
    expect(asked.mock.calls).toEqual([['locate']]);
    expect(one.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(box.model.requests.at(-1)?.messages?.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
    expect(box.model.requests.at(-1)?.messages?.at(-1)?.content).toBe('Vienna');
  });

  test('shows a tool of its own that failed as it was, after a reload too', async () => {
    const { chat, box, url } = await openUi(boxes);
    const one = chat('lost', {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall({ toolCall: { toolName: tool, toolCallId } }) {
        void one.addToolOutput({ state: 'output-error', tool, toolCallId, errorText: 'No GPS.' });
      },
    });
    const tools = [{ name: 'locate', description: 'Where the person is.' }];
    await one.sendMessage({ text: 'tool:locate {}; say:Somewhere.' }, { body: { tools } });
    await until(() => textOf(one) === 'Somewhere.', WAIT_MS);
    const failed = { type: 'tool-locate', state: 'output-error', errorText: 'No GPS.' };
    expect(partsOf(one)[1]).toMatchObject(failed);
    const messages = await readChat(url, 'lost');
    expect(partsOf({ messages })[1]).toMatchObject(failed);
    // It is the page that has run it.
    for (const part of [partsOf(one)[1], partsOf({ messages })[1]]) expect(part).not.toHaveProperty('providerExecuted');
    const again = chat('lost', { messages });
    await again.sendMessage({ text: 'say:again' });
    expect(textOf(again)).toBe('again');
    const told = box.model.requests.at(-1)?.messages?.filter(({ role }) => role === 'tool');
    expect(told).toEqual([{ role: 'tool', content: 'Error: No GPS.', tool_call_id: expect.any(String) }]);
  });

  test('keeps what a tool of the box says of its failure as it says it', () => {
    const calls = [{ id: 'c1', type: 'function' as const, function: { name: 'add', arguments: '{}' } }];
    const [shown] = toUiMessages([
      { id: 'a', role: 'assistant', content: null, tool_calls: calls },
      { id: 'r', role: 'tool', content: 'Error: No sum.', tool_call_id: 'c1', isError: true },
    ]);
    expect(shown?.parts[1]).toMatchObject({ providerExecuted: true, errorText: 'Error: No sum.' });
  });

  test('says pictures and files, and what the application says', async () => {
    const { chat, box } = await openUi(boxes);
    const one = chat('files', {
      messages: [{ id: 's', role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }],
    });
    const files = [{ type: 'file' as const, mediaType: 'image/png', url: 'data:image/png;base64,AAAA' }];
    await one.sendMessage({ text: 'say:seen', files });
    expect(textOf(one)).toBe('seen');
    expect(box.model.requests.at(-1)?.messages).toEqual([
      { role: 'system', content: 'Help.\n\nBe brief.' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'say:seen' },
        ],
      },
    ]);
    const [, user] = [undefined, ...(await readChat(`${await box.listen()}/ui/v1/agents/helper`, 'files'))];
    expect(user?.parts).toEqual([...files, { type: 'text', text: 'say:seen' }]);
  });

  test('gets what went wrong, and may ask again', async () => {
    const { chat, box } = await openUi(boxes);
    const one = chat('wrong');
    await one.sendMessage({ text: 'error:500' });
    expect(one.status).toBe('error');
    expect(one.error?.message).toContain('provider');
    await one.sendMessage({ text: 'say:better' });
    expect(textOf(one)).toBe('better');
    const answer = await call(box, 'POST /ui/v1/agents/nobody', { id: 'x', messages: [] }, KEY);
    expect(answer).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
  });
});

describe('a call that waits', () => {
  test('is approved or refused in the chat, and the same message goes on', async () => {
    const { chat, calls } = await openUi(boxes);
    for (const approved of [true, false]) {
      const one = chat(`decide-${approved}`, {
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      });
      await one.sendMessage({ text: 'tool:refund {"order":"A","amount":5}; say:done' });
      const [, waiting] = partsOf(one);
      expect(waiting).toMatchObject({
        type: 'tool-refund',
        state: 'approval-requested',
        approval: { id: expect.any(String), descriptor: { tool: 'refund', title: 'Run "refund"?' } },
      });
      const { id } = (waiting as { approval: { id: string } }).approval;
      await one.addToolApprovalResponse({ id, approved, reason: 'because' });
      await until(() => textOf(one) === 'done', WAIT_MS);
      expect(one.messages).toHaveLength(2);
      expect(partsOf(one)[1]).toMatchObject(
        approved
          ? { state: 'output-available', output: { paid: 5 } }
          : { state: 'output-denied', approval: { approved: false } },
      );
    }
    expect(calls.map(({ tool }) => tool)).toEqual(['refund']);
  });

  test('is refused after a reload, too', async () => {
    const { chat, url } = await openUi(boxes);
    const one = chat('refused', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await one.sendMessage({ text: 'tool:refund {"order":"A","amount":5}; say:done' });
    const { approval } = partsOf(one)[1] as { approval: { id: string } };
    await one.addToolApprovalResponse({ id: approval.id, approved: false });
    await until(() => textOf(one) === 'done' && one.status === 'ready', WAIT_MS);
    const isCall = ({ type }: { type: string }) => type === 'tool-refund';
    expect(partsOf(one).find(isCall as never)).toMatchObject({ state: 'output-denied' });
    expect(partsOf({ messages: await readChat(url, 'refused') }).find(isCall as never)).toMatchObject({
      state: 'output-denied',
      approval: { approved: false },
    });
  });
});

describe('a call that waits, of the chat of a user', () => {
  const TOKEN = 'the-token-of-the-operator';
  const open = async (by?: 'user' | 'operator') => {
    const calls: Calls[] = [];
    const agent = createAgent(calls);
    const helper = defineDeepAgent({ ...agent, interruptOn: { refund: by ? { by } : true } });
    const { box, chat } = await openUi(boxes, {
      agents: { helper },
      options: { host: 'image', strategy: operatorToken(TOKEN) },
    });
    const operator = { authorization: `Bearer ${TOKEN}` };
    const given = { name: 'shop', client: 'shop', users: true, grants: { agents: ['helper'] } };
    const { value, id: keyId } = (await call<{ value: string; id: string }>(box, 'POST /api/keys', given, operator))
      .body;
    const headers = { authorization: `Bearer ${value}`, 'x-svc-user': 'ada' };
    const one = chat('mine', { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses }, headers);
    await one.sendMessage({ text: 'tool:refund {"order":"A","amount":5}; say:done' });
    const [, waiting] = partsOf(one);
    const { id } = (waiting as { approval: { id: string } }).approval;
    return { box, one, calls, id, keyId, operator };
  };

  test.each([undefined, 'operator'] as const)('is not decided by them where an operator decides: %s', async (by) => {
    const { box, one, calls, id, operator } = await open(by);
    await one.addToolApprovalResponse({ id, approved: true });
    await until(() => one.error !== undefined, WAIT_MS);
    expect(one.error?.message).toContain('decision_not_yours');
    expect(calls).toEqual([]);
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, operator);
    expect(body).toMatchObject({ status: 'pending', by: 'operator' });
    const { items } = (await call<{ items: unknown[] }>(box, `GET /api/activity?target=${id}`, undefined, operator))
      .body;
    expect(items).toEqual([]);
    expect((await call(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' }, operator)).status).toBe(200);
    await until(() => calls.length === 1);
  });

  test('is decided by them where they may, and the activity log names them', async () => {
    const { box, one, calls, id, operator } = await open('user');
    await one.addToolApprovalResponse({ id, approved: true });
    await until(() => textOf(one) === 'done', WAIT_MS);
    expect(calls).toHaveLength(1);
    const { items } = (await call<{ items: unknown[] }>(box, `GET /api/activity?target=${id}`, undefined, operator))
      .body;
    expect(items).toMatchObject([
      {
        operation: 'approvals.decide',
        source: 'chat',
        target: { id },
        actor: { name: expect.stringContaining('user "ada"'), role: null },
      },
    ]);
  });
});

describe('a turn under way', () => {
  test('is followed again after a reload, from its beginning', async () => {
    const { chat, url, box } = await openUi(boxes);
    const first = chat('reload');
    const sent = first.sendMessage({ text: 'tool:add {"a":1,"b":2}; delay:60; say:one two three four five six' });
    await until(() => textOf(first).includes('two'), WAIT_MS);
    await first.stop();
    await sent;
    const again = chat('reload', { messages: await readChat(url, 'reload') });
    expect(again.messages.map(({ role }) => role)).toEqual(['user']);
    await again.resumeStream();
    expect(again.error).toBeUndefined();
    expect(textOf(again)).toBe('one two three four five six');
    expect(partsOf(again).map(({ type }) => type)).toEqual(['step-start', 'tool-add', 'step-start', 'text']);
    expect(again.messages.map(({ id }) => id)).toEqual((await readChat(url, 'reload')).map(({ id }) => id));
    // All have ended.
    await again.resumeStream();
    expect(again.messages).toHaveLength(2);
    expect((await fetch(`${url}/reload/stream`, { headers: KEY })).status).toBe(204);
    expect(await box.journal.listRuns({ kind: 'agent' }, { limit: 5 })).toHaveLength(1);
  });

  test('that has said more than is held is given whole at its end', async () => {
    const { chat, url } = await openUi(boxes);
    const words = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(30_000));
    const first = chat('long');
    const sent = first.sendMessage({ text: `delay:150; say:${words.join(' ')}` });
    await until(() => textOf(first).includes('ccc'), WAIT_MS);
    await first.stop();
    await sent;
    const again = chat('long', { messages: await readChat(url, 'long') });
    await again.resumeStream();
    expect(textOf(again)).toBe(words.join(' '));
  });

  test('is stopped by its owner, and by no one else', async () => {
    const { chat, url, box } = await openUi(boxes);
    const one = chat('stop');
    const sent = one.sendMessage({ text: 'delay:60; say:one two three four five six seven eight' });
    await until(() => textOf(one).includes('two'), WAIT_MS);
    expect((await fetch(`${url}/other/stream`, { method: 'DELETE', headers: KEY })).status).toBe(204);
    expect((await fetch(`${url}/stop/stream`, { method: 'DELETE' })).status).toBe(401);
    const foreign = { ...KEY, 'x-svc-user': 'mallory' };
    expect((await fetch(`${url}/stop/stream`, { method: 'DELETE', headers: foreign })).status).toBe(204);
    expect((await fetch(`${url}/stop/stream`, { headers: foreign })).status).toBe(204);
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    expect(run?.status).not.toBe('cancelled');
    expect((await fetch(`${url}/stop/stream`, { method: 'DELETE', headers: KEY })).status).toBe(204);
    await sent;
    expect(textOf(one)).not.toContain('eight');
    await until(async () => (await box.journal.getRun(String(run?.runId)))?.status === 'cancelled', WAIT_MS);
    await one.sendMessage({ text: 'say:on' });
    expect(textOf(one)).toBe('on');
  });
});
