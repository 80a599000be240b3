import { expect, test } from 'vitest';
import { createLiveTurns } from './live-turns.ts';
import { createTurnReaders } from './readers.ts';
import type { TurnReadersOptions } from './readers.ts';

/** A turn that goes on, and is known by nothing but its readers. */
function openTurn() {
  const live = createLiveTurns();
  const never = new Promise<never>(() => {});
  const engine = { wait: () => never, cancel: () => never } as TurnReadersOptions['engine'];
  const pending = { next: () => never } as Partial<TurnReadersOptions['pending']> as TurnReadersOptions['pending'];
  const readers = createTurnReaders({ live, engine, pending });
  const read = (known?: string[]) =>
    readers.read(
      { runId: 'run', sessionId: 's', startedAt: 0, endsAlone: false },
      readers.open('run', known ? { known } : {}),
    );
  return { live, read };
}

test.each([undefined, ['an approval']])('a turn that is left before any of it is taken has no reader (%j)', (known) => {
  const { live, read } = openTurn();
  const turn = read(known);
  expect(live.isRead('run')).toBe(true);
  turn.leave();
  expect(live.isRead('run')).toBe(false);
});

test('a turn that is left while it is read ends for its reader', async () => {
  const { live, read } = openTurn();
  const { events, leave } = read();
  const received: unknown[] = [];
  const reading = (async () => {
    for await (const batch of events) received.push(...batch);
  })();
  live.emitterOf('run')({ type: 'step.start', step: 1 });
  leave();
  live.emitterOf('run')({ type: 'step.end', step: 1 });
  await reading;
  expect(received).toEqual([
    { type: 'step.start', step: 1 },
    { type: 'finish', reason: 'cancelled' },
  ]);
  expect(live.isRead('run')).toBe(false);
});
