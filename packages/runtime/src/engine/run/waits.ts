import type { Call, CallHistory, ChildAction, EventAction, OpenHook } from '../call.ts';
import type { HookWait, NewHook } from '../journal/hooks.ts';
import type { RunRow } from '../journal/run.ts';
import { decode, encode } from '../serialize.ts';
import type { Driver } from './driver.ts';
import { childFailed, hookRefused } from './outcome.ts';
import type { Wait } from './parking.ts';
import type { RecordFields } from './recorder.ts';
import { createRunHooks } from './run-hooks.ts';
import type { MadeHook, RunHooks } from './run-hooks.ts';
import { createTimers } from './timers.ts';
import type { Timers } from './timers.ts';

export interface WaitsOptions {
  run: RunRow;
  driver: Pick<Driver, 'clock' | 'listEvents' | 'resumeHook' | 'findEnded'>;
  /** Calls of the body that are not answered. */
  open: ReadonlyMap<number, Call>;
  historyOf(call: Call): CallHistory | undefined;
  /** Has been answered, and the body has not seen it yet. */
  isAnswered(call: number): boolean;
  onAnswer(call: Call, fields: RecordFields): void;
  /** A timer was set: that is recorded, and says nothing to the body. */
  onSet(call: Call, fields: RecordFields): void;
  /** The next attempt of a step is due. */
  onRetryDue(call: Call): void;
  /** There is something to do. */
  onChange(): void;
  onFailed(error: unknown): void;
}

/** What the open calls of one run wait for that is no step: a time, a resume from outside, the end of another run. */
export class Waits {
  readonly #options: WaitsOptions;
  // What most runs never need is made when they do.
  #timersMade: Timers | undefined;
  #hooksMade: RunHooks | undefined;
  /** Signals taken into account; the row may have more. */
  #signals: number;
  /** Something outside may have answered an open call: look before waiting. */
  #isSignalled = true;

  constructor(options: WaitsOptions) {
    this.#options = options;
    this.#signals = options.run.signals;
  }

  get signals(): number {
    return this.#signals;
  }

  /** Something outside happened: a hook was resumed, a child ended. */
  signal(): void {
    this.#isSignalled = true;
  }

  /** A look at what others have done is due, before the run waits for them. */
  get isLookDue(): boolean {
    return this.#isSignalled && this.#isForOthers;
  }

  begin(call: Call): void {
    const { action } = call;
    if (action.type === 'timer') this.#setTimer(call, action.wakeAt);
    else if (action.type === 'event' && action.deadline) this.#setTimer(call, action.deadline.wakeAt);
    if (action.type === 'event') this.#beginResume(call, action);
    // The child may have ended before it was waited for.
    if (action.type === 'child') this.#isSignalled = true;
  }

  /** A step waits for its next attempt. */
  retryAt(call: Call, wakeAt: number): void {
    this.#timers.set(call.call, wakeAt);
  }

  /** The call has been answered. */
  end(call: number): void {
    this.#timersMade?.delete(call);
  }

  /** Answers the open calls that wait for a resume or for another run, as far as there are answers. */
  async lookAround(): Promise<void> {
    const { run, driver, open, isAnswered, onAnswer } = this.#options;
    this.#isSignalled = false;
    const waits: HookWait[] = [];
    for (const { call, action } of open.values()) if (action.type === 'event' && !isAnswered(call)) waits.push(action);
    const read = await driver.listEvents(run.runId, this.#hooks.toRead(waits));
    this.#signals = Math.max(this.#signals, read.signals);
    this.#hooks.load(waits, read);
    const children = [...open.values()].flatMap(({ call, action }) =>
      action.type === 'child' && !isAnswered(call) ? idOf(action) : [],
    );
    const ended = children.length > 0 ? await driver.findEnded(children) : NO_RUNS;
    for (const call of open.values()) {
      if (isAnswered(call.call)) continue;
      if (call.action.type === 'event') this.#takeResume(call, call.action);
      else if (call.action.type === 'child' && ended.has(idOf(call.action)))
        onAnswer(call, toChildAnswer(call, call.action, ended.get(idOf(call.action))));
    }
  }

  /** What the run waits for, when nothing of it is under way. Undefined: for nothing, or it is due. */
  current(): Wait | undefined {
    const { open, driver } = this.#options;
    const first = this.#timersMade?.first();
    const call = first ? open.get(first.call) : [...open.values()].find(({ action }) => action.type !== 'run');
    const left = first ? first.wakeAt - driver.clock.now() : Infinity;
    return call && left > 0 ? { call, wakeAt: first?.wakeAt, left, isForOthers: this.#isForOthers } : undefined;
  }

  /** When the first of its waits is over, by the store's clock. */
  get nextDue(): number | undefined {
    return this.#timersMade?.first()?.wakeAt;
  }

  /** Waits for the first timer, by the clock as it is now. */
  arm(): void {
    this.#timersMade?.arm();
  }

  stop(): void {
    this.#timersMade?.stop();
  }

  // --- hooks ---

  /** Makes a hook, or finds it again on replay; `fresh`: it has no record yet. */
  openHook(made: Omit<MadeHook, 'now' | 'signals'>): { hook: OpenHook; fresh: boolean } {
    return this.#hooks.open({ ...made, now: this.#options.driver.clock.now(), signals: this.#signals });
  }

  /** The body waits for a resume. `isKept`: the run this one is a retry of has had it. */
  expectResume(wait: HookWait, isKept: boolean): void {
    this.#hooks.wait(wait, isKept);
  }

  /** The body has been given the resume. */
  takeResume(wait: HookWait): void {
    this.#hooks.taken(wait);
  }

  listUnread(): HookWait[] {
    return this.#hooksMade?.listUnread() ?? [];
  }

  get hasNewHooks(): boolean {
    return this.#hooksMade?.hasFresh ?? false;
  }

  /** The hooks the next append has to store. */
  takeNewHooks(): NewHook[] {
    return this.#hooksMade?.take() ?? NO_HOOKS;
  }

  /** Other runs have these tokens. */
  refuse(tokens: string[]): void {
    this.#hooks.refuse(tokens);
    for (const call of this.#options.open.values())
      if (call.action.type === 'event' && !this.#options.isAnswered(call.call)) this.#takeResume(call, call.action);
  }

  // --- internal ---

  /** Others are to answer a call, and have not. */
  get #isForOthers(): boolean {
    for (const { call, action } of this.#options.open.values())
      if ((action.type === 'event' || action.type === 'child') && !this.#options.isAnswered(call)) return true;
    return false;
  }

  /** The resume may have come, and the token been refused, before it was waited for. */
  #beginResume(call: Call, action: EventAction): void {
    if (!this.#takeResume(call, action) && this.#hooks.mayHaveMore(action.token, this.#signals))
      this.#isSignalled = true;
  }

  /** Answers the call, if its resume has been read or will never come. */
  #takeResume(call: Call, action: EventAction): boolean {
    const { driver, onAnswer } = this.#options;
    const event = this.#hooks.find(action);
    const isRefused = !event && this.#hooks.isRefused(action.token);
    if (event) onAnswer(call, { event: 'done', startedAt: call.madeAt, output: event.payload });
    if (isRefused) onAnswer(call, { event: 'failed', startedAt: driver.clock.now(), error: hookRefused(action.token) });
    return event !== undefined || isRefused;
  }

  #setTimer(call: Call, wakeAtOf: (now: number) => number): void {
    const known = this.#options.historyOf(call)?.set?.output;
    // The body has seen this time: its wait ends no earlier by what it sees.
    const now = Math.max(this.#options.driver.clock.now(), call.madeAt);
    const wakeAt = known ? (decode(known) as number) : wakeAtOf(now);
    if (!known) this.#options.onSet(call, { event: 'set', startedAt: now, output: encode(wakeAt, 'wakeAt') });
    this.#timers.set(call.call, wakeAt);
  }

  #due(indexes: number[]): void {
    const { open, driver, onAnswer, onRetryDue, onChange } = this.#options;
    for (const index of indexes) {
      const call = open.get(index);
      if (call?.action.type === 'timer') onAnswer(call, { event: 'done', startedAt: driver.clock.now() });
      else if (call?.action.type === 'event') void this.#expire(call);
      else if (call) onRetryDue(call);
    }
    onChange();
  }

  /** The deadline of a hook resumes it like a caller from outside: the body gets what the first of them gave. */
  async #expire(call: Call): Promise<void> {
    const { driver, onChange, onFailed } = this.#options;
    if (call.action.type !== 'event' || !call.action.deadline) return;
    const { token, deadline } = call.action;
    const { payload, verdict } = deadline;
    await driver.resumeHook(token, encode(payload, 'payload'), { verdict }).then(() => {
      this.signal();
      onChange();
    }, onFailed);
  }

  get #timers(): Timers {
    return (this.#timersMade ??= createTimers(this.#options.driver.clock, (calls) => this.#due(calls)));
  }

  get #hooks(): RunHooks {
    const { run, onChange } = this.#options;
    return (this.#hooksMade ??= createRunHooks({
      onChange,
      isCopy: run.seed !== null,
      isNext: run.continuedFrom !== null,
    }));
  }
}

// --- internal ---

const NO_HOOKS: NewHook[] = [];
const NO_RUNS: ReadonlyMap<string, RunRow | undefined> = new Map();

function idOf({ child }: ChildAction): string {
  return 'runId' in child ? child.runId : child.triggerId;
}

function toChildAnswer(
  { madeAt: startedAt }: Call,
  { leavesOutput }: ChildAction,
  child: RunRow | undefined,
): RecordFields {
  if (child?.status === 'completed')
    return { event: 'done', startedAt, ...(leavesOutput ? {} : { output: child.output }) };
  return { event: 'failed', startedAt, error: childFailed(child) };
}
