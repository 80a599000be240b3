import { currentContext } from '../context.ts';
import { decode, encode } from '../serialize.ts';
import { createRunWritable } from '../values/streams.ts';

export interface WritableOptions {
  /** Streams of one run are distinguished by this. Default `default`. */
  namespace?: string;
}

/**
 * A stream of the run: what steps write to it is kept and can be read while the run goes on and afterwards. A body may
 * make one and hand it to steps, and to workflows it starts, whose steps then write to this run; writing needs a step.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- as in the Workflow SDK: an untyped stream takes anything
export function getWritable<T = any>({ namespace = 'default' }: WritableOptions = {}): WritableStream<T> {
  if (!currentContext()) throw new Error('getWritable() works in a workflow or one of its steps.');
  return createRunWritable<T>({ name: namespace }, { encode, decode });
}
