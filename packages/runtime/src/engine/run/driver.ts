import type { CallRequest } from '../call.ts';
import type { StoreClock } from '../clock.ts';
import type { StepContext } from '../context.ts';
import type { Ambient } from '../handle.ts';
import type { Append, AppendResult } from '../journal/appends.ts';
import type { NewChunk } from '../journal/chunks.ts';
import type { HookEvents, HookWait, ResumeOptions } from '../journal/hooks.ts';
import type { RunRow } from '../journal/run.ts';
import type { LargeValues } from '../large-values.ts';
import type { Limits } from '../limits.ts';
import type { Turns } from './turns.ts';

/**
 * What an execution stands on: its journal, its clock and its effects. A live run has one that writes and acts
 * (`worker/live-driver.ts`), a replay one that does neither (`replay.ts`).
 */
export interface Driver {
  readonly clock: StoreClock;
  readonly turns: Turns;
  readonly limits: Limits;
  readonly ambient: Ambient;
  /** How long the store may fail before an append is given up, in milliseconds. */
  readonly leaseMs: number;

  /** What of a run's values is in object storage. */
  readonly large: LargeValues;

  /** Safe to repeat: the journal knows a record by its id. */
  append(entry: Append): Promise<AppendResult>;
  /** The append has landed. `run`: undefined when it had left memory as the entry was sent. */
  publish(entry: Append, result: AppendResult, run: RunRow | undefined): void;
  /** Sets the start mark. False: the run is not ours any more. */
  mark(run: Pick<RunRow, 'runId' | 'epoch' | 'seq'>, steps: string[]): Promise<boolean>;
  writeChunks(runId: string, epoch: number, chunks: NewChunk[]): Promise<number | undefined>;
  /** Frames of a run that has been handed the stream. False: the run the stream is of has ended. */
  writeForeignChunks(runId: string, chunks: NewChunk[]): Promise<boolean>;
  listEvents(runId: string, waits: readonly HookWait[]): Promise<HookEvents>;
  resumeHook(token: string, payload: string, options: ResumeOptions): Promise<unknown>;
  findRun(runId: string): Promise<RunRow | undefined>;
  /** Those of these runs and queued starts that are over, by id; undefined: there is no such run (any more). */
  findEnded(ids: string[]): Promise<Map<string, RunRow | undefined>>;

  /** Tells the runs below of the end of theirs, as each was started to be. False: it has to wait for some. */
  closeChildren(runId: string): Promise<boolean>;
  /** Cancels what was started below a cancelled run too late for its cancel to reach it. */
  cancelChildren(run: Pick<RunRow, 'runId' | 'cancel'>): Promise<void>;

  /** The body makes a call; answers what is to be done once it has its answer. Absent: calls need no notice. */
  called?(call: number, request: Omit<CallRequest, 'action'>): () => void;
  /** Carries out one attempt of a step. */
  attempt(context: StepContext, run: () => unknown): unknown;
  /** Called once: the run has ended, is parked on disk, or is no longer ours. */
  left(run: RunRow, how: Leave, left: Left): void;
}

export type Leave = 'ended' | 'parked' | 'blocked' | 'dropped';

export interface Left {
  /** Why, where the run did not leave by itself. */
  reason?: unknown;
  /** The run as its own end left it; none when others ended it. */
  row?: RunRow;
  /** The run that got the lock this one held. */
  promoted?: RunRow;
}
