import type { Body } from '../body.ts';
import { runInContext } from '../context.ts';
import type { AppendResult, RunPatch } from '../journal/appends.ts';
import type { JournalRecord } from '../journal/record.ts';
import { persistLarge } from '../large-values.ts';
import type { RunRow } from '../journal/run.ts';
import { unrecordable } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { RunAppender } from './append.ts';
import { Beginning } from './beginning.ts';
import { BodyHandle } from './body-handle.ts';
import { Calls } from './calls.ts';
import { Cancelling } from './cancelling.ts';
import { createChanges, lastCallOf } from './changes.ts';
import type { Driver } from './driver.ts';
import { Parking } from './parking.ts';
import { PublishedState } from './published-state.ts';
import { Children } from './children.ts';
import { createRecorder } from './recorder.ts';
import type { Recorder } from './recorder.ts';
import { RunAttributes } from './run-attributes.ts';
import { readSeed } from './seed.ts';
import { StepAttempts } from './step-attempts.ts';
import { createWorld } from './world.ts';
import { toText } from '../values/text.ts';

export interface ExecutionOptions {
  run: RunRow;
  body: Body;
  records: JournalRecord[];
  driver: Driver;
}

/** What the parts of an execution call it with. */
export interface PartEvents {
  /** There is something to do. */
  onChange(): void;
  onMismatch(mismatch: Mismatch): void;
  onAppended(result: AppendResult): void;
  onFailed(error: unknown): void;
  /** The body threw where nothing could catch it. */
  onCrash(error: unknown): void;
  /** Nothing is recorded any more. */
  hasLeft(): boolean;
}

export interface Parts {
  recorder: Recorder;
  appender: RunAppender;
  calls: Calls;
  steps: StepAttempts;
  parking: Parking;
  handle: BodyHandle;
  beginning: Beginning;
  rowChanges: RowChanges;
  children: Children;
  cancelling: Cancelling;
}

/** What the body has set of its run's row, and the next append takes along. */
export interface RowChanges {
  readonly hasFresh: boolean;
  take(): RunPatch;
}

/** Makes the parts of an execution, each with the others it works with. */
export function createParts({ run, body, records, driver }: ExecutionOptions, events: PartEvents): Parts {
  const { clock, limits } = driver;
  const { onChange, onMismatch, onAppended, onFailed, onCrash, hasLeft } = events;
  const seed = readSeed(run);
  const { startedAt } = seed;
  const readLarge = (ref: string): Promise<string> =>
    persistLarge(() => driver.large.whole(ref), {
      isOver: hasLeft,
      onTrouble: (error) => driver.ambient.log({ level: 'warn', message: `${NOT_READ} ${toText(error)}`, run }),
    });
  const recorder = createRecorder({ run, clock, durability: body.durability });
  const attributes = new RunAttributes(run);
  const state = new PublishedState(run);
  const children = new Children(run);
  const cancelling = new Cancelling(run, records);
  const calls = new Calls({
    run,
    records,
    registry: body.registry,
    time: startedAt,
    recorder,
    driver,
    onChange,
    onMismatch,
    onAborts: (aborts) => runInContext({ kind: 'body', execution: handle }, () => handle.abortSignals.deliver(aborts)),
    onFailed,
    readLarge,
  });
  // What else is in the history may be given up as it is replayed.
  const read = records.filter(({ kind }) => kind === 'env');
  const world = createWorld({ seed, records: read, recorder, clock, now: () => calls.time, made: () => calls.made });
  const changes = createChanges({
    records: read,
    last: lastCallOf(records),
    made: () => calls.made,
    record: (named, output) => void recorder.record(named, { event: 'set', startedAt: clock.now(), output }),
    onMismatch,
  });
  const onLost = () => onFailed(notOurs());
  const { checkState, registry } = body;
  const handle = new BodyHandle({
    run,
    world,
    changes,
    driver,
    recorder,
    calls,
    attributes,
    state,
    registry,
    ...(checkState && { checkState }),
    startBelow: (start) => (cancelling.isDue ? Promise.reject(cancelling.toError()) : children.start(start)),
    hasLeft,
    onChange,
    onLost,
    onCrash,
  });
  const steps = new StepAttempts({
    execution: handle,
    driver,
    hasLeft,
    onAnswer: (call, fields) => calls.answer(call, fields),
    onRetry: (call, fields, wakeAt) => calls.retryAt(call, fields, wakeAt),
  });
  return {
    recorder,
    appender: new RunAppender({
      run,
      recorder,
      driver,
      hasLeft,
      onAppended,
      onRefused: (error) => onMismatch(unrecordable(error)),
      onFailed,
    }),
    calls,
    steps,
    parking: new Parking({ run, parkAfter: limits.parkAfter, onIdle: onChange }),
    handle,
    beginning: new Beginning({ run, driver }),
    cancelling,
    rowChanges: {
      get hasFresh() {
        return attributes.hasFresh || state.hasFresh || children.hasFresh;
      },
      take: () => ({ ...attributes.take(), ...state.take(), ...children.take() }),
    },
    children,
  };
}

export function notOurs(): Error {
  return new Error('The run is not ours any more.');
}

// --- internal ---

const NOT_READ = 'A value of the run cannot be read from object storage; it is tried again.';
