import { expect, onTestFinished, test } from 'vitest';
import { createBoxEvents } from './events.ts';
import type { BoxEvent, EventsTimes } from './events.ts';

const happened = (id: string) => ({ id, event: 'reset', data: {} }) as BoxEvent;

/** A stream that ends after what it is given, or breaks. */
function open(script: (BoxEvent[] | Error)[], times: Partial<EventsTimes> = {}) {
  const asked: (string | undefined)[] = [];
  const events = createBoxEvents(
    async function* (lastEventId, signal, onAlive) {
      asked.push(lastEventId);
      const next = script.shift();
      if (next instanceof Error) throw next;
      onAlive();
      yield* next ?? [];
      if (script.length === 0)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
    { first: 1, most: 4, grace: 3, silence: 60_000, ...times },
  );
  const seen: (string | undefined)[] = [];
  const states: string[] = [];
  events.on(({ id }) => seen.push(id));
  events.onState(() => states.push(events.state()));
  onTestFinished(events.start());
  return { asked, seen, states };
}

test('a stream that is lost goes on behind the last event it has brought', async () => {
  const { asked, seen } = open([[happened('a-1'), happened('a-2')], new Error('gone'), [happened('a-3')], []]);
  await expect.poll(() => seen).toEqual(['a-1', 'a-2', 'a-3']);
  await expect.poll(() => asked).toEqual([undefined, 'a-2', 'a-2', 'a-3']);
});

test('a loss that lasts is seen, and its end too', async () => {
  const { states } = open([[happened('a-1')], ...Array.from({ length: 12 }, () => new Error('gone')), []]);
  await expect.poll(() => states).toEqual(['open', 'lost', 'open']);
});

test('a stream that ends before its first event has all read again when it is back', async () => {
  const { seen } = open([[], [], []]);
  await expect.poll(() => seen.length).toBeGreaterThan(1);
  expect(new Set(seen)).toEqual(new Set([undefined]));
});

test('a stream through which nothing comes, not even a heartbeat, is opened again', async () => {
  const { asked } = open([[happened('a-1')]], { silence: 5 });
  await expect.poll(() => asked.length).toBeGreaterThan(2);
});
