import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startProvider, call, until } from './_setup.ts';
import {
  CLIENT_TOOL,
  KEY,
  post,
  readEvents,
  runsOf,
  setupWiresB,
  shownTo,
  toRequest,
  user,
  whenRunsAre,
} from './_messages-wire.ts';
import type { WireB } from './_messages-wire.ts';

const { open } = setupWiresB();

const PAUSE = 'tool:refund {}; say:Done.';

function inSession(wire: WireB, name = randomUUID(), header = 'x-svc-session') {
  return (content: string, extra: object = {}) =>
    wire.anthropic.messages.create(toRequest(content, extra), { headers: { [header]: name } });
}

test('a session keeps what was said, and takes the newest turn of a client that repeats everything', async () => {
  const wire = await open();
  const say = inSession(wire);
  const { content } = await say('reason:hm; say:one');
  await say('say:two');
  await say('', { messages: [...user('reason:hm; say:one'), { role: 'assistant', content }, ...user('say:three')] });
  expect(shownTo(wire).map(({ content: received }) => received)).toEqual([
    'reason:hm; say:one',
    'one',
    'say:two',
    'two',
    'say:three',
  ]);
});

test('a session goes on with the result of a tool of the client alone', async () => {
  const wire = await open();
  const say = inSession(wire);
  const tools = [CLIENT_TOOL];
  const first = await say('tools:add {"a":1,"b":2} | client_tool {}; say:Done.', { tools });
  expect(first).toMatchObject({ content: [{ type: 'tool_use', name: 'client_tool' }], stop_reason: 'tool_use' });
  const result = { type: 'tool_result', tool_use_id: (first.content[0] as { id: string }).id, content: 'It is.' };
  const second = await say('', { messages: [{ role: 'user', content: [result] }], tools });
  expect(second.content).toEqual([{ type: 'text', text: 'Done.' }]);
  expect(shownTo(wire).map(({ role, content }) => [role, content])).toEqual([
    ['user', 'tools:add {"a":1,"b":2} | client_tool {}; say:Done.'],
    ['assistant', null],
    ['tool', '{"sum":3}'],
    ['tool', 'It is.'],
  ]);
});

test('a session refuses results of calls that it has not made', async () => {
  const wire = await open();
  const say = inSession(wire);
  await say('say:one');
  const content = [{ type: 'tool_result', tool_use_id: 'nope', content: 'x' }];
  await expect(say('', { messages: [{ role: 'user', content }] })).rejects.toMatchObject({
    status: 400,
    error: { error: { details: { param: 'messages', error_code: 'invalid_request' } } },
  });
  expect(await runsOf(wire)).toHaveLength(1);
});

test('a session that is sent nothing new is refused', async () => {
  const say = inSession(await open());
  await say('say:one');
  const messages = [...user('say:one'), { role: 'assistant', content: 'one' }];
  const system = { role: 'system', content: 'Be brief.' };
  for (const repeated of [messages, [system, ...messages], [...messages, system]])
    await expect(say('', { messages: repeated })).rejects.toMatchObject({ status: 400, errorCode: 'invalid_request' });
});

test('a conversation groups turns, and keeps nothing', async () => {
  const wire = await open();
  const say = inSession(wire, randomUUID(), 'x-svc-conversation');
  await say('say:one');
  await say('say:two');
  expect(shownTo(wire)).toEqual(user('say:two'));
  const runs = await runsOf(wire);
  expect(new Set(runs.map(({ sessionId }) => sessionId)).size).toBe(1);
  expect(runs[0]?.sessionId).not.toBeNull();
});

test('a tool that waits for a person ends the message with a text, and one request is answered 409 until it is decided', async () => {
  const wire = await open();
  const name = randomUUID();
  const say = inSession(wire, name);
  const paused = await say(PAUSE);
  expect(paused).toMatchObject({
    content: [
      { type: 'tool_use', name: 'refund' },
      { type: 'text', text: expect.stringContaining('Run "refund"?') },
    ],
    stop_reason: 'end_turn',
    svc: { interrupts: [{ id: expect.any(String), message: 'Run "refund"?' }] },
  });
  let requests = 0;
  const counting: typeof fetch = (...args) => {
    requests++;
    return fetch(...args);
  };
  const request = toRequest('say:hello');
  const options = { headers: { 'x-svc-session': name } };
  const now = wire.anthropic.withOptions({ fetch: counting });
  const before = wire.before.withOptions({ fetch: counting });
  for (const send of [() => now.messages.create(request, options), () => before.messages.create(request, options)]) {
    requests = 0;
    await expect(send()).rejects.toMatchObject({
      status: 409,
      error: { error: { type: 'conflict_error', details: { error_code: 'approval_pending' } } },
    });
    expect(requests).toBe(1);
  }
  const [interrupt] = (paused as unknown as { svc: { interrupts: { id: string }[] } }).svc.interrupts;
  await call(wire.box, `POST /api/approvals/${interrupt?.id}/decide`, { decision: 'approve' });
  let answer: Awaited<ReturnType<typeof say>> | undefined;
  await until(async () => (answer = await say('say:after').catch(() => undefined)) !== undefined);
  expect(answer?.content).toEqual([{ type: 'text', text: 'after' }]);
  expect(shownTo(wire).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
});

test('a result of a client tool is answered 409 while another call of the same answer waits, and is taken after', async () => {
  const wire = await open();
  const say = inSession(wire);
  const tools = [CLIENT_TOOL];
  const paused = await say('tools:refund {} | client_tool {}; say:Done.', { tools });
  expect([paused.content[0]?.type, paused.content.length, paused.stop_reason]).toEqual(['tool_use', 2, 'end_turn']);
  const result = { type: 'tool_result', tool_use_id: (paused.content[0] as { id: string }).id, content: 'It is.' };
  const messages = [{ role: 'user', content: [result] }];
  await expect(say('', { tools, messages })).rejects.toMatchObject({ status: 409, errorCode: 'approval_pending' });
  const [interrupt] = (paused as unknown as { svc: { interrupts: { id: string }[] } }).svc.interrupts;
  await call(wire.box, `POST /api/approvals/${interrupt?.id}/decide`, { decision: 'approve' });
  await whenRunsAre(wire, 'completed');
  expect((await say('', { tools, messages })).content).toEqual([{ type: 'text', text: 'Done.' }]);
  expect(shownTo(wire).map(({ role, content }) => [role, content])).toEqual([
    ['user', 'tools:refund {} | client_tool {}; say:Done.'],
    ['assistant', null],
    ['tool', 'paid'],
    ['tool', 'It is.'],
  ]);
});

test('a pause in a stream names what waits beside the stop reason', async () => {
  const wire = await open();
  const headers = { ...KEY, 'x-svc-session': randomUUID() };
  const events = await readEvents(await post(wire, toRequest(PAUSE, { stream: true }), headers));
  expect(events.at(-2)).toMatchObject({
    event: 'message_delta',
    data: { delta: { stop_reason: 'end_turn' }, svc: { interrupts: [{ message: 'Run "refund"?' }] } },
  });
});

test('a turn on a session runs on when its client goes away', async () => {
  let release = () => {};
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.write(frame({ content: 'word' }, null));
    release = () => response.end(`${frame({}, 'stop')}data: [DONE]\n\n`);
  });
  const wire = await open({ provider: { baseUrl: provider.url } });
  const headers = { 'x-svc-session': randomUUID() };
  const reading = wire.anthropic.messages.stream(toRequest('hi'), { headers });
  const ended = reading.finalMessage().catch(() => {});
  await new Promise<void>((resolve) => reading.once('text', () => resolve()));
  reading.abort();
  await ended;
  await expect(wire.anthropic.messages.create(toRequest('hi'), { headers })).rejects.toMatchObject({
    status: 409,
    errorCode: 'turn_in_progress',
  });
  release();
  await until(async () => (await runsOf(wire)).some(({ status }) => status === 'completed'));
});
