import type { HookRequest } from '../call.ts';
import { encode } from '../serialize.ts';
import { boundGiven, FRAME_BYTES, GIVEN_BYTES, sizeOf } from '../values/size.ts';

/** Throws where the hook is made, on a replay too, if it is too large: it is no call of the run, and nothing of it is recorded. */
export function boundHook({ kind, detail }: HookRequest, input: string): void {
  const limit = GIVEN_BYTES + FRAME_BYTES;
  if (sizeOf(input, limit) <= limit) return;
  const what = kind === 'hook' ? 'metadata' : kind;
  boundGiven(encode(detail, what), { value: detail, what: `metadata of the ${kind}`, root: what });
  boundGiven(input, { value: detail, what: kind, limit });
}
