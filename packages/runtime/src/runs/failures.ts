import type { Observer } from '../engine/observer.ts';
import type { Mask } from '../mask.ts';
import { placeOf, toRunError } from './run-error.ts';

/** A run that has failed, for a person who watches. */
export interface FailedRun {
  runId: string;
  name: string;
  /** Without secrets. */
  message: string;
  /** Where in the project it was thrown, as `file:line`. Undefined: not in the project. */
  place: string | undefined;
}

/** Tells of runs that fail, other than those below another run: that one says what it makes of them. */
export function createFailureObserver(tell: (run: FailedRun) => void, mask: Mask): Observer {
  return {
    created() {},
    started() {},
    appended() {},
    ended({ runId, name, status, parentRunId, error }) {
      if (status !== 'failed' || parentRunId !== null) return;
      try {
        const known = toRunError(error);
        const message = mask.text(known?.message ?? 'It does not say why.');
        tell({ runId, name, message, place: known ? placeOf(known) : undefined });
      } catch {
        // An error that cannot be read: the record of the run has it as it is.
        tell({ runId, name, message: 'Its error cannot be read.', place: undefined });
      }
    },
  };
}
