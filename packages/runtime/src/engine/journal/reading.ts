import type { JournalRecord } from './record.ts';
import type { RunKind, RunRow, RunStatus, RunTrigger, Spent, Tokens } from './run.ts';

export interface RunFilter {
  name?: string;
  kind?: RunKind;
  status?: RunStatus;
  trigger?: RunTrigger;
  sessionId?: string;
  parentRunId?: string;
  /** Retries of it. */
  retryOf?: string;
  /** Forks of it, and those that go on in its place. */
  forkedFrom?: string;
  /** A mark the author put on the run. The text of a number or a boolean finds it too. */
  attribute?: { name: string; value: string };
  /** The application, and the end user, on whose behalf they were started. */
  client?: string;
  user?: string;
  /** Leaves out runs that carry this mark, unless its value is this text. */
  hidden?: { mark: string; unless: string };
  /** Created then or later, and before then, by the store's clock. */
  from?: number;
  to?: number;
}

/** Values up to this size are whole in a list. */
export const LISTED_BYTES = 4_096;

/** A run in a list. What `cut` names is no value: it is the beginning of one as it is recorded, of so many `bytes`. */
export type BriefRun = RunRow & { cut: CutMember[]; bytes: Record<CutMember, number> };
export type CutMember = 'input' | 'output';

/** Runs of one status that were created within one stretch of time. */
export interface RunTally extends Tokens {
  /** Which stretch: the time of creation, divided by its length. */
  bucket: number;
  status: RunStatus;
  count: number;
  /** Of those that have ended: how many, and the sum and the greatest of their times from start to end. */
  timed: number;
  durationSum: number;
  durationMax: number;
}

/** What one run has used. */
export interface SpentByRun extends Pick<Spent, 'inputTokens' | 'outputTokens'> {
  runId: string;
  /** By the prices there were. Absent: none of its calls of models had one. */
  cost?: number;
}

/** What the rooms read; `/api/runs*` stands on it. */
export interface RunReader {
  getRun(runId: string): Promise<RunRow | undefined>;
  /** The last run of the chain that began with this one or that it is part of; most are a chain of their own. */
  getLastRun(runId: string): Promise<RunRow | undefined>;
  /** Records in `seq` order. */
  getRecords(runId: string): Promise<JournalRecord[]>;
  /** A part of them: up to `limit` from the position `from` on. */
  listRecords(runId: string, page: { from: number; limit: number }): Promise<JournalRecord[]>;
  /** The records of the next `limit` calls behind the call `after`, in `seq` order: those of a call are all there. */
  listCalls(runId: string, page: { after: number; limit: number }): Promise<JournalRecord[]>;
  /** What its calls of models have cost, where a price was known. Null: of none of them. */
  costOf(runId: string): Promise<number | null>;
  /** What each of at most some hundred runs has used: of those that are there, in no order. */
  spentOf(runIds: readonly string[]): Promise<SpentByRun[]>;
  /** Newest first (`runId` is time-ordered); `before` is the last run id of the page before. */
  listRuns(filter: RunFilter, page: { limit: number; before?: string }): Promise<RunRow[]>;
  /** The same, of large inputs and outputs the beginning of their text alone. */
  listBriefRuns(filter: RunFilter, page: { limit: number; before?: string }): Promise<BriefRun[]>;
  /** The matching runs, counted by status and by stretches of `bucketMs` in which they were created. */
  tallyRuns(filter: RunFilter, bucketMs: number): Promise<RunTally[]>;
}
