import type { CallHistory, CallRequest, HookRequest, OpenHook } from '../call.ts';
import { historyOf } from '../call.ts';
import { runOutside } from '../context.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import { Execution } from './execution.ts';
import type { Body } from '../body.ts';
import type { ExecutionOptions, ExecutionStore, Leave } from './execution.ts';
import type { Ambient } from '../handle.ts';
import type { Append } from '../journal/appends.ts';
import type { JournalRecord, StepKind } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { findCaller } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { real } from '../real.ts';
import { encode } from '../serialize.ts';
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
  /** The history has been told, and the body waits for something that is no call of it. */
  | { how: 'stuck' };

export interface ReplayOptions {
  run: RunRow;
  records: JournalRecord[];
  body: Body;
  ambient: Pick<Ambient, 'webhookUrl' | 'startUrl'>;
  /** The body has been given the answer of a call. */
  onAnswer?(call: ReplayCall): void;
  /** Waited for before the next answer is given. */
  beforeNext?(): Promise<void>;
  until?(call: ReplayCall): boolean;
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
    const end = (how: ReplayEnd): void => {
      clearInterval(watch);
      execution.finish();
      resolve(how.how === 'differs' && thrown ? { ...how, thrown: thrown.error } : how);
    };
    const execution = new Replay({ ...options, body }, { end, fail: reject });
    const patience = options.patienceMs ?? PATIENCE_MS;
    const watch = setInterval(() => {
      if (real.performanceNow() - execution.movedAt > patience) end({ how: 'stuck' });
    }, WATCH_MS);
    execution.launch();
  });
}

// --- internal ---

const PATIENCE_MS = 10_000;
const WATCH_MS = 50;
const NEVER = new Promise<never>(() => {});

interface Told {
  end(how: ReplayEnd): void;
  fail(error: unknown): void;
}

/** An execution that begins no step and writes nowhere. */
class Replay extends Execution {
  movedAt = real.performanceNow();
  readonly #replay: ReplayOptions;
  readonly #told: Told;
  readonly #past: Map<number, CallHistory>;
  readonly #open = new Map<number, ReplayCall>();
  #next = 0;
  #isOver = false;
  #last: ReplayCall | undefined;

  constructor(given: ReplayOptions, told: Told) {
    const later: Later = { append: () => {}, leave: () => {}, begin: () => {} };
    super(toExecutionOptions(given, later));
    this.#replay = given;
    this.#told = told;
    this.#past = historyOf(given.records);
    later.append = (entry) => this.#look(entry);
    later.leave = (how) => how === 'parked' && this.#endOpen();
    later.begin = () => this.#endSoon();
  }

  override invoke(request: CallRequest): Promise<unknown> {
    const call = this.#note(request.kind, request.stepId, request.input);
    const answer = super.invoke(request);
    const told = () => this.#answered(call);
    answer.then(told, told);
    return answer;
  }

  override openHook(request: HookRequest): OpenHook {
    const call = this.#note('hook', request.kind, encode(request, 'hook'));
    const hook = super.openHook(request);
    if (call.history) this.#answered(call);
    return hook;
  }

  override drop(reason: unknown): void {
    if (!this.#isOver) runOutside(() => this.#told.fail(reason));
    super.drop(reason);
  }

  /** Lets go of the body. */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    super.drop(new Error('The replay is over.'));
  }

  #note(kind: StepKind, stepId: string, input: string): ReplayCall {
    const call = this.#next++;
    const noted = { call, kind, stepId, input, at: findCaller(stepId), history: this.#past.get(call) };
    this.#open.set(call, noted);
    this.#last = noted;
    this.movedAt = real.performanceNow();
    return noted;
  }

  #answered(call: ReplayCall): void {
    if (this.#isOver) return;
    this.#open.delete(call.call);
    this.movedAt = real.performanceNow();
    const { onAnswer, until } = this.#replay;
    runOutside(() => {
      onAnswer?.(call);
      if (until?.(call)) this.#told.end({ how: 'stopped', call });
    });
  }

  #look({ patch: { status, output = null, error = null, waitingFor } }: Append): void {
    if (this.#isOver) return;
    if (status === 'completed' || status === 'failed') this.#told.end({ how: 'ended', status, output, error });
    if (status !== 'blocked') return;
    const { code, ...difference } = JSON.parse(waitingFor ?? '{}') as Mismatch & { code: string };
    const call = this.#last?.call === difference.call ? this.#last : undefined;
    this.#told.end({ how: 'differs', code, difference, call });
  }

  #endOpen(): void {
    if (!this.#isOver) this.#told.end({ how: 'open', calls: [...this.#open.values()] });
  }

  /** A step would begin: whatever else the code asks for at this moment, it asks for before the next turn. */
  #endSoon(): void {
    runOutside(() => real.setImmediate(() => real.setImmediate(() => this.#endOpen())));
  }
}

/** What the execution is told before there is one to tell. */
interface Later {
  append(entry: Append): void;
  leave(how: Leave): void;
  begin(): void;
}

function toExecutionOptions(given: ReplayOptions, later: Later): ExecutionOptions {
  const { run, records, body } = given;
  const now = Math.max(run.createdAt, ...records.map(({ at }) => at));
  return {
    run,
    body,
    records,
    clock: { now: () => now, sync: async () => {} },
    store: createStore(now, later),
    ambient: toAmbient(given.ambient),
    turns: toTurns(given.beforeNext),
    // Every wait ends the replay.
    limits: { ...DEFAULT_LIMITS, parkAfter: 0 },
    onLeave: (how) => later.leave(how),
    around: () => (later.begin(), NEVER),
  };
}

/** Takes every write and keeps none; nothing has happened since the history ended. */
function createStore(at: number, later: Later): ExecutionStore {
  return {
    append(entry, done) {
      later.append(entry);
      runOutside(() => real.setImmediate(() => done({ outcome: 'appended', at })));
    },
    listEvents: async () => ({ signals: 0, events: [] }),
    resumeHook: async () => undefined,
    findRun: async () => ({ status: 'running' }) as RunRow,
    writeChunks: async () => 0,
    mark: async () => true,
  };
}

function toTurns(beforeNext: (() => Promise<void>) | undefined): Turns {
  const turns = createTurns();
  if (!beforeNext) return turns;
  return { ...turns, next: (turn) => void runOutside(() => beforeNext().then(() => turns.next(turn))) };
}

/** A body asks the box itself for addresses alone; all else it does in steps, which do not begin. */
function toAmbient(known: ReplayOptions['ambient']): Ambient {
  return new Proxy({ log() {}, ...known } as unknown as Ambient, {
    get(target, key) {
      if (key in target) return Reflect.get(target, key) as unknown;
      throw new Error(`A replay has no box to ask for "${String(key)}".`);
    },
  });
}
