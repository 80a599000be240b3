import { BoxError } from '../../errors.ts';
import type { RunRow } from '../journal/run.ts';
import type { ReplayEnd } from '../run/replay.ts';
import type { Difference } from '../values/difference.ts';
import type { Redact } from '../values/redact.ts';
import { toText } from '../values/text.ts';
import { lastWaitOf } from './code-waits.ts';

/** Why a run cannot go on by other code, or why that is not known. */
export interface MoveStop {
  /**
   * `code_changed`: the code calls something else than is recorded. `wait_gone`: it does not wait for what the run waits for.
   * `code_fails`: it fails before it comes to where the run is. `code_stuck`: it waits for something that is no step. Or the code
   * of an error.
   */
  code: string;
  message: string;
  /** The call where it stops; null: none is to blame. */
  call: number | null;
  /** What is recorded of it, and what the code calls. */
  recorded: string | null;
  called: string | null;
  /** The author's line: `workflows/refund.workflow.ts:12`. */
  at: string | null;
  /** Where the arguments of a call differ that is the same but for them. */
  difference?: Difference;
  /** It may fit all the same. */
  isUnknown?: true;
}

export interface StopOptions {
  /** The time was up. */
  isLate: boolean;
  /** Whoever asked has gone. */
  isLeft: boolean;
  /** Of what the code has thrown. Default: unchanged. */
  redact?: Redact | undefined;
}

/** Undefined: the code comes to where the run is. */
export function stopOf(run: RunRow, end: ReplayEnd, { isLate, isLeft, redact }: StopOptions): MoveStop | undefined {
  if (isLeft) return toUnknownStop('request_aborted', 'The client that asked for the check has disconnected.');
  if (isLate) return toUnknownStop('check_timeout', 'The code had not come to where the run is within 10 seconds.');
  if (end.how === 'stuck' || end.how === 'stopped') return toMoveStop('code_stuck', STUCK);
  if (end.how === 'differs') {
    const { code, difference, thrown } = end;
    const because =
      thrown instanceof Error ? ` Its body threw "${redact ? redact(thrown.message) : thrown.message}".` : '';
    return { ...difference, code, message: difference.message + because };
  }
  const wait = waitOf(run);
  if (end.how === 'open') {
    const isThere = !wait || end.calls.some(({ stepId }) => stepId === wait.step);
    return isThere ? undefined : gone(wait.step, 'goes on without it');
  }
  if (wait) return gone(wait.step, `ends as ${end.status} without it`);
  return end.status === 'failed' ? toMoveStop('code_fails', 'The code fails where the run goes on.') : undefined;
}

/** Of what is thrown as the code is looked for. */
export function toStop(error: unknown, redact?: Redact): MoveStop {
  const code = error instanceof BoxError ? error.code : 'code_unavailable';
  const text = toText(error);
  const made = toMoveStop(code, redact ? redact(text) : text);
  return code.endsWith('_not_armed') || !(error instanceof BoxError) ? { ...made, isUnknown: true } : made;
}

/** One that no call is to blame for. */
export function toMoveStop(code: string, message: string): MoveStop {
  return { code, message, call: null, recorded: null, called: null, at: null };
}

/** One for which it is not known whether the code fits. */
export function toUnknownStop(code: string, message: string): MoveStop {
  return { ...toMoveStop(code, message), isUnknown: true };
}

// --- internal ---

const STUCK = 'The code waits for something that is not a step: replay cannot get past it.';

/** What the run waits for that code can be asked about, also while it waits for code. */
function waitOf(run: RunRow): { step: string } | undefined {
  return run.status === 'waiting' ? lastWaitOf(run).was : undefined;
}

function gone(step: string, how: string): MoveStop {
  return { ...toMoveStop('wait_gone', `The run waits in "${step}"; the code ${how}.`), recorded: step };
}
