import { expect, onTestFinished, test, vi } from 'vitest';
import { followChat } from './follow-chat.ts';
import type { ChatRun, OpenChat } from './follow-chat.ts';

const event = (id: string, name: string, data: unknown) =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const answer = (...frames: string[]) => new Response(frames.join(''));

/** Answers are given one after the other; the last is what was asked. */
function follow(answers: (() => Response)[]) {
  const asked: unknown[] = [];
  let shown: ChatRun | undefined;
  const open: OpenChat = async (ask) => {
    asked.push(ask);
    const next = answers.shift();
    if (!next) throw Object.assign(new Error('Nothing is left.'), { code: 'none' });
    return next();
  };
  const chat = followChat(open, (run) => (shown = run), { again: 1, gather: 1, most: 3 });
  onTestFinished(() => chat.stop());
  return {
    chat,
    asked,
    until: (check: (run: ChatRun) => boolean) => vi.waitUntil(() => shown && check(shown) && shown),
  };
}

test('a run is started and shown to its end, over a stream that breaks off', async () => {
  const { chat, asked, until } = follow([
    () => answer(': ok\n\n', event('r:0', 'run', { runId: 'r' }), event('r:1', 'frame', 'Hel')),
    () => {
      throw new TypeError('network');
    },
    () =>
      answer(
        event('r:2', 'frame', 'lo'),
        event('r:3', 'frame', { a: 1 }),
        event('r:3', 'end', { status: 'completed' }),
      ),
  ]);
  chat.begin({ say: 'hello' });
  const run = await until(({ end }) => end !== undefined);
  expect(run).toMatchObject({ runId: 'r', isLost: false, parts: [{ text: 'Hello' }, { value: { a: 1 } }] });
  expect(asked).toEqual([
    { input: { say: 'hello' }, key: expect.any(String) as string },
    { lastEventId: 'r:1' },
    { lastEventId: 'r:1' },
  ]);
});

test('a start whose answer was lost is asked for under its key again', async () => {
  const { chat, asked, until } = follow([
    () => {
      throw new TypeError('network');
    },
    () => answer(event('r:0', 'run', { runId: 'r' }), event('r:0', 'end', { status: 'completed' })),
  ]);
  chat.begin({});
  await until(({ end }) => end !== undefined);
  expect(asked[1]).toEqual(asked[0]);
});

test('a run is shown from its beginning after a reload, and a refusal ends it', async () => {
  const { chat, asked, until } = follow([() => answer(event('r:1', 'frame', 1))]);
  chat.resume('r');
  const run = await until(({ error }) => error !== undefined);
  expect(run).toMatchObject({ parts: [{ value: 1 }], error: { code: 'none' } });
  chat.resume('r');
  expect(asked).toEqual([{ lastEventId: 'r:0' }, { lastEventId: 'r:1' }]);
});

test('of many frames the last are held', async () => {
  const frames = Array.from({ length: 9 }, (_, n) => event(`r:${n + 1}`, 'frame', n));
  const { chat, until } = follow([() => answer(...frames, event('r:9', 'end', { status: 'completed' }))]);
  chat.resume('r');
  const run = await until(({ end }) => end !== undefined);
  expect(run).toMatchObject({ isCut: true, parts: [{ value: 6 }, { value: 7 }, { value: 8 }] });
});
