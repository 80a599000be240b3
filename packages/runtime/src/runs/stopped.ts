import type { RunRow } from '../engine/journal/run.ts';
import type { Observer } from '../engine/observer.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { createRarely } from './rarely.ts';
import { placeOf, toRunError } from './run-error.ts';

/** A run that has failed or is blocked, for a person who watches. */
export interface StoppedRun {
  runId: string;
  kind: RunRow['kind'];
  name: string;
  status: 'failed' | 'blocked';
  /** As `error.code` of a run, or `code_changed` and `nondeterministic_workflow`. */
  code: string;
  /** Without secrets. */
  message: string;
  /** Where in the project it was thrown, as `file:line`. Undefined: not in the project, or the message says it. */
  place: string | undefined;
}

/** What a run that was blocked or failed says of itself. Undefined: it is neither. */
export function toStoppedRun(
  run: Pick<RunRow, 'runId' | 'kind' | 'name' | 'status' | 'error' | 'waitingFor'>,
  mask: Mask,
): StoppedRun | undefined {
  const { runId, kind, name, status } = run;
  if (status === 'failed') return { runId, kind, name, status, ...readError(run.error, mask) };
  return status === 'blocked' ? toBlockedRun(run, mask) : undefined;
}

/** Notifies of runs that stop, other than failures below another run: that one says what it makes of them. */
export function createStopObserver(notify: (run: StoppedRun) => void, mask: Mask): Observer {
  return {
    created() {},
    started() {},
    appended() {},
    blocked: (run) => notify(toBlockedRun(run, mask)),
    ended(run) {
      const stopped = run.status === 'failed' && run.parentRunId === null ? toStoppedRun(run, mask) : undefined;
      if (stopped) notify(stopped);
    },
  };
}

export interface StopLog {
  notify(run: StoppedRun): void;
  /** Logs how many were left out. */
  close(): void;
}

/** Logs runs that stop. Of many of one name that stop together one is logged in ten seconds, and then how many there were. */
export function createStopLog(log: Log, quietMs = QUIET_MS): StopLog {
  const rarely = createRarely<StoppedRun>({
    quietMs,
    say({ runId, name, kind, status, code, message, place }) {
      const [first = ''] = message.split('\n');
      const what = status === 'failed' ? 'has failed' : 'is blocked';
      log.error(`The run of "${name}" ${what}: ${first}`, {
        event: `run.${status}`,
        runId,
        name,
        kind,
        code,
        ...(place === undefined ? {} : { place }),
        next: adviceFor({ runId, status }),
      });
    },
    sayLeftOut: (name, count) =>
      log.error(`${count} more ${count === 1 ? 'run' : 'runs'} of "${name}" failed or were blocked.`, {
        event: 'runs.stopped',
        name,
        count,
        next: `svc runs list --name ${name}`,
      }),
  });
  return { notify: rarely.add, close: rarely.close };
}

// --- internal ---

const UNSAID = 'It does not say why.';
const QUIET_MS = 10_000;

function adviceFor({ runId, status }: Pick<StoppedRun, 'runId' | 'status'>): string {
  const goOn = status === 'failed' ? `svc runs retry ${runId}` : `svc runs resume ${runId}`;
  return `svc why ${runId}; then ${goOn}`;
}

function toBlockedRun(run: Pick<RunRow, 'runId' | 'kind' | 'name' | 'waitingFor'>, mask: Mask): StoppedRun {
  const { runId, kind, name, waitingFor } = run;
  const { code = 'code_changed', message = UNSAID } = JSON.parse(waitingFor ?? '{}') as Partial<StoppedRun>;
  return { runId, kind, name, status: 'blocked', code, message: mask.text(message), place: undefined };
}

function readError(error: RunRow['error'], mask: Mask): Pick<StoppedRun, 'code' | 'message' | 'place'> {
  try {
    const known = toRunError(error);
    const message = mask.text(known?.message ?? UNSAID);
    return { code: known?.code ?? 'run_failed', message, place: known ? placeOf(known) : undefined };
  } catch {
    // The record of the run has it as it is.
    return { code: 'run_failed', message: 'Its error cannot be read.', place: undefined };
  }
}
