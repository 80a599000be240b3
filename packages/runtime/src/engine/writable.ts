import { currentContext } from './context.ts';
import type { EngineContext } from './context.ts';
import { markRunStream } from './run-stream.ts';
import { encode } from './serialize.ts';

export interface WritableOptions {
  /** Streams of one run are told apart by this. Default `default`. */
  namespace?: string;
}

/**
 * A stream of the run: what steps write to it is kept and can be read while the run goes on and afterwards. A body may
 * make one and hand it to steps; writing needs a step.
 */
export function getWritable<T = unknown>({ namespace = 'default' }: WritableOptions = {}): WritableStream<T> {
  const context = currentContext();
  if (!context) throw new Error('getWritable() works in a workflow or one of its steps.');
  return createRunStream<T>(namespace, context);
}

/** The context is held on to: a stream's own machinery runs its writes in contexts of its choosing. */
export function createRunStream<T>(namespace: string, context: EngineContext): WritableStream<T> {
  const stream = new WritableStream<T>({
    async write(value) {
      if (context.kind !== 'step')
        throw new Error('A workflow body cannot write to a stream. Hand the stream to a step.');
      await context.execution.writeChunks([{ namespace, payload: encode(value, 'frame') }]);
    },
  });
  markRunStream(stream, namespace);
  return stream;
}
