import { afterEach, expect, test, vi } from 'vitest';
import { createEventQueue } from '../src/agents/events/event-queue.ts';
import type { TurnEvent } from '../src/agents/events/turn-events.ts';
import { holdUntilOutput } from '../src/wires/hold.ts';

afterEach(() => vi.useRealTimers());

const FAILED = { type: 'error', status: 502, code: 'model_provider_failed', message: 'No.', retryable: true } as const;

/** What is told after so many milliseconds. */
async function holdFor(ms: number, ...later: TurnEvent[]) {
  const { push, batches } = createEventQueue();
  push({ type: 'step.start', step: 1 });
  const held = holdUntilOutput({ events: batches });
  let isHeld = true;
  void held.then(() => (isHeld = false));
  await vi.advanceTimersByTimeAsync(ms);
  const heldFor = isHeld;
  for (const event of later) push(event);
  await vi.advanceTimersByTimeAsync(0);
  return { isHeld: heldFor, held: await held };
}

test('the status is held for ten seconds: an error until then is the answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { isHeld, held } = await holdFor(9_999, FAILED);
  expect([isHeld, held.failed]).toMatchObject([true, FAILED]);
});

test('after ten seconds it is let go, and what comes then is reported in the stream', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { isHeld, held } = await holdFor(10_000, FAILED);
  expect([isHeld, held.failed]).toEqual([false, undefined]);
  const received: TurnEvent[] = [];
  for await (const batch of held.all) received.push(...batch);
  expect(received.map(({ type }) => type)).toEqual(['step.start', 'error']);
});
