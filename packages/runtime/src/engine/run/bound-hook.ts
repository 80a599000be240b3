import type { CallRecord, HookRequest } from '../call.ts';
import { encode } from '../serialize.ts';
import { boundGiven, FRAME_BYTES, GIVEN_BYTES, isSurelyLarger, sizeOf, tooLargeGiven } from '../values/size.ts';

/**
 * Throws before it is written what `boundHook` throws of a hook that is far too large. One that was recorded before there
 * was a limit is no shorter than its record.
 */
export function boundUnwritten({ kind, detail }: HookRequest, recorded: CallRecord | undefined): void {
  const limit = Math.max(GIVEN_BYTES + FRAME_BYTES, recorded?.input?.length ?? 0);
  if (!isSurelyLarger(detail, limit)) return;
  throw tooLargeGiven({ value: detail, what: `metadata of the ${kind}`, root: toRoot(kind), limit: GIVEN_BYTES });
}

/**
 * Throws where the hook is made, on a replay too, if it is too large or its token is no name: it is no call of the run, and
 * nothing of it is recorded.
 */
export function boundHook({ kind, detail, token }: HookRequest, input: string): void {
  const fault = token === null ? undefined : faultOf(token);
  if (fault) throw new TypeError(`The token of createHook() is ${fault}. ${TOKEN_RULE}`);
  const limit = GIVEN_BYTES + FRAME_BYTES;
  if (sizeOf(input, limit) <= limit) return;
  const what = toRoot(kind);
  boundGiven(encode(detail, what), { value: detail, what: `metadata of the ${kind}`, root: what });
  boundGiven(input, { value: detail, what: kind, limit });
}

// --- internal ---

function toRoot(kind: HookRequest['kind']): string {
  return kind === 'hook' ? 'metadata' : kind;
}

/** More does not fit an index of PostgreSQL. */
const TOKEN_CHARACTERS = 500;
const TOKEN_RULE = `It has to be a text of 1 to ${TOKEN_CHARACTERS} characters.`;

/** What code without types may pass, no store can hold, and the run would try to store for good. */
function faultOf(token: unknown): string | undefined {
  if (typeof token !== 'string') return `of the type "${typeof token}"`;
  if (token === '') return 'empty';
  return token.length > TOKEN_CHARACTERS ? `${token.length} characters long` : undefined;
}
