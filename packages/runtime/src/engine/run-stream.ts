const RUN_STREAM = Symbol.for('svc.engine.stream');

/** Marks a stream as one of a run, so that it crosses the journal by its name. */
export function markRunStream(stream: object, namespace: string): void {
  Object.defineProperty(stream, RUN_STREAM, { value: namespace });
}

/** The name of a run's stream; undefined: it is not one. */
export function runStreamName(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<symbol, string>)[RUN_STREAM] : undefined;
}
