import type { RunRow } from '../engine/journal/run.ts';
import type { Observer } from '../engine/observer.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { createRarely } from './rarely.ts';
import { placeOf, toRunError } from './run-error.ts';

/** A run that has failed, is blocked, or waits for code that is nowhere, for a person who watches. */
export interface StoppedRun {
  runId: string;
  kind: RunRow['kind'];
  name: string;
  status: 'failed' | 'blocked' | 'waiting';
  /** As `error.code` of a run, or `code_changed`, `nondeterministic_workflow` and `code_not_kept`. */
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
  return status === 'blocked' ? toHeldUpRun(run, status, mask) : undefined;
}

/** What a run says of itself that waits for code it cannot have. Undefined: it does not, or has been tried twice at most. */
export function toCodeStop(
  run: Pick<RunRow, 'runId' | 'kind' | 'name' | 'status' | 'waitingFor'>,
  mask: Mask,
): StoppedRun | undefined {
  return run.status === 'waiting' && codeOfWait(run) !== undefined ? toHeldUpRun(run, 'waiting', mask) : undefined;
}

/** Notifies of runs that stop, other than failures below another run: that one says what it makes of them. */
export function createStopObserver(notify: (run: StoppedRun) => void, mask: Mask): Observer {
  return {
    created() {},
    started() {},
    appended() {},
    blocked: (run) => notify(toHeldUpRun(run, 'blocked', mask)),
    waiting(run) {
      if (codeOfWait(run) === 'code_not_kept') notify(toHeldUpRun(run, 'waiting', mask));
    },
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
  const say = ({ runId, name, kind, status, code, message, place }: StoppedRun): void => {
    const [first = ''] = message.split('\n');
    const isWaiting = status === 'waiting';
    log[isWaiting ? 'warn' : 'error'](`The run of "${name}" ${STATES[status]}: ${first}`, {
      event: isWaiting ? 'run.waits_for_code' : `run.${status}`,
      runId,
      name,
      kind,
      code,
      ...(place === undefined ? {} : { place }),
      next: adviceFor({ runId, status }),
    });
  };
  const waits = createRarely<StoppedRun>({
    quietMs,
    say,
    sayLeftOut: (name, count) =>
      log.warn(`${count} more ${count === 1 ? 'run' : 'runs'} of "${name}" wait for their code.`, {
        event: 'runs.wait_for_code',
        name,
        count,
        next: 'svc upgrade --check',
      }),
  });
  const stops = createRarely<StoppedRun>({
    quietMs,
    say,
    sayLeftOut: (name, count) =>
      log.error(`${count} more ${count === 1 ? 'run' : 'runs'} of "${name}" failed or were blocked.`, {
        event: 'runs.stopped',
        name,
        count,
        next: `svc runs list --name ${name}`,
      }),
  });
  return {
    notify: (run) => (run.status === 'waiting' ? waits : stops).add(run),
    close() {
      waits.close();
      stops.close();
    },
  };
}

// --- internal ---

const UNSAID = 'It does not say why.';
const QUIET_MS = 10_000;

const STATES = { failed: 'has failed', blocked: 'is blocked', waiting: 'waits for its code' } as const;

function adviceFor({ runId, status }: Pick<StoppedRun, 'runId' | 'status'>): string {
  const goOn = {
    failed: `svc runs retry ${runId}`,
    blocked: `svc runs resume ${runId}`,
    waiting: 'svc upgrade --check',
  };
  return `svc why ${runId}; then ${goOn[status]}`;
}

/** The kind of wait stands first in the text. Most waits are none of this kind, and are not parsed. */
function codeOfWait({ waitingFor }: Pick<RunRow, 'waitingFor'>): string | undefined {
  if (!waitingFor?.startsWith('{"type":"code"')) return undefined;
  return (JSON.parse(waitingFor) as { code?: string }).code;
}

function toHeldUpRun(
  run: Pick<RunRow, 'runId' | 'kind' | 'name' | 'waitingFor'>,
  status: 'blocked' | 'waiting',
  mask: Mask,
): StoppedRun {
  const { runId, kind, name, waitingFor } = run;
  const { code = 'code_changed', message = UNSAID } = JSON.parse(waitingFor ?? '{}') as Partial<StoppedRun>;
  return { runId, kind, name, status, code, message: mask.text(message), place: undefined };
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
