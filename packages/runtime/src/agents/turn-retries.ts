import { toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { askedByOf } from '../engine/box-marks.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { toSessionLock } from '../engine/journal/locks.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import type { AgentFinder } from './find-agent.ts';
import type { OpenTurns } from './threads/open-turns.ts';
import type { TurnInput } from './turn/input.ts';

export interface TurnRetry {
  run: RunRow;
  /** `failed-step` keeps what the turn has recorded: what the model said and tools answered before it failed. */
  from: 'failed-step' | 'start';
  idempotencyKey?: string | undefined;
  /** Who asks for it. Absent: the box. */
  caller?: Caller | undefined;
}

/**
 * Begins a turn that failed or was cancelled once more, as a run of its own: it has no reader, and its answer is in its
 * session, or in its run. Throws `run_not_retryable` for one that has answered, or whose session has gone on since.
 */
export type RetryTurn = (retry: TurnRetry) => Promise<RunRow>;

export interface TurnRetriesOptions {
  engine: Pick<Engine, 'retry'>;
  journal: Pick<Journal, 'listRuns'>;
  finder: Pick<AgentFinder, 'get'>;
  open: Pick<OpenTurns, 'toTurnOpen'>;
}

export function createTurnRetries({ engine, journal, finder, open }: TurnRetriesOptions): RetryTurn {
  /** Later turns were asked without this one: their order in the session would not be that of their making. */
  const requireLast = async ({ runId, sessionId, parentRunId }: RunRow): Promise<void> => {
    if (sessionId === null) return;
    const turns = await journal.listRuns({ sessionId, kind: 'agent' }, { limit: TURNS });
    const last = turns.find((turn) => (turn.parentRunId === null) === (parentRunId === null));
    if (last && last.runId !== runId)
      throw notRetryable(`Its session has gone on since, with the turn ${last.runId}: ask again there.`);
  };

  return async ({ run, from, idempotencyKey, caller }) => {
    finder.get(run.name);
    if (run.status === 'completed')
      throw notRetryable('It has completed and its client was answered, who asks again by sending its messages again.');
    if (askedByOf(run) !== undefined) throw notRetryable('It belongs to one person, who asks again.');
    const input = decode(run.input) as TurnInput;
    if (input.session) await requireLast(run);
    const result = await engine.retry(run, from, {
      // It goes on without a client that reads it.
      input: { ...input, isKeyed: true } satisfies TurnInput,
      ...(input.session ? { serial: toSessionLock(String(run.sessionId)) } : {}),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(caller ? { retriedBy: toStartedBy(caller) } : {}),
    });
    if (result.outcome === 'refused') throw await open.toTurnOpen(result.holder);
    if (result.outcome === 'created' || result.outcome === 'repeated') return result.run;
    throw idempotencyConflict(idempotencyKey);
  };
}

// --- internal ---

/** A turn has its tasks as runs below it, in the same session. */
const TURNS = 200;

function notRetryable(reason: string): BoxError {
  return new BoxError('run_not_retryable', `The run is a turn of an agent. ${reason}`);
}
