import type { EventBatches } from '../events/turn-events.ts';

/** A turn under way, as one reader has it. */
export interface RunningTurn {
  runId: string;
  /** Null: a stateless turn. */
  sessionId: string | null;
  startedAt: number;
  /** Ends with `finish` or `error`, once the run's end, or the approvals it waits for, are recorded. */
  events: EventBatches;
  /** The client went away: a stateless turn is cancelled. One on a session, or with a key, runs on. */
  leave(): void;
}
