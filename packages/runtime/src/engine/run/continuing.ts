import type { Body } from '../body.ts';
import { runOutside } from '../context.ts';
import type { Continuation } from '../journal/appends.ts';
import type { HookWait } from '../journal/hooks.ts';
import { ContinueAsNew } from '../primitives/continue-as-new.ts';
import { encodeGiven } from '../values/given.ts';
import type { Result } from './outcome.ts';

/** What the next run of the chain is to get. Undefined: the body has ended in another way. */
export function nextOf(result: Result): { input: unknown } | undefined {
  return 'error' in result && isContinuation(result.error) ? { input: result.error.input } : undefined;
}

/** What the next run begins with. Throws what a start with the input would. */
export async function toContinuation(
  body: Body,
  { input, unread, limit }: { input: unknown; unread: HookWait[]; limit: number },
): Promise<Continuation> {
  // A next run is a new one: it begins with the newest code.
  const next = (await runOutside(() => body.newest?.())) ?? body;
  // A schema may do what a body may not.
  const checked = next.check ? await runOutside(() => next.check?.(input)) : input;
  return {
    input: encodeGiven(checked, 'input', limit),
    codeHash: next.codeHash,
    unread,
  };
}

// --- internal ---

function isContinuation(error: unknown): error is ContinueAsNew {
  try {
    return error instanceof ContinueAsNew;
  } catch {
    // A proxy that refuses to be looked at.
    return false;
  }
}
