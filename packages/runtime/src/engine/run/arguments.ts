import { firstOf } from '../call.ts';
import type { Arguments, CallHistory, CallRequest } from '../call.ts';
import type { RunRow } from '../journal/run.ts';
import { decodeInert, encode } from '../serialize.ts';
import { FRAME_BYTES, isSurelyLarger, refusalOf, sizeOf, tooLargeGiven } from '../values/size.ts';
import type { Bounded } from '../values/size.ts';
import type { Driver } from './driver.ts';

/** What a call is made with, and what it is called. */
export interface GivenArguments {
  value: unknown;
  stepId: string;
  /** As paths begin in the error of a value that cannot be recorded. */
  root: string;
}

/**
 * The arguments of a call as text, or, far too large to be written, why it is refused. What has been recorded is compared by
 * its text, which may be from before there was a limit; a refusal unwritten is known by the limit it went by.
 * @param limit undefined: none
 */
export function writeArguments(
  { value, stepId, root }: GivenArguments,
  history: CallHistory | undefined,
  limit: number | undefined,
): Arguments {
  const recorded = firstOf(history);
  const over = recorded ? limitOf(recorded.digest) : limit;
  if (over === undefined || !isSurelyLarger(value, over)) return { input: encode(value, root) };
  const refused = tooLargeGiven(toBounded(value, stepId, over));
  return { input: NOTHING, unwritten: { digest: OVER + over, refused } };
}

/** Bytes of the arguments of a call. Undefined: what a turn calls itself is bounded where it comes from. */
export function mostOf({ run, driver }: { run: RunRow; driver: Pick<Driver, 'limits'> }): number | undefined {
  return run.kind === 'agent' ? undefined : driver.limits.givenBytes + FRAME_BYTES;
}

/** Why a call that is written is refused. Undefined: it is not. */
export function refusalOfCall(
  { input, stepId }: Pick<CallRequest, 'input' | 'stepId'>,
  limit: number | undefined,
): Error | undefined {
  if (limit === undefined || sizeOf(input, limit) <= limit) return undefined;
  return refusalOf(input, toBounded(decodeInert(input), stepId, limit));
}

// --- internal ---

const NOTHING = encode(null, '');
/** No digest has it. */
const OVER = '>';

function limitOf(digest: string): number | undefined {
  return digest.startsWith(OVER) ? Number(digest.slice(OVER.length)) : undefined;
}

function toBounded(value: unknown, stepId: string, limit: number): Bounded {
  const root = stepId.slice(stepId.lastIndexOf('#') + 1);
  return { value, what: `call of ${root}`, root, limit };
}
