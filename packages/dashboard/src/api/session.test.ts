import { expect, test, vi } from 'vitest';
import { createSession } from './session.ts';

test('a session that ends, and one that is back, is reported once', () => {
  const session = createSession();
  const listener = vi.fn<() => void>();
  const stop = session.on(listener);
  for (const isSignedIn of [true, false, false, true, true]) session.note(isSignedIn);
  expect(listener).toHaveBeenCalledTimes(2);
  expect(session.isOver()).toBe(false);
  stop();
  session.note(false);
  expect([listener.mock.calls.length, session.isOver()]).toEqual([2, true]);
});
