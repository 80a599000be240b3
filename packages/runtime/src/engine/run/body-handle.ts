import type { Body } from '../body.ts';
import type { Arguments, CallRequest, HookRequest, ListedBeside, OpenHook } from '../call.ts';
import { Callbacks } from '../callbacks.ts';
import { FatalError } from '../errors.ts';
import type { Ambient, Changes, RunHandle, World } from '../handle.ts';
import type { NewChunk } from '../journal/chunks.ts';
import type { RunRow } from '../journal/run.ts';
import type { GivenArguments } from './arguments.ts';
import type { Calls } from './calls.ts';
import type { Cancelling } from './cancelling.ts';
import type { Children } from './children.ts';
import type { Driver } from './driver.ts';
import { notOurs } from './outcome.ts';
import type { PartEvents } from './part-events.ts';
import { PlatformWait } from './platform-wait.ts';
import { encodeState } from './published-state.ts';
import type { PublishedState } from './published-state.ts';
import type { Recorder } from './recorder.ts';
import type { RunAttributes } from './run-attributes.ts';
import { RunSignals } from './run-signals.ts';

export interface BodyHandleOptions {
  run: RunRow;
  world: World;
  changes: Changes;
  driver: Pick<Driver, 'ambient' | 'writeChunks' | 'writeForeignChunks'>;
  recorder: Pick<Recorder, 'count'>;
  calls: Calls;
  attributes: RunAttributes;
  state: PublishedState;
  body: Pick<Body, 'checkState' | 'registry'>;
  cancelling: Pick<Cancelling, 'isDue' | 'toError'>;
  children: Pick<Children, 'start'>;
  events: Pick<PartEvents, 'hasLeft' | 'onChange' | 'onCrash' | 'onFailed'>;
}

/** What the code of one run, its body and its steps, reaches of the run. */
export class BodyHandle implements RunHandle {
  readonly run: RunRow;
  readonly world: World;
  readonly changes: Changes;
  readonly ambient: Ambient;
  readonly registry: RunHandle['registry'];
  readonly #options: BodyHandleOptions;
  /** Steps that wait for other runs. */
  #standing = 0;
  #platform: PlatformWait | undefined;
  #abortSignals: RunSignals | undefined;
  #callbacks: Callbacks | undefined;

  constructor(options: BodyHandleOptions) {
    this.run = options.run;
    this.world = options.world;
    this.changes = options.changes;
    this.ambient = options.driver.ambient;
    this.registry = options.body.registry;
    this.#options = options;
  }

  crash(error: unknown): boolean {
    if (this.hasLeft) return false;
    this.#options.events.onCrash(error);
    return true;
  }

  write(given: GivenArguments): Arguments {
    return this.#options.calls.write(given);
  }

  invoke(request: CallRequest): Promise<unknown> {
    return this.#options.calls.invoke(request);
  }

  openHook(request: HookRequest, beside?: ListedBeside): OpenHook {
    return this.#options.calls.openHook(request, beside);
  }

  setAttributes(attributes: Record<string, string | number | boolean>): void {
    const { attributes: marks, events } = this.#options;
    marks.set(attributes);
    events.onChange();
  }

  publish(state: unknown, isSaid: boolean): void {
    const { state: published, body, events } = this.#options;
    const text = encodeState(body.checkState ? body.checkState(state) : state);
    if (!isSaid && published.set(text)) events.onChange();
  }

  async writeChunks(chunks: NewChunk[], to?: string): Promise<void> {
    const { runId, epoch } = this.run;
    const { driver, events } = this.#options;
    if (to !== undefined && to !== runId) {
      if (await driver.writeForeignChunks(to, chunks)) return;
      throw new FatalError(`The stream of the run ${to} takes no more: the run has ended, or is gone.`);
    }
    if ((await driver.writeChunks(runId, epoch, chunks)) === undefined) events.onFailed(notOurs());
  }

  /**
   * The body awaits work of the platform that is no call of the engine's, such as a digest. Until it is done the run gives
   * the body no answer and does not park, so that the order of what the body sees is the same on every replay. Works end
   * in the order they were begun.
   */
  waitFor<T>(work: () => Promise<T>): Promise<T> {
    return (this.#platform ??= new PlatformWait()).begin(work, this.#options.events.onChange);
  }

  /** A step waits for another run: meanwhile the run does no work of its own, and takes no place that the other may need. */
  async standBy<T>(wait: () => Promise<T>): Promise<T> {
    this.#standing += 1;
    try {
      return await wait();
    } finally {
      this.#standing -= 1;
    }
  }

  startBelow<T>(start: () => Promise<T>): Promise<T> {
    const { cancelling, children } = this.#options;
    return cancelling.isDue ? Promise.reject(cancelling.toError()) : children.start(start);
  }

  /** Made when the body first hands one to a step. */
  get abortSignals(): RunSignals {
    return (this.#abortSignals ??= new RunSignals());
  }

  /** Made when the body first hands one on. */
  get callbacks(): Callbacks {
    return (this.#callbacks ??= new Callbacks());
  }

  get hasLeft(): boolean {
    return this.#options.events.hasLeft();
  }

  get isReplaying(): boolean {
    return this.#options.calls.isReplaying;
  }

  get isCatchingUp(): boolean {
    return this.#options.calls.isReplaying && this.#options.calls.hasAnswers;
  }

  get isRepeating(): boolean {
    const { calls, recorder } = this.#options;
    return calls.isReplaying || (this.run.epoch > 1 && recorder.count === this.run.seq);
  }

  // --- for the execution ---

  /** Steps that wait for other runs. */
  get standing(): number {
    return this.#standing;
  }

  /** The body awaits the platform. */
  get isHeldUp(): boolean {
    return this.#platform?.isUnderWay ?? false;
  }

  /** A part of the body was handed on, and it has not been called yet. */
  get hasUncalled(): boolean {
    return (this.#callbacks?.uncalled ?? 0) > 0;
  }

  /** One that was handed on was still at work when it returned: a caller may wait for its end. */
  get mayBeAwaited(): boolean {
    return this.#callbacks?.hasStarted === true;
  }

  /** Undefined: the body has handed out none. */
  get abortSignalsSoFar(): RunSignals | undefined {
    return this.#abortSignals;
  }
}
