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

export interface RecorderOptions {
  run: RunRow;
  durability: Durability;
  clock: StoreClock;
}

type RunTokens = ReturnType<typeof tokensOf>;

/** What goes with the records and the patch in one append. */
export type AppendExtras = Pick<Append, 'hooks' | 'signals' | 'nextRunId' | 'continueAs'>;

export const NO_EXTRAS: AppendExtras = {};

/** The writing half of a run: gives records their positions, and makes appends of those that have none on disk. */
export class Recorder {
  readonly #options: RecorderOptions;
  #nextSeq: number;
  #totals: RunTokens;
  #fresh: JournalRecord[] = [];
  /** The totals have changed since the last append. */
  #isSpent = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#nextSeq = options.run.seq;
    this.#totals = tokensOf(options.run);
  }

  /** Records made so far, appended or not. */
  get count(): number {
    return this.#nextSeq;
  }

  /** Whether there are records an append has not taken yet. */
  get isBehind(): boolean {
    return this.#fresh.length > 0;
  }

  /** The tokens of the run so far. */
  get totals(): RunTokens {
    return this.#totals;
  }

  record(call: RecordedCall, fields: RecordFields): JournalRecord {
    const { event, startedAt, output = null, error = null, tokens = null } = fields;
    const record: JournalRecord = {
      seq: this.#nextSeq++,
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
      tokens,
      startedAt,
      at: this.#options.clock.now(),
    };
    if (tokens) {
      const { cost: _cost, ...sum } = addTokens(this.#totals, tokens);
      this.#totals = sum;
      this.#isSpent = true;
    }
    this.#fresh.push(record);
    return record;
  }

  /** An append of what is new, with the patch. To be sent after the one before has landed. */
  take(patch: RunPatch, extras: AppendExtras): Append {
    const { run, durability } = this.#options;
    const records = this.#fresh;
    this.#fresh = [];
    const entry: Append = {
      runId: run.runId,
      epoch: run.epoch,
      seq: this.#nextSeq - records.length,
      records,
      patch: this.#isSpent ? { ...patch, ...this.#totals } : patch,
      durability,
    };
    this.#isSpent = false;
    // Nearly always there is nothing, and a spread of nothing still takes its time.
    return extras === NO_EXTRAS ? entry : { ...entry, ...extras };
  }

  /** The entry will not be in the journal, and nothing that came after it. */
  forget({ seq }: Append): void {
    this.#nextSeq = seq;
    this.#fresh = [];
  }
}
