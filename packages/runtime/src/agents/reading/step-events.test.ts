import { expect, test } from 'vitest';
import type { TurnEvent } from '../events/turn-events.ts';
import { createStepEvents } from './step-events.ts';

const say = (text: string): TurnEvent => ({ type: 'text.delta', id: 't', text });
const textOf = (events: readonly TurnEvent[]) =>
  events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');

test('what a reader has taken does not grow', () => {
  const steps = createStepEvents();
  steps.add('run', { type: 'step.start', step: 1 });
  for (const text of ['one ', 'two ']) steps.add('run', say(text));
  const taken = steps.list('run');
  expect([taken.length, textOf(taken)]).toEqual([2, 'one two ']);
  steps.add('run', say('three'));
  expect(textOf(taken)).toBe('one two ');
  expect(textOf(steps.list('run'))).toBe('one two three');
});

test('holds the last step of a turn, of the last 500 turns, and none that is too long', () => {
  const steps = createStepEvents();
  for (let n = 0; n < 501; n += 1) steps.add(`run ${n}`, { type: 'step.start', step: 1 });
  expect([steps.list('run 0'), steps.list('run 1')]).toEqual([[], [{ type: 'step.start', step: 1 }]]);
  steps.add('run 1', say('x'.repeat(70_000)));
  steps.add('run 1', say('y'));
  expect(steps.list('run 1')).toEqual([]);
  steps.add('run 1', { type: 'step.start', step: 2 });
  expect(steps.list('run 1')).toEqual([{ type: 'step.start', step: 2 }]);
  steps.add('run 1', { type: 'finish', reason: 'stop' });
  expect(steps.list('run 1')).toEqual([]);
});
