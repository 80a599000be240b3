/** Which stream of which run. A writable has no run: it is written as the run whose step holds it. */
export interface StreamRef {
  name: string;
  /** Of a stream to be read. */
  runId?: string;
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

/** Undefined: it is no stream of a run. */
export function runStreamOf(value: unknown): StreamRef | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<symbol, StreamRef>)[RUN_STREAM] : undefined;
}
