import type { CodeNotKeptError } from '../errors.ts';
import type { Append } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';
import { toText } from '../values/text.ts';

/** Its code could not be had. With a `wakeAt` it is tried again then; without, once it is there. */
export function waitsForCode({ status, waitingFor }: Pick<RunRow, 'status' | 'waitingFor'>): boolean {
  return status === 'waiting' && waitingFor !== null && (JSON.parse(waitingFor) as { type?: string }).type === 'code';
}

/** Parks a run without a time: it is due again when its code is there (`CodeStore.wake`). */
export function toCodeWait(run: RunRow, { code, message }: CodeNotKeptError): Append {
  const { codeHash } = run;
  return park(run, { wakeAt: null, waitingFor: { type: 'code', code, codeHash, message, ...lastWaitOf(run) } });
}

/** Parks a run whose code did not load. Twice as long each time: thousands of them would keep a box busy for good. */
export function toCodeRetry(run: RunRow, error: unknown, now: number): Append {
  const { type, tries = 0 } = JSON.parse(run.waitingFor ?? '{}') as { type?: string; tries?: number };
  const failed = type === 'code' ? tries + 1 : 1;
  const wakeAt = now + Math.min(MOST_MS, RETRY_MS * 2 ** (failed - 1));
  // What passes by itself is of no interest to those outside.
  const code = failed < NOTED_TRIES ? {} : { code: 'code_unavailable' as const };
  const message = toText(error);
  return park(run, { wakeAt, waitingFor: { type: 'code', ...code, message, tries: failed, ...lastWaitOf(run) } });
}

/** What its code waits for, as it was last recorded; empty: nothing is. */
export function lastWaitOf({ waitingFor }: Pick<RunRow, 'waitingFor'>): { was?: LastWait } {
  const { type, step, was } = JSON.parse(waitingFor ?? '{}') as Partial<LastWait> & { was?: LastWait };
  if (type === 'code') return was === undefined ? {} : { was };
  return type === undefined || step === undefined ? {} : { was: { type, step } };
}

// --- internal ---

/** How long it waits before the next try, at first and at most, in milliseconds. */
const RETRY_MS = 5_000;
const MOST_MS = 60_000;

/** After so many, some 15 seconds, a run has a `code`, which those are notified of who want to be. */
const NOTED_TRIES = 3;

interface CodeWait {
  /** First in the text, with the `code` behind it: statements and triggers look for them there. */
  type: 'code';
  message: string;
  code?: CodeNotKeptError['code'] | 'code_unavailable';
  codeHash?: string | null;
  tries?: number;
  was?: LastWait;
}

interface LastWait {
  type: string;
  step: string;
}

function park(
  { runId, epoch, seq }: RunRow,
  { wakeAt, waitingFor }: { wakeAt: number | null; waitingFor: CodeWait },
): Append {
  const patch = { status: 'waiting' as const, wakeAt, waitingFor: JSON.stringify(waitingFor), release: true };
  return { runId, epoch, seq, records: [], patch, durability: 'process' };
}
