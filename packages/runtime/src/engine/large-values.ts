import { createHash } from 'node:crypto';
import { BoxError } from '../errors.ts';
import { runOutside } from './context.ts';
import type { Append } from './journal/appends.ts';
import type { JournalRecord } from './journal/record.ts';
import type { RunRow } from './journal/run.ts';
import type { NewRun } from './journal/starts.ts';
import { persistAfter } from './persist.ts';
import { real } from './real.ts';
import { decodeRef, encodeRef, isRef } from './values/large-ref.ts';
import { LARGE_FROM } from './values/size.ts';

/** Where texts are kept that are too large for the journal: object storage, as the engine needs it. */
export interface LargeStore {
  /** Replaces what is there, which is the same text. */
  put(runId: string, digest: string, text: string): Promise<void>;
  /** Throws `object_not_found`. */
  get(runId: string, digest: string): Promise<string>;
  /** Deletes all objects of these runs. */
  drop(runIds: readonly string[]): Promise<void>;
}

/**
 * Values that are kept in object storage. The journal has a reference in the place of such a value, and each reference
 * in the records of a run is to an object of that run: it goes when the run is deleted, and with no other.
 *
 * An object is put before the journal is asked to name it. A crash in between leaves an object that nothing names, which
 * goes with its run (`box/large-store.ts`), and never a reference to nothing.
 */
export interface LargeValues {
  /**
   * What the journal is to be asked to append in the place of the entry. Undefined: the entry itself.
   * Throws `storage_missing` where a value of another run is to be copied and there is no store.
   */
  keepEntry(entry: Append): (() => Promise<Append>) | undefined;
  /** The same of a start. */
  keepStart(run: NewRun): (() => Promise<NewRun>) | undefined;
  /** The text of a value, wherever it is. Throws `object_not_found`, and what the store throws. */
  whole(text: string): Promise<string>;
  /** The run has not come to be. */
  forget(runId: string): void;
}

/** @param store undefined: there is none, and no value is given to it */
export function createLargeValues(store: LargeStore | undefined): LargeValues {
  const gate = createGate(AT_ONCE);
  const whole = async (text: string): Promise<string> => {
    if (!isRef(text)) return text;
    const { run, digest } = decodeRef(text);
    if (!store) throw missing();
    const found = await gate(() => store.get(run, digest));
    if (digestOf(found) === digest) return found;
    // Not there: to read it again gives the same.
    throw new BoxError('object_not_found', `The object of a value of run ${run} is not what was put there.`);
  };
  /** The text that stands in the journal for this one, of a value of this run. */
  const keep = async (runId: string, text: string, mayBeGone = false): Promise<string> => {
    if (!isLarge(runId, text) || !store) return text;
    // What another run has is copied: each of the two may be deleted first.
    const own = await whole(text).catch((error: unknown) => {
      // Recorded as it is, it blocks the run where the body is given it; refused, the run would be loaded again and again.
      if (mayBeGone && isRef(text) && isGone(error)) return undefined;
      throw error;
    });
    if (own === undefined) return text;
    const digest = isRef(text) ? decodeRef(text).digest : digestOf(own);
    await gate(() => store.put(runId, digest, own));
    return encodeRef({ run: runId, bytes: Buffer.byteLength(own), digest });
  };
  const keepNullable = async (runId: string, text: string | null, mayBeGone: boolean): Promise<string | null> =>
    text === null ? null : keep(runId, text, mayBeGone);
  const keepRecord = async (runId: string, record: JournalRecord, mayBeGone: boolean): Promise<JournalRecord> => {
    if (!isLargeRecord(runId, record)) return record;
    const input = isInline(record) ? record.input : await keepNullable(runId, record.input, mayBeGone);
    return { ...record, input, output: await keepNullable(runId, record.output, mayBeGone) };
  };
  /** One after the other: each may be of many megabytes. */
  const keepRecords = async (
    runId: string,
    records: readonly JournalRecord[],
    mayBeGone = false,
  ): Promise<JournalRecord[]> => {
    const kept: JournalRecord[] = [];
    for (const record of records) kept.push(await keepRecord(runId, record, mayBeGone));
    return kept;
  };

  return {
    keepEntry(entry) {
      const { runId, records, patch, continueAs, nextRunId } = entry;
      if (!store) return records.some((record) => isForeignRecord(runId, record)) ? refuse : undefined;
      const isNextLarge = continueAs && nextRunId !== undefined && isLarge(nextRunId, continueAs.input);
      if (!(records.some((record) => isLargeRecord(runId, record)) || isLarge(runId, patch.output) || isNextLarge))
        return undefined;
      return async () => ({
        ...entry,
        records: await keepRecords(runId, records, true),
        ...(isLarge(runId, patch.output) ? { patch: { ...patch, output: await keep(runId, patch.output) } } : {}),
        ...(isNextLarge ? { continueAs: { ...continueAs, input: await keep(nextRunId, continueAs.input) } } : {}),
      });
    },
    keepStart(run) {
      const { runId, input, records = [] } = run;
      if (!store)
        return isForeign(runId, input) || records.some((record) => isForeignRecord(runId, record)) ? refuse : undefined;
      if (mayQueue(run) || !(isLarge(runId, input) || records.some((record) => isLargeRecord(runId, record))))
        return undefined;
      return async () => ({
        ...run,
        input: await keep(runId, input),
        ...(run.records ? { records: await keepRecords(runId, records) } : {}),
      });
    },
    whole,
    forget: (runId) => void store?.drop([runId]).catch(() => {}),
  };
}

export interface Queueable {
  serial?: { whenTaken: 'queue' | 'refuse' } | undefined;
  timing?: unknown;
}

/** It may become a run later, of another id. */
export function mayQueue({ serial, timing }: Queueable): boolean {
  return serial?.whenTaken === 'queue' || timing !== undefined;
}

/** The run with its input and output, wherever they are. */
export async function wholeRun<R extends Pick<RunRow, 'input' | 'output'>>(
  { whole }: Pick<LargeValues, 'whole'>,
  run: R,
): Promise<R> {
  if (!isRef(run.input) && !isRef(run.output)) return run;
  const input = await whole(run.input);
  return { ...run, input, output: run.output === null ? null : await whole(run.output) };
}

/** The same of a record. */
export async function wholeRecord<R extends Pick<JournalRecord, 'input' | 'output'>>(
  { whole }: Pick<LargeValues, 'whole'>,
  record: R,
): Promise<R> {
  const { input, output } = record;
  if (!isRef(input) && !isRef(output)) return record;
  const read = { input: isRef(input) ? await whole(input) : input };
  return { ...record, ...read, output: isRef(output) ? await whole(output) : output };
}

/** Repeats a call of the store for as long as it may come to something, and `isOver` does not say otherwise. */
export function persistLarge<T>(
  call: () => Promise<T>,
  { isOver, onTrouble, limitMs = Infinity }: { isOver(): boolean; onTrouble(error: unknown): void; limitMs?: number },
): Promise<T> {
  // A body may use none of the sockets and timers of a store.
  return runOutside(() =>
    call().catch((error: unknown) => {
      if (isGone(error)) throw error;
      onTrouble(error);
      const giveUp = real.performanceNow() + limitMs;
      return persistAfter(error, call, { giveUp, mayPass: (last) => !isOver() && !isGone(last) });
    }),
  );
}

/** The value cannot be read, and trying again gives nothing else. */
export function isGone(error: unknown): boolean {
  return error instanceof BoxError && (error.code === 'object_not_found' || error.code === 'storage_missing');
}

// --- internal ---

/** So many texts are on their way at once, in both directions. */
const AT_ONCE = 8;

function isLarge(runId: string, text: string | null | undefined): text is string {
  if (text === null || text === undefined) return false;
  return isRef(text) ? isForeign(runId, text) : text.length > LARGE_FROM;
}

/** The value of another run: in the records of this one it would go with that. */
function isForeign(runId: string, text: string | null): boolean {
  return isRef(text) && decodeRef(text).run !== runId;
}

function isForeignRecord(runId: string, { input, output }: JournalRecord): boolean {
  return isForeign(runId, output) || isForeign(runId, input);
}

async function refuse(): Promise<never> {
  throw missing();
}

function isLargeRecord(runId: string, record: JournalRecord): boolean {
  return isLarge(runId, record.output) || (!isInline(record) && isLarge(runId, record.input));
}

/** The metadata of a hook, which lists of hooks have too. */
function isInline({ kind }: JournalRecord): boolean {
  return kind === 'hook' || kind === 'approval';
}

function missing(): BoxError {
  const message =
    'The value is in object storage, and this box has none configured. Set the SVC_S3_ variables it was kept with.';
  return new BoxError('storage_missing', message);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

type Gate = <T>(work: () => Promise<T>) => Promise<T>;

function createGate(most: number): Gate {
  const waiting: (() => void)[] = [];
  let count = 0;
  return async (work) => {
    if (count >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else count += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else count -= 1;
    }
  };
}
