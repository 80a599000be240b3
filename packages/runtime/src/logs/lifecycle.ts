import { ASKED_BY, askedByOf } from '../engine/box-marks.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow, RunStatus } from '../engine/journal/run.ts';
import { startedByOf } from '../engine/started-by.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import type { Observer } from '../engine/observer.ts';
import type { Log, LogLevel, LogRecord } from '../log.ts';
import type { Mask } from '../mask.ts';
import { redact } from '../redact.ts';
import { toRunError } from '../runs/run-error.ts';
import { CLIENT, USER } from './entry.ts';

/** Names of what happens to a run, in `fields.event` of its records. */
export const RUN_ENDS = ['run.completed', 'run.failed', 'run.cancelled'] as const;

/** The event of a request that was answered, of which no record is kept. */
export const REQUEST_EVENT = 'request.answered';

/** Whether `event` is of what the box says to who reads along, besides these records, or in place of none. */
export function isSaidAlong(event: unknown): boolean {
  return SAID_ALONG.has(event);
}

/** Logs what happens to runs: that they begin, are blocked and end, and which attempts of steps fail. A step that succeeds costs a look. */
export function createRunLog(write: (record: LogRecord) => void, mask: Mask): Observer {
  const writeLine = ({ run, at, level, message, ...rest }: Line): void => {
    const record = { time: new Date(at).toISOString(), level, message, ...factsOf(run), ...rest };
    write(redact(record, mask) as LogRecord);
  };
  return {
    created() {},
    started(run) {
      const { kind, trigger, parentRunId, createdAt, startedAt } = run;
      const event = 'run.started';
      writeLine({
        run,
        at: startedAt ?? createdAt,
        level: 'info',
        message: 'The run has started.',
        event,
        kind,
        trigger,
        parentRunId,
      });
    },
    appended(run, records) {
      for (const record of records)
        if (record.event === 'retry' || record.event === 'failed') writeLine(toFailure(run, record));
    },
    blocked(run) {
      const { message = '', code } = JSON.parse(run.waitingFor ?? '{}') as { message?: string; code?: string };
      const line = { level: 'error' as const, message: 'The run is blocked.', event: 'run.blocked' };
      writeLine({ run, at: Date.now(), ...line, code, reason: message });
    },
    ended(run) {
      const { status, startedAt, createdAt, endedAt } = run;
      const end = ENDS[status];
      if (!end) return;
      const at = endedAt ?? createdAt;
      const durationMs = at - (startedAt ?? createdAt);
      writeLine({ run, at, ...end, event: `run.${status}`, durationMs, ...errorOf(run.error) });
    },
  };
}

/** What records say of their run, and who alone may see them, if it is not for everyone. */
export function factsOf(run: RunRow): Record<string, string> {
  const { runId, sessionId, name } = run;
  const askedBy = askedByOf(run);
  const { client, user } = startedByOf(run) ?? {};
  return {
    runId,
    name,
    ...(sessionId === null ? {} : { sessionId }),
    ...(askedBy === undefined ? {} : { [ASKED_BY]: askedBy }),
    ...(client ? { [CLIENT]: client } : {}),
    ...(user ? { [USER]: user.id } : {}),
  };
}

/** The same for who reads along, at `debug`: of the runs that stop the box says some at `error`, besides. */
export function createDebugRunLog(log: Pick<Log, 'debug'>, mask: Mask): Observer {
  return createRunLog(({ time: _time, level: _level, message, ...facts }) => log.debug(message, facts), mask);
}

// --- internal ---

const SAID_ALONG: ReadonlySet<unknown> = new Set([
  'run.failed',
  'run.blocked',
  'run.started',
  'run.completed',
  'run.cancelled',
  'step.retrying',
  'step.failed',
  REQUEST_EVENT,
]);

interface Line extends Record<string, unknown> {
  run: RunRow;
  at: number;
  level: LogLevel;
  message: string;
}

const ENDS: Partial<Record<RunStatus, { level: LogLevel; message: string }>> = {
  completed: { level: 'info', message: 'The run has completed.' },
  failed: { level: 'error', message: 'The run has failed.' },
  cancelled: { level: 'info', message: 'The run was cancelled.' },
};

function toFailure(run: RunRow, record: JournalRecord): Line {
  const { event, attempt, at, error, call } = record;
  const again = event === 'retry';
  const message = again ? 'The step failed and will be tried again.' : 'The step failed.';
  const facts = {
    event: again ? 'step.retrying' : 'step.failed',
    step: nameOfStep(record),
    stepId: String(call),
    attempt,
  };
  return { run, at, level: 'warn', message, ...facts, ...errorOf(error) };
}

function errorOf(text: string | null): { error?: unknown } {
  if (text === null) return {};
  try {
    return { error: toRunError(text) };
  } catch {
    return { error: 'The error could not be read.' };
  }
}
