import type { Call } from '../call.ts';
import type { StoreClock } from '../clock.ts';
import { newRecordId } from '../ids.ts';
import type { Append, RunPatch } from '../journal/appends.ts';
import type { JournalRecord, RecordEvent } from '../journal/record.ts';
import type { Durability, RunRow, Spent } from '../journal/run.ts';
import { addTokens, tokensOf } from './outcome.ts';

export interface RecordFields {
  event: RecordEvent;
  startedAt: number;
  output?: string | null;
  error?: string | null;
  tokens?: Spent | null;
}

/** The parts of a call a record names. */
export type RecordedCall = Pick<Call, 'call' | 'stepId' | 'digest' | 'attempt'> & Pick<JournalRecord, 'kind' | 'input'>;

/** The writing half of a run: gives records their positions, and makes appends of those that have none on disk. */
export interface Recorder {
  /** Records made so far, appended or not. */
  readonly count: number;
  /** Whether there are records an append has not taken yet. */
  readonly isBehind: boolean;
  record(call: RecordedCall, fields: RecordFields): JournalRecord;
  /** The tokens of the run so far. */
  readonly totals: RunTokens;
  /** An append of what is new, with the patch. To be sent after the one before has landed. */
  take(patch: RunPatch, extras: AppendExtras): Append;
  /** The entry will not be in the journal, and nothing that came after it. */
  forget(entry: Append): void;
}

export interface RecorderOptions {
  run: RunRow;
  durability: Durability;
  clock: StoreClock;
}

type RunTokens = ReturnType<typeof tokensOf>;

/** What goes with the records and the patch in one append. */
export type AppendExtras = Pick<Append, 'hooks' | 'signals' | 'nextRunId' | 'continueAs'>;

export const NO_EXTRAS: AppendExtras = {};

export function createRecorder({ run, durability, clock }: RecorderOptions): Recorder {
  let nextSeq = run.seq;
  let tokens = tokensOf(run);
  let fresh: JournalRecord[] = [];
  /** The totals have changed since the last append. */
  let spent = false;

  return {
    get count() {
      return nextSeq;
    },
    get isBehind() {
      return fresh.length > 0;
    },
    get totals() {
      return tokens;
    },
    record(call, { event, startedAt, output = null, error = null, tokens: used = null }) {
      const record: JournalRecord = {
        seq: nextSeq++,
        call: call.call,
        kind: call.kind,
        event,
        stepId: call.stepId,
        digest: call.digest,
        recordId: newRecordId(),
        attempt: Math.max(1, call.attempt),
        // Of the first record of a call; those of further attempts would only repeat it.
        input: event === 'retry' && call.attempt > 1 ? null : call.input,
        output,
        error,
        tokens: used,
        startedAt,
        at: clock.now(),
      };
      if (used) {
        const { cost: _cost, ...sum } = addTokens(tokens, used);
        tokens = sum;
        spent = true;
      }
      fresh.push(record);
      return record;
    },
    take(patch, extras) {
      const records = fresh;
      fresh = [];
      const entry: Append = {
        runId: run.runId,
        epoch: run.epoch,
        seq: nextSeq - records.length,
        records,
        patch: spent ? { ...patch, ...tokens } : patch,
        durability,
      };
      spent = false;
      // Nearly always there is nothing, and a spread of nothing still takes its time.
      return extras === NO_EXTRAS ? entry : { ...entry, ...extras };
    },
    forget({ seq }) {
      nextSeq = seq;
      fresh = [];
    },
  };
}
