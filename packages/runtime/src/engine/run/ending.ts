import type { Body } from '../body.ts';
import type { Ambient } from '../handle.ts';
import { newRunId } from '../ids.ts';
import type { AppendResult, RunPatch } from '../journal/appends.ts';
import { isWaitedFor } from '../journal/locks.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { Mismatch } from '../mismatch.ts';
import type { Left } from './driver.ts';
import { NO_EXTRAS } from './recorder.ts';
import type { AppendExtras, Recorder } from './recorder.ts';

/** What a patch that ends the run does to its row, and what follows from it. */
export function toLeft(
  run: RunRow,
  patch: RunPatch,
  { count: seq, totals }: Pick<Recorder, 'count' | 'totals'>,
  { at, promoted }: Extract<AppendResult, { outcome: 'appended' }>,
): Left {
  const row: RunRow = { ...run, ...patch, ...totals, owner: null, leaseUntil: null, seq, endedAt: at };
  if (promoted?.continuedFrom === run.runId) {
    row.continuedTo = promoted.runId;
    row.chainId = promoted.chainId;
  }
  return { row, ...(promoted ? { promoted } : {}) };
}

/** What an end passes on the lock of its run to. */
export function nextOfLock({ serialKey }: RunRow): AppendExtras {
  return isWaitedFor(serialKey) ? { nextRunId: newRunId() } : NO_EXTRAS;
}

/** Names the steps that failed while nothing awaited them. */
export function warnUnheard(run: RunRow, steps: string[], { log }: Pick<Ambient, 'log'>): void {
  for (const step of steps) log({ level: 'warn', message: `"${step}" failed, and nothing awaited it.`, run, step });
}

export function isEnd({ status }: RunPatch): boolean {
  return status !== undefined && isFinal(status);
}

/** What parks a run as blocked: its code and its history differ. */
export function toBlocked(run: RunRow, body: Body, mismatch: Mismatch): RunPatch {
  // One that was given other code has recorded by what it had before.
  const isSame = run.codeHash === body.codeHash && run.movedAt === null;
  const code = isSame ? 'nondeterministic_workflow' : 'code_changed';
  const waitingFor = JSON.stringify({ type: 'decision', code, ...mismatch });
  return { status: 'blocked', waitingFor, wakeAt: null, release: true };
}
