import { currentContext } from '../context.ts';
import type { EngineContext, StepContext } from '../context.ts';
import { markRunStream, STREAM_END } from './stream-ref.ts';
import { boundValue, isSurelyLarger, tooLargeResult, VALUE_BYTES } from './size.ts';
import type { StreamRef } from './stream-ref.ts';

/** Handed in, because the codec itself makes streams when it reads a reference to one. */
export interface FrameCodec {
  encode(value: unknown, root: string): string;
  decode(text: string): unknown;
}

/**
 * A stream of the run whose step (or body) makes it, or of the one above that has handed it on: `runId`. The context is held
 * on to: a stream's own machinery runs its writes in contexts of its choosing.
 */
export function createRunWritable<T>(
  { name, runId }: Pick<StreamRef, 'name' | 'runId'>,
  { encode }: FrameCodec,
): WritableStream<T> {
  const context = currentContext();
  const own = context?.execution.run.runId;
  const stream = new WritableStream<T>({
    write: (value) => writerOf(context, runId)([{ namespace: name, payload: toFrame(value, encode) }]),
    close: () => writerOf(context, runId)([{ namespace: name, payload: STREAM_END }]),
  });
  if (runId !== undefined) return markRunStream(stream, { name, runId });
  return markRunStream(stream, own === undefined ? { name } : { name, runId: own, isOwn: true });
}

/** Reads a stream of a run from its beginning, and waits for what is still to come. */
export function createRunReadable<T>(ref: StreamRef & { runId: string }, { decode }: FrameCodec): ReadableStream<T> {
  const context = currentContext();
  const { name } = ref;
  let { runId } = ref;
  let after = 0;
  let skip: number | undefined;
  const stream = new ReadableStream<T>(
    {
      async pull(controller) {
        const step = stepOf(context, 'read from');
        skip ??= await firstOf(ref, step);
        for (;;) {
          const chunks = await read(step, runId, name, after);
          if (!chunks) return controller.close();
          if ('continuedTo' in chunks) {
            // What the run goes on as writes on to the stream.
            runId = chunks.continuedTo;
            after = 0;
            continue;
          }
          const last = after;
          let given = false;
          for (const { n, payload } of chunks) {
            after = n;
            if (payload === STREAM_END) return controller.close();
            if (skip > 0) skip -= 1;
            else {
              controller.enqueue(decode(payload) as T);
              given = true;
            }
          }
          if (given) return;
          if (after === last) return controller.close();
        }
      },
    },
    // Nothing is read before it is asked for: in a body it may not be.
    { highWaterMark: 0 },
  );
  return markRunStream(stream, ref);
}

/**
 * Stores what a stream gives as a stream of the run, and marks it, so that it is recorded by its name. Each attempt has
 * a stream of its own: what one that failed has written is not read.
 */
export async function keepStream(
  stream: ReadableStream<unknown>,
  { nth, encode, limit }: FrameCodec & { nth: number; limit: number },
): Promise<void> {
  const context = stepOf(currentContext(), 'write to');
  const { execution, call, attempt } = context;
  const name = `step:${call}:${attempt}:${nth}`;
  for await (const value of stream as unknown as AsyncIterable<unknown>) {
    const payload = toFrame(value, encode, limit);
    await execution.writeChunks([{ namespace: name, payload }]);
  }
  await execution.writeChunks([{ namespace: name, payload: STREAM_END }]);
  markRunStream(stream, { name, runId: execution.run.runId });
}

/** How many frames of the stream there are so far. */
export async function countFrames(ref: StreamRef & { runId: string }, context: StepContext): Promise<number> {
  let count = 0;
  for (let after = 0; ;) {
    const chunks = await context.execution.ambient.client.listChunks(ref.runId, ref.name, after);
    if (chunks.length === 0) return count;
    count += chunks.filter(({ payload }) => payload !== STREAM_END).length;
    after = chunks.at(-1)?.n ?? after;
  }
}

// --- internal ---

function toFrame(value: unknown, encode: FrameCodec['encode'], limit = VALUE_BYTES): string {
  const given = { value, what: 'frame', limit };
  if (isSurelyLarger(value, limit)) throw tooLargeResult(given);
  return boundValue(encode(value, 'frame'), given);
}

function stepOf(context: EngineContext | undefined, what: string): StepContext {
  if (context?.kind === 'step') return context;
  throw new Error(`A workflow body cannot ${what} a stream. Hand the stream to a step.`);
}

function writerOf(context: EngineContext | undefined, runId?: string) {
  const { execution } = stepOf(context, 'write to');
  return (chunks: { namespace: string; payload: string }[]) => execution.writeChunks(chunks, runId);
}

function read({ execution, signal }: StepContext, runId: string, name: string, after: number) {
  return execution.ambient.client.readChunks({ runId, name, after, signal });
}

async function firstOf(ref: StreamRef & { runId: string }, context: StepContext): Promise<number> {
  const { startIndex = 0 } = ref;
  return startIndex >= 0 ? startIndex : Math.max(0, startIndex + (await countFrames(ref, context)));
}
