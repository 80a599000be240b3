import type { Call } from './call.ts';
import type { StoreClock } from './clock.ts';
import { newRecordId } from './ids.ts';
import type {
  Append,
  AppendResult,
  Durability,
  JournalRecord,
  RecordEvent,
  RunPatch,
  RunRow,
  Tokens,
} from './journal.ts';
import { addTokens, tokensOf } from './outcome.ts';

export interface RecordFields {
  event: RecordEvent;
  startedAt: number;
  output?: string | null;
  error?: string | null;
  tokens?: Tokens | null;
}

/** The parts of a call a record names. */
export type RecordedCall = Pick<Call, 'call' | 'kind' | 'stepId' | 'digest' | 'attempt' | 'input'>;

/** The writing half of a run: gives positions, and appends what has none on disk, one append at a time. */
export interface Recorder {
  /** Records made so far, appended or not. */
  readonly count: number;
  /** Whether there are records an append has not taken yet. */
  readonly isBehind: boolean;
  record(call: RecordedCall, fields: RecordFields): JournalRecord;
  /** Appends what is new, with the patch, after any append under way. */
  append(patch: RunPatch, extras?: AppendExtras): Promise<AppendResult>;
}

export interface RecorderOptions {
  run: RunRow;
  durability: Durability;
  clock: StoreClock;
  append(entry: Append): Promise<AppendResult>;
}

/** What goes with the records and the patch in one append. */
export type AppendExtras = Pick<Append, 'hooks' | 'signals' | 'nextRunId'>;

export function createRecorder({ run, durability, clock, append }: RecorderOptions): Recorder {
  let nextSeq = run.seq;
  let tokens = tokensOf(run);
  let fresh: JournalRecord[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    get count() {
      return nextSeq;
    },
    get isBehind() {
      return fresh.length > 0;
    },
    record(call, fields) {
      const record: JournalRecord = {
        seq: nextSeq++,
        call: call.call,
        kind: call.kind,
        stepId: call.stepId,
        digest: call.digest,
        recordId: newRecordId(),
        attempt: Math.max(1, call.attempt),
        input: fields.event === 'retry' ? null : call.input,
        output: null,
        error: null,
        tokens: null,
        at: clock.now(),
        ...fields,
      };
      if (record.tokens) tokens = addTokens(tokens, record.tokens);
      fresh.push(record);
      return record;
    },
    append(patch, extras = {}) {
      const records = fresh;
      fresh = [];
      const entry: Append = {
        runId: run.runId,
        epoch: run.epoch,
        seq: nextSeq - records.length,
        records,
        patch: records.some((record) => record.tokens) ? { ...patch, ...tokens } : patch,
        durability,
        ...extras,
      };
      const appended = last.then(() => append(entry));
      last = appended.catch(() => {});
      return appended;
    },
  };
}
