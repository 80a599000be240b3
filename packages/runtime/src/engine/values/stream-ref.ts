/** Which stream of which run. */
export interface StreamRef {
  name: string;
  /** Absent of a writable as it is recorded: the run's own, which is another one when it is retried. */
  runId?: string;
  /** A writable of the run whose code holds it. */
  isOwn?: true;
  /** The first frame to be read, from 0; below 0: counted from the end. */
  startIndex?: number;
}

/** The last frame of a stream that was closed. No encoded value begins like this. */
export const STREAM_END = '0';

const RUN_STREAM = Symbol.for('svc.engine.stream');

/** Marks a stream as one of a run, so that it crosses the journal by its name. */
export function markRunStream<T extends object>(stream: T, ref: StreamRef): T {
  return Object.defineProperty(stream, RUN_STREAM, { value: ref });
}

/** Encodes what another run is given: there the writables of this one are not its own. */
export function forAnotherRun<T>(encode: () => T): T {
  isForAnother = true;
  try {
    return encode();
  } finally {
    isForAnother = false;
  }
}

/** How a writable is recorded. */
export function toWritableRef({ name, runId, isOwn }: StreamRef): Pick<StreamRef, 'name' | 'runId'> {
  return runId === undefined || (isOwn && !isForAnother) ? { name } : { name, runId };
}

let isForAnother = false;

/** Undefined: it is no stream of a run. */
export function runStreamOf(value: unknown): StreamRef | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<symbol, StreamRef>)[RUN_STREAM] : undefined;
}
