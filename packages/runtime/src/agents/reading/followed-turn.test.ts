import { expect, test } from 'vitest';
import { createEventQueue } from '../events/event-queue.ts';
import type { TurnEvent } from '../events/turn-events.ts';
import { followTurn } from './followed-turn.ts';

const say = (step: number, text: string): TurnEvent => ({ type: 'text.delta', id: `msg_${step}`, text });
const begin = (step: number): TurnEvent => ({ type: 'step.start', step });
const end = (step: number): TurnEvent => ({ type: 'step.end', step });
const called = (callId: string): TurnEvent => ({
  type: 'tool.start',
  callId,
  name: 'add',
  messageId: 'm',
  executor: 'box',
});
const answered = (callId: string): TurnEvent => {
  const result = { content: '3', isError: false, durationMs: 1 };
  return { type: 'tool.result', callId, messageId: `${callId}-result`, ...result };
};
const waits = (callId: string): TurnEvent => ({
  type: 'interrupt',
  id: `of-${callId}`,
  callId,
  message: 'Pay?',
  allow: ['approve'],
  responseSchema: {},
});
const STOP: TurnEvent = { type: 'finish', reason: 'stop' };
const WAITING: TurnEvent = { type: 'finish', reason: 'interrupt' };

function follow() {
  let made: readonly TurnEvent[] = [];
  let changed = (): void => {};
  const { push, batches } = createEventQueue({});
  const seen: TurnEvent[] = [];
  const read = async (): Promise<TurnEvent[]> => {
    const nextChange = (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        changed = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    for await (const batch of followTurn({ live: batches, readMade: async () => made, nextChange }))
      for (const event of batch) seen.push(event);
    return seen;
  };
  return {
    seen,
    push,
    read,
    /** What is recorded now, in place of what was. */
    replace(...events: TurnEvent[]) {
      made = events;
      changed();
    },
    record(...events: TurnEvent[]) {
      made = [...made, ...events];
      changed();
    },
  };
}

test('what is recorded comes first, then the step that goes on here, from its beginning', async () => {
  const turn = follow();
  turn.record(begin(1), called('a'), answered('a'));
  for (const event of [begin(2), say(2, 'one '), say(2, 'two'), end(2), STOP]) turn.push(event);
  expect(await turn.read()).toEqual([
    begin(1),
    called('a'),
    answered('a'),
    end(1),
    begin(2),
    say(2, 'one '),
    say(2, 'two'),
    end(2),
    STOP,
  ]);
});

test('a step whose beginning is not known comes whole once it is recorded, before what is made after it', async () => {
  const turn = follow();
  const all = turn.read();
  turn.push(say(1, 'of the middle'));
  turn.record(begin(1), say(1, 'from the beginning'));
  for (const event of [end(1), begin(2), say(2, 'next'), end(2), STOP]) turn.push(event);
  expect(await all).toEqual([begin(1), say(1, 'from the beginning'), end(1), begin(2), say(2, 'next'), end(2), STOP]);
});

test('one that is made in another process comes by what that records, while it goes on', async () => {
  const turn = follow();
  const all = turn.read();
  turn.record(begin(1), say(1, 'one'));
  await expect.poll(() => turn.seen).toEqual([begin(1), say(1, 'one')]);
  turn.record(end(1), begin(2), say(2, 'two'));
  await expect.poll(() => turn.seen).toHaveLength(5);
  turn.record(end(2), STOP);
  turn.push(STOP);
  expect(await all).toEqual([begin(1), say(1, 'one'), end(1), begin(2), say(2, 'two'), end(2), STOP]);
});

test('the answer of a sub-agent that is recorded with the next model call is not left out, nor what another process adds', async () => {
  const turn = follow();
  turn.record(begin(1), called('a'));
  turn.push(begin(2));
  turn.push(say(2, 'two'));
  const all = turn.read();
  await expect.poll(() => turn.seen).toHaveLength(5);
  turn.record(answered('a'), end(1), begin(2), say(2, 'two'), end(2), begin(3), say(3, 'three'), end(3));
  turn.push(STOP);
  const first = [begin(1), called('a'), end(1), begin(2), say(2, 'two')];
  expect(await all).toEqual([...first, answered('a'), end(2), begin(3), say(3, 'three'), end(3), STOP]);
});

test('what comes to wait behind an answer that is sent is not left out, and the answer comes once', async () => {
  const turn = follow();
  const called2 = [begin(1), called('a'), called('b')];
  turn.record(...called2, answered('b'));
  const all = turn.read();
  await expect.poll(() => turn.seen).toHaveLength(4);
  turn.replace(...called2, waits('a'), answered('b'), WAITING);
  turn.push(WAITING);
  expect(await all).toEqual([...called2, answered('b'), waits('a'), WAITING]);
});

test('an answer that is recorded before a wait that is sent is not left out', async () => {
  const turn = follow();
  const called2 = [begin(1), called('a'), called('b')];
  turn.record(...called2, waits('a'), WAITING);
  const all = turn.read();
  await expect.poll(() => turn.seen).toHaveLength(4);
  turn.replace(...called2, answered('b'), answered('a'), end(1), begin(2), say(2, 'two'), end(2), STOP);
  turn.push(STOP);
  const rest = [answered('b'), answered('a'), end(1), begin(2), say(2, 'two'), end(2), STOP];
  expect(await all).toEqual([...called2, waits('a'), ...rest]);
});

test('what the agent keeps comes again where another process has changed it', async () => {
  const turn = follow();
  const state: TurnEvent = { type: 'state', snapshot: { plan: 'old' } };
  const changed: TurnEvent = { type: 'state', snapshot: { plan: 'new' } };
  for (const event of [begin(1), state]) turn.push(event);
  const all = turn.read();
  await expect.poll(() => turn.seen).toHaveLength(2);
  turn.record(begin(1), end(1), begin(2), end(2), changed);
  turn.push(STOP);
  expect(await all).toEqual([begin(1), state, end(1), begin(2), end(2), changed, STOP]);
});
