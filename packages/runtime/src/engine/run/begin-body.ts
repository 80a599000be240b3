import type { Body } from '../body.ts';
import { runInContext } from '../context.ts';
import { unreadableInput } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { decode } from '../serialize.ts';
import type { BodyHandle } from './body-handle.ts';

/** The body has run up to its first call, or its code cannot read what the run was started with. */
export type Begun = { ending: Promise<unknown> } | { mismatch: Mismatch };

/** @param text the encoded input */
export function beginBody(text: string, body: Body, handle: BodyHandle): Begun {
  let isRead = false;
  try {
    const ending: unknown = runInContext({ kind: 'body', execution: handle }, () => {
      const input = decode(text);
      isRead = true;
      return body.run(input);
    });
    return { ending: Promise.resolve(ending) };
  } catch (error) {
    return isRead ? { ending: Promise.reject(error) } : { mismatch: unreadableInput(error) };
  }
}
