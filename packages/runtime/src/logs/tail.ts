import { createFanOut } from '../events/fan-out.ts';
import { createReader } from '../events/reader.ts';
import type { Reader } from '../events/reader.ts';
import { runOutside } from '../engine/context.ts';
import { RECONNECT, RETRY_HINT } from '../http/sse.ts';
import type { Frames } from '../http/sse.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import type { LogEntry } from './entry.ts';
import { createMatch } from './filter.ts';
import type { LogFilter } from './filter.ts';
import type { LogStore } from './store.ts';

export interface LogTail {
  /** Entries that match, from now on or after the one with that id; ends when `isOver` says when. */
  follow(request: TailRequest): Frames;
  /** Something was stored here, up to this id. */
  stored(last: number): void;
  close(): Promise<void>;
}

export interface TailRequest {
  filter: LogFilter;
  /** Undefined: from now on. */
  after: string | undefined;
  /** From the first one that is kept, where `after` says nothing. */
  fromStart?: boolean;
  signal: AbortSignal;
  /** Resolves when no more can come: what is stored by then is sent, and the stream ends. */
  over?: Promise<void>;
}

export interface LogTailOptions {
  store: Pick<LogStore, 'follow' | 'bounds'>;
  owner: string;
  /** Undefined: no other replica, or none that can be notified. */
  kv?: KeyValueStore | undefined;
  /** Milliseconds between two looks for what replicas have stored without saying so. */
  pollMs?: number;
  /** Bytes held for a client that does not read. */
  maxBytes?: number;
}

/**
 * Everybody reads the store in the order of its ids; what is published is only that there is more to read. While a client
 * listens, one query for all of them follows each batch, here or on another replica.
 */
export function createLogTail({ store, owner, kv, pollMs = POLL_MS, maxBytes = MAX_BYTES }: LogTailOptions): LogTail {
  const readers = new Set<Listener>();
  /** Up to here it has been read for those who listen. */
  let known = 0;
  let pumping: Promise<boolean> | undefined;
  let isBehind = false;
  let poll: ReturnType<typeof setInterval> | undefined;
  let closed = false;
  const closing = new AbortController();

  const pump = async (): Promise<void> => {
    while (isBehind && readers.size > 0) {
      isBehind = false;
      const { newest } = await store.bounds();
      while (known < newest) {
        const entries = await store.follow({}, { after: known, upTo: newest, limit: PAGE });
        known = entries.length < PAGE ? newest : (entries.at(-1)?.id ?? newest);
        for (const reader of readers) reader.take(entries);
      }
    }
  };
  /** False: the store does not answer. It is asked again with the next look. */
  const read = (): Promise<boolean> => {
    isBehind = true;
    return (pumping ??= runOutside(pump).then(
      () => ((pumping = undefined), true),
      () => ((pumping = undefined), false),
    ));
  };
  const look = (): void => {
    if (readers.size > 0 && !closed) void read();
  };
  const fanOut = kv && createFanOut({ kv, owner, topic: 'logs', onEvent: look, onHeard() {} });
  const enter = (listener: Listener): void => {
    readers.add(listener);
    if (readers.size > 1) return;
    fanOut?.listen(true);
    poll = setInterval(look, pollMs);
    poll.unref();
  };
  const leave = (listener: Listener): void => {
    if (!readers.delete(listener) || readers.size > 0) return;
    clearInterval(poll);
    fanOut?.listen(false);
  };
  /** What is stored between `after` and the newest one, at the pace of the client. */
  async function* catchUp(filter: LogFilter, after: number, upTo: number): Frames {
    for (let from = after; ;) {
      const entries = await store.follow(filter, { after: from, upTo, limit: PAGE });
      yield* entries.map(toFrame);
      if (entries.length < PAGE) return;
      from = entries.at(-1)?.id ?? upTo;
    }
  }

  async function* follow({ filter, after, fromStart, signal, over }: TailRequest): Frames {
    yield RECONNECT;
    const { oldest, newest } = await store.bounds();
    const asked = after === undefined ? undefined : parseId(after);
    const isKnown = asked !== undefined && asked <= newest && asked >= oldest - 1;
    let position = isKnown ? asked : after === undefined && fromStart ? 0 : newest;
    if (after !== undefined && !isKnown) yield `id: ${newest}\nevent: reset\ndata: {}\n\n`;
    else if (position === newest) yield `id: ${newest}\n\n`;
    let upTo = newest;
    // Until nothing was stored while the client read: from then on it is notified with the others.
    for (;;) {
      yield* catchUp(filter, position, upTo);
      position = upTo;
      if (readers.size === 0) known = Math.max(known, position);
      if (position >= known) break;
      upTo = known;
    }
    if (signal.aborted || closed) return yield RETRY_HINT;
    const listener = createListener({ filter, position, maxBytes, onEnd: () => leave(listener) });
    enter(listener);
    look();
    const stop = () => listener.reader.end();
    signal.addEventListener('abort', stop, { once: true });
    closing.signal.addEventListener('abort', stop, { once: true });
    // One that could not be sent everything comes back with the id of the last it has.
    void over?.then(read).then(
      (isDrained) => listener.reader.end(isDrained ? END : undefined),
      () => listener.reader.end(),
    );
    try {
      yield* listener.reader.frames;
    } finally {
      signal.removeEventListener('abort', stop);
      closing.signal.removeEventListener('abort', stop);
      leave(listener);
    }
    if (closed) yield RETRY_HINT;
  }

  return {
    follow,
    stored(last) {
      look();
      if (fanOut?.isHeard) fanOut.send(['stored', String(last)]);
    },
    async close() {
      closed = true;
      closing.abort();
      clearInterval(poll);
      await pumping;
      await fanOut?.close();
    },
  };
}

/** `undefined`: it is none. */
export function parseId(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

// --- internal ---

const PAGE = 500;
const POLL_MS = 2_000;
const MAX_BYTES = 256 * 1_024;
const END = 'event: end\ndata: {}\n\n';

interface Listener {
  reader: Reader;
  take(entries: readonly LogEntry[]): void;
}

interface ListenerOptions {
  filter: LogFilter;
  position: number;
  maxBytes: number;
  onEnd(): void;
}

function createListener({ filter, position, maxBytes, onEnd }: ListenerOptions): Listener {
  const matches = createMatch(filter);
  const reader = createReader({ first: [], maxBytes, onEnd });
  return {
    reader,
    take(entries) {
      for (const entry of entries) if (entry.id > position && matches(entry)) reader.push(toFrame(entry));
    },
  };
}

function toFrame(entry: LogEntry): string {
  return `id: ${entry.id}\nevent: log\ndata: ${JSON.stringify(entry)}\n\n`;
}
