import type { RunRow } from '../../engine/journal/run.ts';
import { waitsForCode } from '../../engine/worker/code-waits.ts';
import { BoxError, ERROR_STATUS } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import type { TurnEvent } from './turn-events.ts';

export function agentNotFound(name: string, names: readonly string[]): BoxError {
  const real = names.map((known) => `"${known}"`).join(', ') || 'none';
  return new BoxError('agent_not_found', `There is no agent "${name}". This box has ${real}.`);
}

/** Ends a stateless turn that has no reader any more. */
export function clientGone(): Error {
  return Object.assign(new Error('The client of this stateless turn went away.'), { code: 'client_gone' });
}

/** Whether a run was cancelled because it was asked for, or because its client or its parent is gone. */
export function isWithdrawn(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'run_cancelled' || code === 'client_gone' || code === 'parent_cancelled';
}

/** The last event of a turn for its readers when the process ends. */
export const SHUTTING_DOWN: TurnEvent = {
  type: 'error',
  status: 503,
  code: 'shutting_down',
  message: 'The box shut down before this turn was finished. Ask again.',
  retryable: true,
};

/** The last event for a reader that is too far behind; its turn goes on without it. */
export const TOO_SLOW: TurnEvent = {
  type: 'error',
  status: 408,
  code: 'client_too_slow',
  message:
    'The answer is cut off: it was read too slowly. The turn goes on, and its output is kept. Read faster, or without a stream.',
  retryable: false,
};

/** The turn is stuck until an operator does something about its code: it is blocked, or its code is not there. */
export function isTurnBlocked(run: Pick<RunRow, 'status' | 'waitingFor' | 'wakeAt'>): boolean {
  return run.status === 'blocked' || (run.wakeAt === null && waitsForCode(run));
}

/** The turn is blocked: its agent does something else now than the journal says, or its code is not there. */
export function turnBlocked({ runId, status }: Pick<RunRow, 'runId' | 'status'>): BoxError {
  if (status === 'waiting')
    return new BoxError(
      'turn_blocked',
      'The last turn of this session waits for the code it began with, which is not there. ' +
        `\`svc why ${runId}\` says what to do. Or cancel it with POST /api/runs/:id/cancel; then go on.`,
      { details: { runId } },
    );
  return new BoxError(
    'turn_blocked',
    'The last turn of this session is blocked: its agent has changed since it began, and does something else now. ' +
      `\`svc why ${runId}\` says what. Cancel it with POST /api/runs/:id/cancel, or bring back what has changed and ` +
      'send POST /api/runs/:id/resume; then go on.',
    { details: { runId } },
  );
}

/** Refuses a turn on a session whose last one has not ended: a person is asked in it, it is blocked, or it goes on. */
export function turnOpen(holder: RunRow, isAsking: boolean): BoxError {
  const { runId } = holder;
  if (isTurnBlocked(holder)) return turnBlocked(holder);
  if (isAsking)
    return new BoxError(
      'approval_pending',
      'A tool call of this session waits for a person. Decide it with POST /api/approvals/:id/decide, then go on.',
      { details: { runId } },
    );
  return new BoxError('turn_in_progress', 'A turn of this session has not ended. Wait for its answer, then go on.', {
    details: { runId },
  });
}

/** Refuses to delete a session whose last turn has not ended. */
export function turnNotEnded({ runId, status }: RunRow): BoxError {
  return new BoxError(
    'turn_in_progress',
    `A turn of this session is ${status}. Wait for its end, or cancel its run "${runId}"; then delete the session.`,
    { details: { runId, status } },
  );
}

/** Refuses a request that goes on with a turn and leaves calls undecided that it waits for. */
export function callsUndecided(approvalIds: readonly string[]): BoxError {
  return new BoxError(
    'approval_pending',
    `A tool call of this thread waits for a person, and "resume" does not answer it: ${approvalIds.join(', ')}.`,
    { details: { interruptIds: approvalIds } },
  );
}

/** An answer of the model that cannot be recorded. Asked for again it would be no shorter. */
export function answerTooLarge(bytes: number, limit: number, cause?: unknown): BoxError {
  return new BoxError(
    'result_too_large',
    `The model's answer takes ${bytes} bytes, and at most ${limit} are kept of one. ` +
      'Ask for less at once, in several turns, or limit it with "max_tokens".',
    { cause },
  );
}

/** What ended a turn in the words of turns. The engine knows results; what is too large of a turn is what the model answered. */
export function toTurnError(thrown: unknown): unknown {
  const { name, code, bytes, limit } = (thrown ?? {}) as Record<string, unknown>;
  if (code !== 'result_too_large' || name === 'BoxError') return thrown;
  return answerTooLarge(Number(bytes), Number(limit), thrown);
}

/** Distinguished by name: an error that went through the journal is a plain Error with the name, code and status it had. */
export function toErrorEvent(thrown: unknown): TurnEvent {
  const error = toTurnError(thrown) as {
    name?: unknown;
    status?: number;
    code?: string;
    message?: string;
    cause?: unknown;
  };
  const { status = 502, code = 'model_provider_failed', message = '' } = error;
  if (error.name === 'ProviderError') {
    const { retryAfter } = (error.cause ?? {}) as { retryAfter?: number };
    const retryable = status === 429 || status >= 500;
    return { type: 'error', status, code, message, retryable, ...(retryAfter === undefined ? {} : { retryAfter }) };
  }
  if (error.name === 'BoxError') {
    const known = toBoxError(error);
    return { type: 'error', status: known.status, code: known.code, message, retryable: false };
  }
  return { type: 'error', status: 500, code: 'internal', message: 'The turn failed inside the box.', retryable: false };
}

// --- internal ---

/** A BoxError that went through the journal, as it was. */
function toBoxError(error: { code?: string; message?: string }): BoxError {
  const code = error.code !== undefined && error.code in ERROR_STATUS ? (error.code as ErrorCode) : 'internal';
  return new BoxError(code, error.message ?? '');
}
