import type { RunRow } from '../journal/run.ts';

/** How many times a run may kill the process it is alone in, at one position. */
export const POISON_LIMIT = 5;

/** What a suspect was about to run, and where: the text of its start mark. */
export interface StartMark {
  seq: number;
  steps: string[];
}

/** The owner of the run died at the position where it is: the run may be what killed it. */
export function isSuspect(run: Pick<RunRow, 'crashSeq' | 'seq'>): boolean {
  return run.crashSeq === run.seq;
}

/** It was that already when its owner died: the next death may be its doing too, and is to cost no other run anything. */
export function isSuspectAgain(run: Pick<RunRow, 'crashSeq' | 'seq' | 'mark'>): boolean {
  return isSuspect(run) && readMark(run)?.seq === run.seq;
}

export function readMark({ mark }: Pick<RunRow, 'mark'>): StartMark | undefined {
  return mark === null ? undefined : (JSON.parse(mark) as StartMark);
}

/** What ends a run whose attempts kill their process. */
export function runPoisoned(run: Pick<RunRow, 'crashCount' | 'mark'>): Error {
  const { steps = [] } = readMark(run) ?? {};
  const names = steps.map((stepId) => `"${stepId}"`).join(' and ');
  const what =
    steps.length === 0 ? 'the body, before its next step' : `the step${steps.length > 1 ? 's' : ''} ${names}`;
  const message = `A process that had this run alone died ${run.crashCount} times while it ran ${what}. Correct the code, then retry the run.`;
  return Object.assign(new Error(message), { code: 'run_poisoned' });
}
