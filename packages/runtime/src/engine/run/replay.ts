import type { Body } from '../body.ts';
import { firstOf, historyOf } from '../call.ts';
import type { CallHistory, CallRecord, CallRequest } from '../call.ts';
import type { StoreClock } from '../clock.ts';
import { runOutside } from '../context.ts';
import type { Ambient } from '../handle.ts';
import type { Append, AppendResult } from '../journal/appends.ts';
import type { JournalRecord, StepKind } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { createLargeValues } from '../large-values.ts';
import type { LargeValues } from '../large-values.ts';
import { LARGE_LIMITS } from '../limits.ts';
import type { Limits } from '../limits.ts';
import { findCaller, undelivered } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { real } from '../real.ts';
import type { Driver, Leave, Left } from './driver.ts';
import { isEdit } from './edited-step.ts';
import { Execution } from './execution.ts';
import { startPatience } from './patience.ts';
import { isKept } from './retried-run.ts';
import { createTurns } from './turns.ts';
import type { Turns } from './turns.ts';

/** One call of the body, as it is led through its history. */
export interface ReplayCall {
  call: number;
  kind: StepKind;
  stepId: string;
  /** The encoded arguments the code passes now. */
  input: string;
  /** The author's line that calls; null: not known. */
  at: string | null;
  /** What is recorded of it. Undefined: the history ends before it. */
  history: CallHistory | undefined;
}

/** How far a replay has come, and why it ended there. */
export type ReplayEnd =
  /** The body returned or threw; `output` and `error` as codec text. */
  | { how: 'ended'; status: 'completed' | 'failed'; output: string | null; error: string | null }
  /** The history ends: these calls of the code have no answer. */
  | { how: 'open'; calls: ReplayCall[] }
  /** The code asked for something else than the history holds. `thrown`: what its body threw instead. */
  | { how: 'differs'; code: string; difference: Mismatch; call: ReplayCall | undefined; thrown?: unknown }
  /** `until` said so. */
  | { how: 'stopped'; call: ReplayCall }
  /** All of the history has been given, and the body waits for something that is no call of it. */
  | { how: 'stuck' };

export interface ReplayOptions {
  run: RunRow;
  records: JournalRecord[];
  body: Body;
  ambient: Pick<Ambient, 'webhookUrl' | 'startUrl' | 'redact'>;
  /** The body has been given the answer of a call. */
  onAnswer?(call: ReplayCall): void;
  /** Waited for before the next answer is given. */
  beforeNext?(): Promise<void>;
  until?(call: ReplayCall): boolean;
  /** The replay gives up where it is. */
  signal?: AbortSignal;
  /** Where the history names values in object storage. Default: it has its values itself. */
  whole?: LargeValues['whole'];
  /** False: the lines that call are found where the code differs alone. Default true. */
  findsCallers?: boolean;
  /** Milliseconds in which nothing may happen before the replay gives up. Default 10,000. */
  patienceMs?: number;
}

/**
 * Leads the code of a run through what the run has recorded: the engine's own replay, on a journal that keeps nothing.
 * Nothing is executed and nothing is waited for. The guard has to be installed before the code is loaded.
 */
export function replay(options: ReplayOptions): Promise<ReplayEnd> {
  return new Promise((resolve, reject) => {
    let thrown: { error: unknown } | undefined;
    const body: Body = {
      ...options.body,
      run(input) {
        const ending = options.body.run(input);
        ending.catch((error: unknown) => (thrown = { error }));
        return ending;
      },
    };
    const giveUp = (): void => end({ how: 'stuck' });
    const end = (how: ReplayEnd): void => {
      clearInterval(watch);
      options.signal?.removeEventListener('abort', giveUp);
      driver.finish();
      execution.drop(new Error('The replay is over.'));
      resolve(how.how === 'differs' && thrown ? { ...how, thrown: thrown.error } : how);
    };
    const fail = (error: unknown): void => {
      clearInterval(watch);
      options.signal?.removeEventListener('abort', giveUp);
      reject(error as Error);
    };
    const driver = new ReplayDriver(options, { end, fail });
    const execution = new Execution({ run: options.run, records: options.records, body, driver });
    const patience = options.patienceMs ?? PATIENCE_MS;
    const watch = setInterval(() => {
      if (real.performanceNow() - driver.movedAt > patience) giveUp();
    }, WATCH_MS);
    options.signal?.addEventListener('abort', giveUp);
    execution.launch();
  });
}

// --- internal ---

const PATIENCE_MS = 10_000;
const WATCH_MS = 50;
const NEVER = new Promise<never>(() => {});

interface Outcome {
  end(how: ReplayEnd): void;
  fail(error: unknown): void;
}

/** A driver that begins no step and writes nowhere, and follows the calls of the body through their history. */
class ReplayDriver implements Driver {
  readonly clock: StoreClock;
  readonly turns: Turns;
  readonly limits: Limits;
  readonly ambient: Ambient;
  readonly leaseMs = 0;
  readonly large: LargeValues;
  movedAt = real.performanceNow();
  readonly #options: ReplayOptions;
  readonly #outcome: Outcome;
  readonly #history: Map<number, CallHistory>;
  readonly #open = new Map<number, ReplayCall>();
  readonly #endedAt: number;
  #isOver = false;
  /** How many calls the body has made. */
  #made = 0;
  #last: ReplayCall | undefined;

  constructor(options: ReplayOptions, outcome: Outcome) {
    const { run, records } = options;
    const now = Math.max(run.createdAt, ...records.map(({ at }) => at));
    this.#endedAt = now;
    // Every wait ends the replay. What the box would refuse is refused in the history. A call that is missing is named before
    // the replay gives up.
    const patience = (options.patienceMs ?? PATIENCE_MS) / 2;
    this.limits = { ...LARGE_LIMITS, parkAfter: 0, patience };
    this.#options = options;
    this.#outcome = outcome;
    this.#history = historyOf(records);
    this.clock = { now: () => now, sync: async () => {} };
    this.turns = toTurns(options.beforeNext);
    this.ambient = toAmbient(options.ambient);
    const none = createLargeValues(undefined);
    // Nothing is put there.
    this.large = options.whole ? { ...none, keepEntry: () => undefined, whole: options.whole } : none;
  }

  /** Takes no more notice of the body. */
  finish(): void {
    this.#isOver = true;
  }

  called(call: number, { kind, stepId, input }: Omit<CallRequest, 'action'>): () => void {
    const at = this.#options.findsCallers === false ? null : findCaller(stepId);
    const noted = { call, kind, stepId, input, at, history: this.#history.get(call) };
    this.#open.set(call, noted);
    this.#last = noted;
    this.#made = call + 1;
    this.movedAt = real.performanceNow();
    return () => this.#answered(noted);
  }

  append(entry: Append): Promise<AppendResult> {
    this.#look(entry);
    return new Promise((resolve) =>
      runOutside(() => real.setImmediate(() => resolve({ outcome: 'appended', at: this.#endedAt }))),
    );
  }

  /** A step would begin: whatever else the code asks for at this moment, it asks for before the next turn. */
  attempt(): Promise<never> {
    runOutside(() => real.setImmediate(() => real.setImmediate(() => this.#endAtStep())));
    return NEVER;
  }

  left(_: RunRow, how: Leave, { reason }: Left): void {
    if (how === 'parked') this.#endOpen();
    else if (how === 'dropped' && !this.#isOver) runOutside(() => this.#outcome.fail(reason));
  }

  // Nothing is kept, and nothing has happened since the history ended.
  publish(): void {}
  mark = async (): Promise<boolean> => true;
  writeChunks = async (): Promise<number> => 0;
  writeForeignChunks = async (): Promise<boolean> => true;
  listEvents = async () => ({ signals: 0, events: [], more: [], missing: [] });
  resumeHook = async (): Promise<void> => {};
  findRun = async (): Promise<RunRow> => ({ status: 'running' }) as RunRow;
  closeChildren = async (): Promise<boolean> => true;
  cancelChildren = async (): Promise<void> => {};
  findEnded = async (): Promise<Map<string, RunRow | undefined>> => new Map();

  #answered(call: ReplayCall): void {
    if (this.#isOver) return;
    this.#open.delete(call.call);
    this.movedAt = real.performanceNow();
    const { onAnswer, until } = this.#options;
    runOutside(() => {
      onAnswer?.(call);
      if (until?.(call)) this.#outcome.end({ how: 'stopped', call });
    });
  }

  #look({ patch: { status, output = null, error = null, waitingFor } }: Append): void {
    if (this.#isOver) return;
    if (status === 'completed' || status === 'failed') this.#outcome.end({ how: 'ended', status, output, error });
    if (status !== 'blocked') return;
    const { code, ...difference } = JSON.parse(waitingFor ?? '{}') as Mismatch & { code: string };
    const call = this.#last?.call === difference.call ? this.#last : undefined;
    this.#outcome.end({ how: 'differs', code, difference, call });
  }

  /** What the body awaits beside the step need not be the engine's, and it may make what is recorded after that. */
  #endAtStep(): void {
    if (this.#isOver) return;
    if (!this.#findMissed()) return this.#endOpen();
    runOutside(() => startPatience(this.limits.patience, () => this.#endOpen()));
  }

  #endOpen(): void {
    if (this.#isOver) return;
    const record = this.#findMissed();
    if (!record) return this.#outcome.end({ how: 'open', calls: [...this.#open.values()] });
    this.#outcome.end({ how: 'differs', code: 'code_changed', difference: undelivered(record), call: undefined });
  }

  /**
   * The first call that is recorded and the body has not made: the code of the run had made all of them by now. What a retry
   * or a fork has kept is left out: its body may come to it only behind a call that is made again.
   */
  #findMissed(): CallRecord | undefined {
    let missed: CallRecord | undefined;
    for (const [call, history] of this.#history) {
      const record = call < this.#made || (missed && missed.call < call) ? undefined : firstOf(history);
      if (record && !isKept(record) && !isEdit(record)) missed = record;
    }
    return missed;
  }
}

function toTurns(beforeNext: (() => Promise<void>) | undefined): Turns {
  const turns = createTurns();
  if (!beforeNext) return turns;
  return { ...turns, next: (turn) => void runOutside(() => beforeNext().then(() => turns.next(turn))) };
}

/** A body asks the box itself for addresses alone; all else it does in steps, which do not begin. */
function toAmbient({ webhookUrl, startUrl, redact }: ReplayOptions['ambient']): Ambient {
  // By name: whoever asks may have the whole box in hand.
  const known = { webhookUrl, startUrl, log() {}, redact: redact ?? ((_input: string, text: string) => text) };
  return new Proxy(known as unknown as Ambient, {
    get(target, key) {
      if (key in target) return Reflect.get(target, key) as unknown;
      throw new Error(`A replay has no box to ask for "${String(key)}".`);
    },
  });
}
