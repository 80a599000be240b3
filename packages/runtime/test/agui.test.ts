import { describe, expect, test, vi } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { call } from './_setup.ts';
import { idsOf, post, say, setupAgui, textOf, toldModel, typesOf } from './_agui.ts';

const boxes = setupAgui();

describe('a run', () => {
  test('says a text between RUN_STARTED and RUN_FINISHED, with the usage of its calls', async () => {
    const { client, box } = await boxes.openAgui();
    const received = await say(client('plain'), 'say:hello', { runId: 'run-1' });
    expect(typesOf(received)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'RUN_FINISHED',
    ]);
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    expect(received.events[0]).toEqual({
      type: 'RUN_STARTED',
      threadId: 'plain',
      runId: 'run-1',
      protocolVersion: '1.0',
      metadata: { svc: { runId: run?.runId } },
    });
    expect(received.end).toMatchObject({ threadId: 'plain', runId: 'run-1', outcome: { type: 'success' } });
    expect(received.end.usage).toEqual([
      {
        provider: 'test',
        model: 'test/scripted',
        inputTokens: run?.inputTokens,
        outputTokens: run?.outputTokens,
        totalTokens: run?.totalTokens,
      },
    ]);
    expect(received.added).toEqual([{ id: expect.stringMatching(/^msg_/), role: 'assistant', content: 'hello' }]);
  });

  test('tells the calls the box runs, their arguments as the model wrote them, and their results', async () => {
    const { client } = await boxes.openAgui();
    const received = await say(client('tools'), 'tool:add {"a": 1, "b":2}; say:3');
    const of = (type: string) => received.events.filter((event) => event.type === type);
    const [start] = of('TOOL_CALL_START');
    expect(start).toMatchObject({ toolCallName: 'add', parentMessageId: expect.stringMatching(/^msg_/) });
    expect(
      of('TOOL_CALL_ARGS')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('{"a": 1, "b":2}');
    expect(of('TOOL_CALL_RESULT')).toEqual([
      {
        type: 'TOOL_CALL_RESULT',
        messageId: `${start?.toolCallId}-result`,
        toolCallId: start?.toolCallId,
        content: '3',
        role: 'tool',
      },
    ]);
    expect(received.added.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant']);
  });

  test('reports what the agent thinks before what it says, signed', async () => {
    const { client } = await boxes.openAgui();
    const received = await say(client('thinks'), 'reason:because; say:so');
    expect(typesOf(received).slice(2, 9)).toEqual(
      [
        'REASONING_START',
        'REASONING_MESSAGE_START',
        ...typesOf(received).filter((type) => type === 'REASONING_MESSAGE_CONTENT'),
        'REASONING_ENCRYPTED_VALUE',
        'REASONING_MESSAGE_END',
        'REASONING_END',
        'TEXT_MESSAGE_START',
      ].slice(0, 7),
    );
    const [reasoning] = received.added;
    expect(reasoning).toMatchObject({
      role: 'reasoning',
      content: 'because',
      encryptedValue: expect.stringMatching(/./),
    });
  });

  test('hands a call of a tool of the client over, and goes on with its result', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('frontend');
    const tools = [{ name: 'navigate', description: 'Opens a page.', parameters: { type: 'object', properties: {} } }];
    const received = await say(agent, 'tool:navigate {"to":"/"}; say:There.', { tools });
    const [callId] = (received.end.outcome as { pendingToolCallIds?: string[] }).pendingToolCallIds ?? [];
    expect(typesOf(received)).not.toContain('TOOL_CALL_RESULT');
    agent.addMessage({ id: 'result-1', role: 'tool', toolCallId: String(callId), content: 'opened' });
    expect(textOf(await say(agent, undefined, { tools }))).toBe('There.');
    expect(toldModel(box).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(box.model.requests.at(-1)?.tools?.map((tool) => tool.function?.name)).toContain('navigate');
  });

  test('sends the model what the application says, keeps it out of the thread, and passes model parameters on', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('context', { state: { page: 'orders' } });
    agent.addMessage({ id: 'sys', role: 'system', content: 'Be brief.' });
    await say(agent, 'say:one', {
      context: [{ description: 'screen', value: 'Order A-1' }],
      forwardedProps: { temperature: 0.5, model: 'other/model', anything: 1 },
    });
    const [system] = toldModel(box);
    expect(system?.content).toMatch(
      /^Help\.\n\nBe brief\.\n\nWhat the application says:\n- screen: Order A-1\n\n.*\{"page":"orders"\}$/,
    );
    expect(box.model.requests.at(-1)).toMatchObject({ temperature: 0.5, model: 'test/scripted' });
    agent.setState({});
    await say(agent, 'say:two');
    expect(toldModel(box).map(({ content }) => content)).toEqual(['Help.\n\nBe brief.', 'say:one', 'one', 'say:two']);
  });

  test('takes pictures and files as a provider does, and tells them again as they came', async () => {
    const { box, client } = await boxes.openAgui();
    const content = [
      { type: 'text' as const, text: 'say:seen' },
      { type: 'image' as const, source: { type: 'data' as const, value: 'AAAA', mimeType: 'image/png' } },
      { type: 'image' as const, source: { type: 'url' as const, value: 'https://example.com/a.png' } },
      { type: 'audio' as const, source: { type: 'data' as const, value: 'BBBB', mimeType: 'audio/wav' } },
      { type: 'document' as const, source: { type: 'data' as const, value: 'CCCC', mimeType: 'application/pdf' } },
    ];
    await say(client('parts', { messages: [{ id: 'u1', role: 'user', content }] }));
    expect(toldModel(box).at(-1)?.content).toEqual([
      { type: 'text', text: 'say:seen' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'input_audio', input_audio: { data: 'BBBB', format: 'wav' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC' } },
    ]);
    const reopened = client('parts');
    await say(reopened, 'say:two');
    expect(reopened.messages[0]).toEqual({ id: 'u1', role: 'user', content });
  });

  test('reports what the agent keeps, beside what the client keeps', async () => {
    const { client, box } = await boxes.openAgui({
      agents: { helper: defineDeepAgent({ name: 'helper', files: true }) },
    });
    const agent = client('state', { state: { page: 'orders' } });
    const received = await say(agent, 'tool:write_file {"file_path":"a.txt","content":"A"}; say:written');
    expect(typesOf(received)).toContain('STATE_SNAPSHOT');
    expect(agent.state).toMatchObject({ page: 'orders', files: expect.anything() });
    await say(agent, 'say:two');
    expect(String(toldModel(box)[0]?.content)).toContain('{"page":"orders"}');
    const reopened = client('state');
    await say(reopened, 'say:three');
    expect(reopened.state).toEqual({ files: agent.state.files });
  });
});

describe('a run that fails', () => {
  test('tells RUN_ERROR after what it had begun is ended, and leaves the thread to the next run', async () => {
    const { client } = await boxes.openAgui();
    const agent = client('fails');
    const received = await say(agent, 'error:500');
    expect(received.end).toMatchObject({
      type: 'RUN_ERROR',
      code: 'model_provider_failed',
      message: expect.any(String),
    });
    expect(typesOf(received)).toEqual(['RUN_STARTED', 'STEP_STARTED', 'STEP_FINISHED', 'RUN_ERROR']);
    const cut = await say(agent, 'cut; say:half');
    expect(typesOf(cut).slice(-3)).toEqual(['TEXT_MESSAGE_END', 'STEP_FINISHED', 'RUN_ERROR']);
    expect(textOf(await say(agent, 'say:again'))).toBe('again');
  });

  test('is refused with JSON before any stream', async () => {
    const { box } = await boxes.openAgui();
    const input = { threadId: 't', runId: 'r', messages: [{ id: 'u', role: 'user', content: 'say:x' }] };
    const refused = async (body: unknown, headers?: Record<string, string>) => {
      const { status, type, text, headers: answered } = await post(box, body, headers);
      expect(type).toMatch(/^application\/json/);
      expect(answered.get('x-should-retry')).toBe('false');
      return [status, JSON.parse(text).code];
    };
    expect(await refused(input, {})).toEqual([401, 'unauthorized']);
    for (const wrong of [
      [],
      { ...input, threadId: 1 },
      { ...input, threadId: '' },
      { ...input, messages: [{ role: 'user', content: 'no id' }] },
      { ...input, messages: [{ id: 'u', role: 'robot', content: 'x' }] },
      { ...input, messages: [{ id: 'u', role: 'user', content: null }] },
      { ...input, messages: [] },
      { ...input, tools: [{ name: 'x' }] },
      { ...input, tools: [{ name: 'add', description: 'Of the client.' }] },
      { ...input, context: 'x' },
      { ...input, forwardedProps: { temperature: 'hot' } },
      { ...input, resume: [{ interruptId: 'x', status: 'maybe' }] },
      { ...input, resume: [{ interruptId: 'x', status: 'resolved', payload: null }] },
    ])
      expect([wrong, ...(await refused(wrong))]).toEqual([wrong, 400, 'invalid_request']);
    const other = await box.request('/agui/v1/agents/nobody', {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    expect([other.status, await other.json()]).toMatchObject([404, { code: 'agent_not_found' }]);
    expect((await box.request('/agui/v1/agents/helper', { headers: { authorization: 'Bearer x' } })).status).toBe(405);
    expect(await box.journal.listRuns({}, { limit: 1 })).toEqual([]);
  });

  test('takes members it does not know', async () => {
    const { box } = await boxes.openAgui();
    const { status, text, headers } = await post(box, {
      threadId: 't',
      runId: 'r',
      parentRunId: 'p',
      messages: [{ id: 'u', role: 'user', content: 'say:x', extra: 1 }],
      surprise: true,
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(text).not.toContain('\r');
    expect(JSON.parse(text.split('\n\n')[0]?.slice('data: '.length) ?? '')).toMatchObject({ parentRunId: 'p' });
  });
});

describe('a client that goes away', () => {
  test('leaves the turn to run on, and finds it in the thread', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('gone');
    const leave = vi.fn<() => void>(() => agent.abortRun());
    agent.subscribe({ onTextMessageStartEvent: leave });
    await say(agent, 'chunks:20; delay:20; say:').catch(() => {});
    expect(leave).toHaveBeenCalled();
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    expect(await box.engine.wait(run?.runId ?? '', 20_000)).toMatchObject({ status: 'completed' });
    const back = client('gone');
    const received = await say(back, 'say:back');
    expect(typesOf(received)[1]).toBe('MESSAGES_SNAPSHOT');
    expect(idsOf(back.messages)).toHaveLength(4);
  });

  test('is notified of a run that someone cancels', async () => {
    const { client, box } = await boxes.openAgui();
    const agent = client('cancelled');
    agent.subscribe({
      async onStepStartedEvent() {
        const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
        await call(box, `POST /api/runs/${run?.runId}/cancel`);
      },
    });
    const received = await say(agent, 'hang');
    expect(received.end.outcome).toEqual({ type: 'cancelled' });
  });
});
