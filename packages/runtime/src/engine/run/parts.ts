import type { Body } from '../body.ts';
import { runInContext } from '../context.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { JournalRecord } from '../journal/record.ts';
import { persistLarge } from '../large-values.ts';
import type { RunRow } from '../journal/run.ts';
import { RunAppender } from './append.ts';
import { Beginning } from './beginning.ts';
import { BodyHandle } from './body-handle.ts';
import { Calls } from './calls.ts';
import { Cancelling } from './cancelling.ts';
import { lastCallOf, RunChanges } from './changes.ts';
import type { Driver } from './driver.ts';
import { Parking } from './parking.ts';
import { PublishedState } from './published-state.ts';
import { Children } from './children.ts';
import type { PartEvents } from './part-events.ts';
import { Recorder } from './recorder.ts';
import { RunAttributes } from './run-attributes.ts';
import { startedAtOf } from './seed.ts';
import { StepAttempts } from './step-attempts.ts';
import { RunWorld } from './world.ts';
import { toText } from '../values/text.ts';

export interface ExecutionOptions {
  run: RunRow;
  body: Body;
  records: JournalRecord[];
  driver: Driver;
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
export class RowChanges {
  readonly #sets: readonly RowSet[];

  constructor(sets: readonly RowSet[]) {
    this.#sets = sets;
  }

  get hasFresh(): boolean {
    for (const set of this.#sets) if (set.hasFresh) return true;
    return false;
  }

  take(): RunPatch {
    return this.hasFresh ? Object.assign({}, ...this.#sets.map((set) => set.take())) : NO_PATCH;
  }
}

type RowSet = Pick<RunAttributes, 'hasFresh' | 'take'>;

/** Makes the parts of an execution, each with the others it works with. */
export function createParts({ run, body, records, driver }: ExecutionOptions, events: PartEvents): Parts {
  const { clock, limits } = driver;
  const recorder = new Recorder({ run, clock, durability: body.durability });
  const attributes = new RunAttributes(run);
  const state = new PublishedState(run);
  const children = new Children(run);
  const cancelling = new Cancelling(run, records);
  const calls = new Calls(
    {
      run,
      registry: body.registry,
      time: startedAtOf(run),
      recorder,
      driver,
      events,
      onAborts: (aborts) =>
        runInContext({ kind: 'body', execution: handle }, () => handle.abortSignals.deliver(aborts)),
      readLarge: (ref) => readLarge(ref, run, { driver, events }),
    },
    records,
  );
  // What else is in the history may be given up as it is replayed.
  const read = records.filter(({ kind }) => kind === 'env');
  const world = new RunWorld({ run, records: read, recorder, clock, calls });
  const changes = new RunChanges({ records: read, last: lastCallOf(records), calls, recorder, clock, events });
  const handle = new BodyHandle({
    run,
    world,
    changes,
    driver,
    recorder,
    calls,
    attributes,
    state,
    body,
    cancelling,
    children,
    events,
  });
  return {
    recorder,
    appender: new RunAppender({ run, recorder, driver, events }),
    calls,
    steps: new StepAttempts({ execution: handle, driver, calls, events }),
    parking: new Parking({ run, parkAfter: limits.parkAfter, events }),
    handle,
    beginning: new Beginning({ run, driver }),
    cancelling,
    rowChanges: new RowChanges([attributes, state, children]),
    children,
  };
}

// --- internal ---

const NO_PATCH: RunPatch = {};

function readLarge(
  ref: string,
  run: RunRow,
  { driver, events }: { driver: Driver; events: PartEvents },
): Promise<string> {
  return persistLarge(() => driver.large.whole(ref), {
    isOver: events.hasLeft,
    onTrouble: (error) => driver.ambient.log({ level: 'warn', message: `${NOT_READ} ${toText(error)}`, run }),
  });
}

const NOT_READ = 'A value of the run cannot be read from object storage; it is tried again.';
