import type { RunRow, RunStatus } from './run.ts';

/** The state of a run, in few bytes: for those who wait for it to change. */
export interface RunStanding {
  /** The id it was asked for by: of the run, or of the queued start it has come from. */
  id: string;
  /** Null: the start still waits in its queue. */
  runId: string | null;
  status: RunStatus;
  /** Another text after each append, signal, frame or claim. */
  version: string;
}

/** What those who wait are notified by. Each costs one statement, however many wait. */
export interface RunWatch {
  /** Of each of them that exists, in any order. Ids are of runs or of queued starts. */
  listStandings(ids: readonly string[]): Promise<RunStanding[]>;
  /** The runs that ended then or later by the store's clock, newest first. */
  listEndedSince(time: number, limit: number): Promise<string[]>;
  /** Of each of them that exists, in any order. */
  getRuns(runIds: readonly string[]): Promise<RunRow[]>;
}
