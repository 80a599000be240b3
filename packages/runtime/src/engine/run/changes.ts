import type { StoreClock } from '../clock.ts';
import type { Changes } from '../handle.ts';
import type { JournalRecord } from '../journal/record.ts';
import { decode, digestOf, encode } from '../serialize.ts';
import type { Mismatch } from '../mismatch.ts';
import { isEdit } from './edited-step.ts';
import type { Calls } from './calls.ts';
import type { PartEvents } from './part-events.ts';
import type { Recorder } from './recorder.ts';

/** A run has answers for so many names. */
export const MOST_CHANGES = 100;

export interface ChangesOptions {
  /** What the run has recorded that is no call. */
  records: readonly JournalRecord[];
  /** The last call that is recorded; -1: none is. */
  last: number;
  /** How many calls the body has made. */
  calls: Pick<Calls, 'made'>;
  recorder: Pick<Recorder, 'record'>;
  clock: StoreClock;
  events: Pick<PartEvents, 'onMismatch'>;
}

/**
 * What a run has been answered by `svc.version`. A body that has recorded a call behind the place it is at has been there
 * before, without asking: it goes on as it did. Whoever is there for the first time has the newest. Either answer is recorded, by its
 * name and as no call, so that code which asks once more, or no more, replays all the same.
 */
export class RunChanges implements Changes {
  readonly #options: ChangesOptions;
  // Most bodies ask for none.
  #answered: Map<string, number> | undefined;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  versionOf(name: string, newest: number): number {
    const { records, last, calls, recorder, clock, events } = this.#options;
    const answers = (this.#answered ??= readAnswers(records));
    const known = answers.get(name);
    if (known !== undefined) {
      if (known > newest) events.onMismatch(unknownVersion(name, { known, newest, call: calls.made }));
      return known;
    }
    if (answers.size >= MOST_CHANGES)
      throw new Error(`svc.version() takes ${MOST_CHANGES} names in one run; "${name}" is one more.`);
    const version = last >= calls.made ? 0 : newest;
    answers.set(name, version);
    const named = { ...NO_CALL, stepId: CHANGE + name, digest: digestOf(encode(name, 'name')) };
    recorder.record(named, { event: 'set', startedAt: clock.now(), output: encode(version, name) });
    return version;
  }
}

/** For `last`. A step that a fork gives other arguments has not been there. */
export function lastCallOf(records: readonly JournalRecord[]): number {
  let last = -1;
  for (const record of records) if (record.kind !== 'env' && !isEdit(record)) last = Math.max(last, record.call);
  return last;
}

/** The name, where a record of that id is an answer of `svc.version`. */
export function changeOf(stepId: string): string | undefined {
  return stepId.startsWith(CHANGE) ? stepId.slice(CHANGE.length) : undefined;
}

/** What the ids of such records begin with. No variable of the environment has the character in its name. */
export const CHANGE = 'version=';

// --- internal ---

const NO_CALL = { call: -1, kind: 'env', input: '', attempt: 1 } as const;

function readAnswers(records: readonly JournalRecord[]): Map<string, number> {
  return new Map(
    records.flatMap(({ stepId, output }) => {
      const name = changeOf(stepId);
      return name === undefined || output === null ? [] : [[name, decode(output) as number] as const];
    }),
  );
}

function unknownVersion(
  name: string,
  { known, newest, call }: { known: number; newest: number; call: number },
): Mismatch {
  const message = `This run has version ${known} of "${name}"; the code knows ${newest} at most.`;
  return { message, recorded: `${name} ${known}`, called: `${name} ${newest}`, call, at: null };
}
