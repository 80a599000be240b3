import type { RunRow } from '../engine/journal/run.ts';
import type { Observer } from '../engine/observer.ts';
import type { Mask } from '../mask.ts';
import { placeOf, toRunError } from './run-error.ts';

/** A run that has failed or is blocked, for a person who watches. */
export interface StoppedRun {
  runId: string;
  name: string;
  status: 'failed' | 'blocked';
  /** Without secrets. */
  message: string;
  /** Where in the project it was thrown, as `file:line`. Undefined: not in the project, or the message says it. */
  place: string | undefined;
}

/** Notifies of runs that stop, other than failures below another run: that one says what it makes of them. */
export function createStopObserver(notify: (run: StoppedRun) => void, mask: Mask): Observer {
  return {
    created() {},
    started() {},
    appended() {},
    blocked({ runId, name, waitingFor }) {
      const { message } = JSON.parse(waitingFor ?? '{}') as { message?: string };
      notify({ runId, name, status: 'blocked', message: mask.text(message ?? UNSAID), place: undefined });
    },
    ended({ runId, name, status, parentRunId, error }) {
      if (status === 'failed' && parentRunId === null) notify({ runId, name, status, ...readError(error, mask) });
    },
  };
}

// --- internal ---

const UNSAID = 'It does not say why.';

function readError(error: RunRow['error'], mask: Mask): Pick<StoppedRun, 'message' | 'place'> {
  try {
    const known = toRunError(error);
    return { message: mask.text(known?.message ?? UNSAID), place: known ? placeOf(known) : undefined };
  } catch {
    // The record of the run has it as it is.
    return { message: 'Its error cannot be read.', place: undefined };
  }
}
