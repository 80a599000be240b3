import { z } from 'zod';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { STREAM_END } from '../engine/values/stream-ref.ts';
import { BoxError } from '../errors.ts';
import { RECONNECT, RETRY_HINT } from '../http/sse.ts';
import type { Frames } from '../http/sse.ts';
import { toShownValue } from '../json-value.ts';

/** A stream that a run has written to. */
export const RunStream = z.object({
  name: z.string().describe('Its namespace: `default`, or `step:…` of a stream that a step has returned'),
  frames: z.int().describe('How many there are so far, of the newest 100,000 of the run'),
  lastEventId: z.string().describe('The id of the last frame'),
  isClosed: z.boolean().describe('Its writer has closed it: no frame comes after the last one'),
});
export type RunStream = z.infer<typeof RunStream>;

export interface StreamRequest {
  runId: string;
  name: string;
  /** The first frame, from 0; below 0: counted from the end. Default 0. */
  startIndex?: number;
  /** Goes on after the frame with this id, wherever `startIndex` is. */
  lastEventId?: string;
  /** Whether frames are waited for until the stream is closed or the run is over. */
  follow: boolean;
}

export interface StreamSources {
  journal: Pick<Journal, 'chunks' | 'getLastRun' | 'getRun'>;
  engine: Pick<Engine, 'nextChange' | 'closing'>;
}

/** The streams of a run, in the order of their first frames. Those of answers to webhooks are the box's own. */
export async function listStreams({ journal }: Pick<StreamSources, 'journal'>, runId: string): Promise<RunStream[]> {
  const found = await journal.chunks.list(runId, MOST_FRAMES);
  return found
    .filter(({ namespace }) => !namespace.startsWith('webhook:'))
    .map(({ namespace, count, last, isClosed }) => ({
      name: namespace,
      frames: count,
      lastEventId: toId(runId, last),
      isClosed,
    }));
}

/** Where a request begins. Throws `invalid_request` where its `lastEventId` is none of such a stream. */
export async function findPlace(request: StreamRequest, { journal }: StreamSources): Promise<StreamPlace> {
  const { runId, name, startIndex = 0, lastEventId } = request;
  if (lastEventId === undefined) return { runId, ...(await journal.chunks.findFrame(runId, name, startIndex)) };
  const [, of = '', n] = /^([\da-f-]{36}):(\d{1,10})$/.exec(lastEventId) ?? [];
  if (n !== undefined && (await isOneChain(journal, of, runId))) return { runId: of, after: Number(n), skip: 0 };
  throw new BoxError('invalid_request', `"${lastEventId}" is no event id of this stream.`);
}

export interface StreamPlace {
  runId: string;
  /** The frame before the first one. */
  after: number;
  /** So many of those that come are left out. */
  skip: number;
}

/**
 * A `frame` event for each frame, with `value`, and `end`. Its ids, `<runId>:<n>`, hold on any replica. What the run
 * goes on as is read as well: there the stream of the same name goes on.
 */
export async function* streamFrames(
  { journal, engine }: StreamSources,
  place: StreamPlace,
  { name, follow, signal }: { name: string; follow: boolean; signal: AbortSignal },
): Frames & AsyncGenerator<string> {
  const stop = AbortSignal.any([signal, engine.closing]);
  let { runId, after, skip } = place;
  yield RECONNECT;
  while (!signal.aborted) {
    const changed = follow ? engine.nextChange(runId, stop) : undefined;
    // The run is read before its frames: what it wrote before it ended is among them.
    const run = await journal.getRun(runId);
    const chunks = await journal.chunks.read(runId, name, { after, limit: BATCH });
    for (const { n, payload } of chunks) {
      after = n;
      if (payload === STREAM_END) return yield toEnd(run, runId, { after, reason: 'closed' });
      if (skip > 0) skip -= 1;
      else yield toEvent('frame', toId(runId, n), { value: toShownValue(payload) });
    }
    if (chunks.length > 0) continue;
    if (run?.continuedTo) {
      runId = run.continuedTo;
      after = 0;
      continue;
    }
    if (!run || isFinal(run.status)) return yield toEnd(run, runId, { after, reason: 'run_over' });
    if (!follow) return yield toEnd(run, runId, { after, reason: 'caught_up' });
    if (engine.closing.aborted) return yield RETRY_HINT;
    await changed;
  }
}

// --- internal ---

const BATCH = 100;
const MOST_FRAMES = 100_000;

async function isOneChain({ getLastRun }: Pick<Journal, 'getLastRun'>, one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  const [last, otherLast] = await Promise.all([getLastRun(one), getLastRun(other)]);
  return last !== undefined && last.runId === otherLast?.runId;
}

function toId(runId: string, n: number): string {
  return `${runId}:${n}`;
}

function toEnd(run: RunRow | undefined, runId: string, { after, reason }: { after: number; reason: string }): string {
  return toEvent('end', toId(runId, after), { runId, status: run?.status ?? 'deleted', reason });
}

function toEvent(name: string, id: string, data: unknown): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
