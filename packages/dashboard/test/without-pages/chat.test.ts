import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '@svc/runtime/client';
import { createAgent } from '../../../runtime/test/_agui.ts';
import { json, setupBoxes } from '../../../runtime/test/_setup.ts';
import type { TestBox } from '../../../runtime/test/_setup.ts';
import { createChat } from '../../src/chat/create-chat.ts';
import { runOf, toChatMessages, toText } from '../../src/chat/message.ts';
import type { ChatMessage, ListedTurn } from '../../src/chat/message.ts';
import { readRun } from '../../src/chat/read-run.ts';
import type { Post, ReadOptions, ResumeEntry } from '../../src/chat/read-run.ts';
import { applyEvent, applyFailure, EMPTY, toSent } from '../../src/chat/thread.ts';
import type { Thread } from '../../src/chat/thread.ts';

const boxes = setupBoxes();
const openBox = boxes.share({ agents: { helper: createAgent() } });

const REFUND =
  'reason:Money leaves.\ntools:add {"a": 1, "b": 2} | refund {"order": "A-1", "amount": 5}\nsay:It is done.';

let ids = 0;
const user = (content: string, id = `user-${++ids}`): ChatMessage => ({ id, role: 'user', content });

/** As a page sends: what the box refuses is thrown with its status. */
const posting =
  (box: TestBox, change: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array> = (body) => body): Post =>
  async (path, body, { headers, signal }) => {
    const init = json(body, { headers: { ...headers, authorization: 'Bearer dev' } });
    const response = await box.request(path, { ...init, ...(signal ? { signal } : {}) });
    if (response.status === 200 && response.body) return new Response(change(response.body));
    throw Object.assign(new Error(), { status: response.status, ...((await response.json()) as object) });
  };

interface Chat {
  thread: Thread;
  events: AgentEvent[];
  say(text: string): Promise<Thread>;
  send(messages: readonly ChatMessage[], resume?: readonly ResumeEntry[]): Promise<Thread>;
}

function openChat(box: TestBox, threadId = `chat-${++ids}`, start: Thread = EMPTY): Chat {
  const chat: Chat = {
    thread: start,
    events: [],
    say: (text) => chat.send([...toSent(chat.thread), user(text)]),
    async send(messages, resume) {
      chat.thread = { ...chat.thread, messages };
      chat.events = [];
      const request = { agent: 'helper', threadId, messages, ...(resume ? { resume } : {}) };
      for await (const event of readRun(posting(box), request)) {
        chat.events.push(event);
        chat.thread = applyEvent(chat.thread, event, 0);
      }
      return chat.thread;
    },
  };
  return chat;
}

/** The conversation as the box tells it to a page that has nothing. */
async function readKept(box: TestBox, threadId: string): Promise<readonly ChatMessage[]> {
  return (await openChat(box, threadId).send([])).messages;
}

describe('a conversation made of the stream of a box', () => {
  test('has what the box keeps, with what was thought', async () => {
    const box = await openBox();
    const chat = openChat(box, 'kept');
    const { status, messages, turns, open } = await chat.say('reason:I think so.\nsay:Hello there');
    expect(status).toBe('idle');
    expect(open.size).toBe(0);
    expect(messages.map(({ role, ...one }) => [role, 'content' in one && one.content])).toEqual([
      ['user', 'reason:I think so.\nsay:Hello there'],
      ['reasoning', 'I think so.'],
      ['assistant', 'Hello there'],
    ]);
    expect(messages).toEqual(await readKept(box, 'kept'));
    expect(turns).toMatchObject([{ runId: runOf(messages.at(-1)?.id ?? ''), finishReason: 'stop' }]);
    expect(turns[0]?.inputTokens).toBeGreaterThan(0);
    expect(turns[0]?.steps).toMatchObject([{ name: 'step 1', to: 0 }]);
  });

  test('has the arguments of a call as they grow, and its result', async () => {
    const box = await openBox();
    const chat = openChat(box);
    await chat.say('tool:add {"a": 10000, "b": 20000}\nsay:Done');
    const grown: string[] = [];
    let thread: Thread = EMPTY;
    for (const event of chat.events) {
      thread = applyEvent(thread, event, 0);
      const call = thread.messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))[0];
      if (call && thread.open.has(call.id)) grown.push(call.function.arguments);
    }
    expect(grown[0]).toBe('');
    expect(grown.length).toBeGreaterThan(2);
    expect(grown.at(-1)).toBe('{"a": 10000, "b": 20000}');
    expect(thread.messages.find(({ role }) => role === 'tool')).toMatchObject({ content: '30000' });
  });

  test('pauses for a person, and goes on with the decision', async () => {
    const box = await openBox();
    const chat = openChat(box, 'paused');
    const paused = await chat.say(REFUND);
    expect(paused).toMatchObject({
      status: 'paused',
      interrupts: [{ message: 'Run "refund"?', metadata: { svc: { arguments: { order: 'A-1', amount: 5 } } } }],
    });
    const { runId, inputTokens } = paused.turns[0] ?? { runId: '', inputTokens: 0 };
    const interruptId = paused.interrupts[0]?.id ?? '';
    const payload = { decision: 'edit' as const, input: { order: 'A-1', amount: 4 }, note: 'less' };
    const ended = await chat.send(toSent(paused), [{ interruptId, status: 'resolved', payload }]);
    expect(ended).toMatchObject({ status: 'idle', interrupts: [] });
    expect(chat.events.some(({ type }) => type === 'MESSAGES_SNAPSHOT')).toBe(false);
    expect(ended.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
    expect(ended.messages.map(({ id }) => id)).toEqual(
      (await readKept(box, 'paused')).filter(({ role }) => role !== 'reasoning').map(({ id }) => id),
    );
    expect(ended.turns.map((turn) => turn.runId)).toEqual([runId]);
    expect(ended.turns[0]?.inputTokens).toBeGreaterThan(inputTokens);
  });

  test('forgets what a turn that fails has made, as the box does', async () => {
    const box = await openBox();
    const chat = openChat(box, 'failed');
    await chat.say('say:First');
    const failed = await chat.say('error:400');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_provider_failed' } });
    expect(failed.messages.at(-1)).toMatchObject({ content: 'error:400' });
    const next = await chat.say('say:Second');
    expect(next.messages.map((one) => 'content' in one && one.content)).toEqual([
      'say:First',
      'First',
      'say:Second',
      'Second',
    ]);
    expect(next.messages).toEqual(await readKept(box, 'failed'));
  });

  test('goes on from an earlier message where it stands, or in another session', async () => {
    const box = await openBox();
    const chat = openChat(box, 'edited');
    await chat.say('say:One');
    const two = await chat.say('say:Two');
    const [first] = two.messages;
    const branch = await openChat(box, 'branch').send([...two.messages.slice(0, 2), user('say:Other')]);
    expect(branch.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(branch.messages.at(-1)).toMatchObject({ content: 'Other' });
    const edited = await chat.send([user('say:Anew', first?.id)]);
    expect(edited.messages.map((one) => 'content' in one && one.content)).toEqual(['say:Anew', 'Anew']);
    expect(await readKept(box, 'edited')).toEqual(edited.messages);
    expect(await readKept(box, 'branch')).toHaveLength(4);
  });

  test('goes on without forgetting what was said elsewhere meanwhile', async () => {
    const box = await openBox();
    const open = () =>
      createChat({
        agent: 'helper',
        threadId: 'two-pages',
        post: posting(box),
        stop: () => Promise.resolve(),
        readPaused: () => Promise.resolve(undefined),
        soon: (flush) => queueMicrotask(flush),
      });
    const [one, two] = [open(), open()];
    await one.say('say:One.');
    await two.open();
    await one.say('say:Two.');
    await two.say('say:Three.');
    const said = two.get().thread.messages.filter(({ role }) => role === 'assistant');
    expect(said.map((message) => 'content' in message && message.content)).toEqual(['One.', 'Two.', 'Three.']);
    expect(two.get().thread.messages).toEqual(await readKept(box, 'two-pages'));
    expect(two.get()).toMatchObject({ isOpening: false, isLost: false, failure: undefined });
  });

  test('is the same whatever was sent twice', async () => {
    const box = await openBox();
    const chat = openChat(box);
    await chat.say(REFUND);
    const { events } = chat;
    const once = events.reduce((thread, event) => applyEvent(thread, event, 0), EMPTY);
    for (let cut = 0; cut < events.length; cut++) {
      const twice = [...events.slice(0, cut), ...events].reduce((thread, event) => applyEvent(thread, event, 0), EMPTY);
      expect(twice.messages).toEqual(once.messages);
      expect(twice).toMatchObject({ status: once.status, again: {}, turns: [{ runId: once.turns[0]?.runId }] });
    }
  });

  test('takes what a model repeats where it goes on in another way', () => {
    const text = (type: string, more: object = {}) => ({ type, messageId: 'm', role: 'assistant', ...more }) as never;
    const said = (deltas: string[]) => [
      text('TEXT_MESSAGE_START'),
      ...deltas.map((delta) => text('TEXT_MESSAGE_CONTENT', { delta })),
      text('TEXT_MESSAGE_END'),
    ];
    const toContent = (events: AgentEvent[]) =>
      events.reduce((thread, event) => applyEvent(thread, event, 0), EMPTY).messages[0];
    expect(toContent([...said(['Hel', 'lo you']), ...said(['Hello', ' me!'])])).toMatchObject({ content: 'Hello me!' });
    expect(toContent([...said(['Hello']), ...said(['He'])])).toMatchObject({ content: 'He' });
    expect(toContent([...said(['Hello']), ...said(['Hello', ' all'])])).toMatchObject({ content: 'Hello all' });
  });

  test('shows a turn that was listed as it would one that was streamed', async () => {
    const box = await openBox();
    const chat = openChat(box, 'listed');
    await chat.say('reason:Well.\ntool:add {"a":1,"b":2}\nsay:Three');
    const answer = await box.request('/api/sessions/listed/messages?agent=helper');
    const { items } = (await answer.json()) as { items: ListedTurn[] };
    expect(items.flatMap(toChatMessages)).toEqual(await readKept(box, 'listed'));
    expect(
      toText([
        { type: 'text', text: 'a' },
        { type: 'image', source: { type: 'url', value: 'x' } },
      ]),
    ).toBe('a\n[image]');
  });

  test('keeps what was shown when the box cannot be reached', () => {
    const error = { code: 'unreachable', message: 'The box does not answer.' };
    const thread = applyFailure({ ...EMPTY, messages: [user('Hello', 'u')] }, error);
    expect(thread).toMatchObject({ status: 'failed', error, messages: [{ id: 'u' }] });
    expect(toSent(thread)).toEqual([]);
  });
});

describe('the reader of a run', () => {
  const read = async (post: Post, text: string, options: ReadOptions = {}): Promise<AgentEvent[]> => {
    const request = { agent: 'helper', threadId: `read-${++ids}`, messages: [user(text)] };
    const events: AgentEvent[] = [];
    for await (const event of readRun(post, request, { pause: () => Promise.resolve(), ...options }))
      events.push(event);
    return events;
  };

  test('reads frames whatever pieces they come in', async () => {
    const box = await openBox();
    const inPieces = (size: number) => (body: ReadableStream<Uint8Array>) =>
      body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            for (let at = 0; at < chunk.length; at += size) controller.enqueue(chunk.slice(at, at + size));
          },
        }),
      );
    for (const size of [1, 7, 64]) {
      const events = await read(posting(box, inPieces(size)), 'say:Größe — 世界 🎉');
      const text = events.map((event) => (event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : '')).join('');
      expect(text).toBe('Größe — 世界 🎉');
      expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
    }
  });

  test('makes a connection again that broke off, and the turn is asked once', async () => {
    const box = await openBox();
    const asked = box.model.requests.length;
    let posts = 0;
    let lost = 0;
    /** Of the first connection only the beginning comes. */
    const breaking = (body: ReadableStream<Uint8Array>) => {
      if (++posts > 1) return body;
      let pieces = 0;
      return body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            if (++pieces > 3) controller.error(new TypeError('network error'));
            else controller.enqueue(chunk);
          },
        }),
      );
    };
    const events = await read(posting(box, breaking), 'chunks:200', { onLost: () => lost++ });
    const thread = events.reduce((one, event) => applyEvent(one, event, 0), EMPTY);
    expect([posts, lost, box.model.requests.length - asked]).toEqual([2, 1, 1]);
    expect(thread.status).toBe('idle');
    expect(thread.messages).toHaveLength(1);
  });

  test('throws what the box refuses at first', async () => {
    const box = await openBox();
    const post = posting(box);
    const other: Post = (_path, body, options) => post('/agui/v1/agents/nobody', body, options);
    await expect(read(other, 'hi')).rejects.toMatchObject({ status: 404, code: 'agent_not_found' });
  });

  test('gives up a box that stays away', async () => {
    let posts = 0;
    const away: Post = () => {
      if (++posts === 1) return Promise.resolve(new Response('data: {"type":"RUN_STARTED"}\n\n'));
      return Promise.reject(Object.assign(new Error('away'), { status: 503 }));
    };
    await expect(read(away, 'hi')).rejects.toMatchObject({ status: 503 });
    expect(posts).toBe(11);
  });

  test('goes on in the next process when a box shuts down', async () => {
    const end = 'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}\n\n';
    const shutdown = 'data: {"type":"RUN_ERROR","code":"shutting_down","message":"The box shut down."}\n\n';
    const answers = [shutdown, `: keep-alive\n\n${end}`];
    const keys = new Set<string | undefined>();
    const post: Post = (_path, _body, { headers }) => {
      keys.add(headers['idempotency-key']);
      return Promise.resolve(new Response(answers.shift() ?? null));
    };
    expect((await read(post, 'hi')).map(({ type }) => type)).toEqual(['RUN_FINISHED']);
    expect(keys.size).toBe(1);
  });

  test('ends when it is left', async () => {
    const leave = new AbortController();
    const away: Post = () => Promise.resolve(new Response('data: {"type":"RUN_STARTED"}\n\n'));
    const reading = read(away, 'hi', {
      signal: leave.signal,
      onLost: () => leave.abort(),
      pause: (_n, signal) => Promise.reject(signal?.reason as Error),
    });
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });
});
