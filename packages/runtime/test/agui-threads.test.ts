import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { call, json, startProvider, toModelStream } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { idsOf, KEY, post, say, setupAgui, textOf, toldModel, typesOf } from './_agui.ts';

const boxes = setupAgui();
const shown = (box: TestBox) => toldModel(box).map(({ content }) => content);

describe('a thread', () => {
  test('is kept: what the client has is not sent twice, nor kept twice', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('kept');
    for (const text of ['one', 'two', 'three']) await say(agent, `tool:add {"a":1,"b":1}; say:${text}`);
    expect(
      toldModel(box)
        .map(({ role }) => role)
        .join(),
    ).toBe('system,user,assistant,tool,assistant,user,assistant,tool,assistant,user,assistant,tool');
    expect(new Set(idsOf(agent.messages)).size).toBe(12);
  });

  test('takes what is new of a client that sends only that, and sends it the rest', async () => {
    const { client, box } = await boxes.openAgui();
    await say(client('newest'), 'say:one');
    const other = client('newest');
    const received = await say(other, 'say:two');
    expect(typesOf(received).slice(0, 2)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT']);
    expect(shown(box)).toEqual(['Help.', 'say:one', 'one', 'say:two']);
    expect(other.messages.map(({ content }) => content)).toEqual(['say:one', 'one', 'say:two', 'two']);
  });

  test('is the session of the same name on the other wires', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('shared');
    await say(agent, 'say:one');
    const headers = { ...KEY, 'x-svc-session': 'shared' };
    const ask = { model: 'helper', messages: [{ role: 'user', content: 'say:two' }] };
    expect((await box.request('/wire-a/v1/chat/completions', json(ask, { headers }))).status).toBe(200);
    await say(client('shared'), 'say:three');
    expect(shown(box)).toEqual(['Help.', 'say:one', 'one', 'say:two', 'two', 'say:three']);
  });

  test('is cut where the client answers again', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('regenerated');
    await say(agent, 'say:one');
    await say(agent, 'say:two');
    const before = agent.messages.slice(0, 3);
    agent.setMessages(before);
    expect(textOf(await say(agent))).toBe('two');
    expect(shown(box)).toEqual(['Help.', 'say:one', 'one', 'say:two']);
    await say(agent, 'say:three');
    expect(shown(box)).toEqual(['Help.', 'say:one', 'one', 'say:two', 'two', 'say:three']);
    expect(new Set(idsOf(agent.messages)).size).toBe(6);
  });

  test.each([
    ['under its id', 'user-edited'],
    ['under another id', 'user-new'],
  ])('is cut where the client edits a message %s', async (_how, id) => {
    const { client, box } = await boxes.openAgui();
    const agent = client(`edited ${id}`, { messages: [{ id: 'user-first', role: 'user', content: 'say:one' }] });
    await say(agent);
    agent.addMessage({ id: 'user-edited', role: 'user', content: 'say:two' });
    await say(agent);
    agent.setMessages([...agent.messages.slice(0, 2), { id, role: 'user', content: 'say:changed' }]);
    expect(textOf(await say(agent))).toBe('changed');
    await say(agent, 'say:last');
    expect(shown(box)).toEqual(['Help.', 'say:one', 'one', 'say:changed', 'changed', 'say:last']);
  });

  test('is sent, without a turn, to a client that has nothing to ask', async () => {
    const { client, box } = await boxes.openAgui();
    await say(client('opened'), 'say:one');
    const runs = () => box.journal.listRuns({ kind: 'agent' }, { limit: 9 });
    const other = client('opened');
    const received = await say(other);
    expect(typesOf(received)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    expect(other.messages.map(({ content }) => content)).toEqual(['say:one', 'one']);
    expect(await runs()).toHaveLength(1);
  });

  test('is reported with the calls a client is still to run', async () => {
    const { client } = await boxes.openAgui();
    const tools = [{ name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: {} } }];
    const received = await say(client('unanswered'), 'tool:weather {}; say:Sunny.', { tools });
    const start = received.events.find(({ type }) => (type as string) === 'TOOL_CALL_START');
    const pendingToolCallIds = [String(start?.toolCallId)];
    expect(received.end.outcome).toEqual({ type: 'success', pendingToolCallIds });
    const other = client('unanswered');
    expect((await say(other, undefined, { tools })).end.outcome).toEqual({ type: 'success', pendingToolCallIds });
    other.addMessage({ id: 'sun', role: 'tool', toolCallId: pendingToolCallIds[0] ?? '', content: 'sun' });
    expect(textOf(await say(other, undefined, { tools }))).toBe('Sunny.');
  });

  test.each([
    ['U+0000', 'say:a\u0000b'],
    ['half of an emoji', 'say:a\ud83d'],
  ])('keeps a message with %s, and knows it again', async (name, text) => {
    const { client, box } = await boxes.openAgui();
    const agent = client(`odd ${name}`);
    await say(agent, text);
    await say(agent, 'say:two');
    await say(agent, 'say:three');
    expect(shown(box)).toEqual([
      'Help.',
      expect.stringMatching(/^say:a/),
      expect.stringMatching(/^a/),
      'say:two',
      'two',
      'say:three',
    ]);
    const { body } = await call(box, `GET /api/sessions/${encodeURIComponent(`odd ${name}`)}?agent=helper`);
    expect(body.turns).toBe(3);
    const [first] = (
      await call<{ items: { runId: string }[] }>(
        box,
        `GET /api/sessions/${encodeURIComponent(`odd ${name}`)}/messages?agent=helper`,
      )
    ).body.items as unknown as { messages: { role: string }[] }[];
    expect(first?.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  test('refuses ids of messages that could not be kept, before the agent is asked', async () => {
    const { box } = await boxes.openAgui();
    const asked = box.model.requests.length;
    for (const id of ['x'.repeat(513), 'a\u0000b', 'a\ud83d']) {
      const { status, text } = await post(box, {
        threadId: 'ids',
        runId: 'r',
        messages: [{ id, role: 'user', content: 'say:x' }],
      });
      expect([status, JSON.parse(text).details.issues[0].path]).toEqual([400, ['messages', 0, 'id']]);
    }
    expect(box.model.requests).toHaveLength(asked);
  });

  test('keeps a result whose call has an id of thousands of characters', async () => {
    // Some providers put what the model thought into the id of its call.
    const id = `call_1__thought__${randomBytes(6_000).toString('base64')}`;
    const provider = await startProvider((response, body) => {
      const last = (body.messages as { role: string }[]).at(-1);
      const toolCall = { index: 0, id, type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } };
      response.end(
        last?.role === 'tool'
          ? toModelStream([{ content: 'It is 3.' }])
          : toModelStream([{ tool_calls: [toolCall] }], 'tool_calls'),
      );
    });
    const { client } = await boxes.openAgui({ provider: { baseUrl: provider.url, apiKey: 'k' } });
    const agent = client('long ids');
    for (const text of ['one', 'two']) expect(textOf(await say(agent, text))).toBe('It is 3.');
    expect(new Set(idsOf(agent.messages)).size).toBe(8);
    expect(typesOf(await say(client('long ids')))).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
  });

  test('is followed again by a client that says nothing new: its stream was lost, or the page was loaded again', async () => {
    const { client, box } = await boxes.openAgui();
    const lost = client('reload');
    const received = new Promise<void>((resolve) => {
      lost.subscribe({
        onTextMessageContentEvent: ({ textMessageBuffer }) => void (/two/.test(textMessageBuffer) && resolve()),
      });
    });
    const script = 'reason:hm; tool:add {"a":1,"b":2}; delay:60; say:one two three four five six seven eight nine ten';
    const first = say(lost, script).catch((error: unknown) => error);
    await received;
    lost.abortRun();
    await first;
    const [again, same] = [client('reload'), client('reload', { messages: lost.messages })];
    expect(lost.messages.at(-1)?.content).not.toContain('ten');
    const rejoined = await Promise.all([say(again), say(same)]);
    for (const { end } of rejoined) expect(end.outcome).toEqual({ type: 'success' });
    expect(typesOf(rejoined[0]).slice(0, 2)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT']);
    const kept = client('reload');
    await say(kept);
    for (const { messages } of [again, same]) {
      expect(messages.map(({ role, content }) => [role, content])).toEqual(
        kept.messages.map(({ role, content }) => [role, content]),
      );
      expect(new Set(idsOf(messages)).size).toBe(messages.length);
    }
    expect(await box.journal.listRuns({ kind: 'agent' }, { limit: 9 })).toHaveLength(1);
  });

  test('is not followed by a client that says something else, and its turn is stopped by its owner alone', async () => {
    const { client, box, url } = await boxes.openAgui();
    const agent = client('stopped');
    const begun = new Promise<void>((resolve) => void agent.subscribe({ onTextMessageContentEvent: () => resolve() }));
    const first = say(agent, 'delay:60; chunks:200; say:');
    await begun;
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    const edited = [{ id: String(agent.messages[0]?.id), role: 'user', content: 'say:else' }];
    const input = { threadId: 'stopped', runId: 'r2' };
    expect((await post(box, { ...input, messages: edited })).status).toBe(409);
    const stop = (headers: Record<string, string>, thread = 'stopped') =>
      fetch(`${url}/${thread}/stream`, { method: 'DELETE', headers });
    expect((await stop({})).status).toBe(401);
    for (const answer of [await stop({ ...KEY, 'x-svc-user': 'mallory' }), await stop(KEY, 'other')])
      expect(answer.status).toBe(204);
    expect((await box.journal.getRun(String(run?.runId)))?.status).toBe('running');
    expect((await stop(KEY)).status).toBe(204);
    expect((await first).end.outcome).toEqual({ type: 'cancelled' });
    expect(await box.journal.getRun(String(run?.runId))).toMatchObject({ status: 'cancelled' });
  });

  test.each(['wire-a', 'wire-b'])('is stopped, too, where its turn was asked for over %s', async (wire) => {
    const { box, url } = await boxes.openAgui();
    const [path, more] = wire === 'wire-a' ? ['v1/chat/completions', {}] : ['v1/messages', { max_tokens: 99 }];
    const ask = { model: 'helper', stream: true, messages: [{ role: 'user', content: 'delay:60; chunks:200; say:' }] };
    const headers = { ...KEY, 'x-svc-session': wire };
    const answer = await box.request(`/${wire}/${path}`, json({ ...ask, ...more }, { headers }));
    const runId = String(answer.headers.get('x-svc-run-id'));
    expect((await box.journal.getRun(runId))?.status).toBe('running');
    expect((await fetch(`${url}/${wire}/stream`, { method: 'DELETE', headers: KEY })).status).toBe(204);
    expect(await answer.text()).toContain('run_cancelled');
    expect((await box.journal.getRun(runId))?.status).toBe('cancelled');
  });

  test('has one turn at a time', async () => {
    const { client, box } = await boxes.openAgui();
    const first = client('busy');
    let second: Promise<unknown> | undefined;
    first.subscribe({
      onStepStartedEvent: () => void (second ??= say(client('busy'), 'say:two').catch((error: unknown) => error)),
    });
    await say(first, 'delay:50; chunks:10; say:');
    expect(await second).toMatchObject({ status: 409, payload: { code: 'turn_in_progress' } });
    expect(await box.journal.listRuns({ kind: 'agent' }, { limit: 9 })).toHaveLength(1);
  });
});
