import { randomBytes } from 'node:crypto';
import { isGranted, may, toOwner } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { Permission } from '../auth/permissions.ts';
import { hiddenFrom, isKept } from '../auth/visibility.ts';
import { splitName } from '../definitions/subagents.ts';
import type { Lifecycle, LifecycleEvent } from '../engine/lifecycle.ts';
import { startedByOf } from '../engine/started-by.ts';
import { RECONNECT, RETRY_HINT } from '../http/sse.ts';
import type { Frames } from '../http/sse.ts';
import type { StreamLimits } from '../auth/stream-limits.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createFanOut } from './fan-out.ts';
import type { Grant, Published } from './fan-out.ts';
import { createReader } from './reader.ts';
import type { Reader } from './reader.ts';

/** What is published besides the lifecycle of runs. */
export type BoxEvent =
  | LifecycleEvent
  | { type: 'session.updated' | 'session.deleted'; sessionId: string; askedBy?: string | undefined }
  | { type: 'program.changed' }
  | WorkspaceChanged
  | ({ type: 'budget.warning' | 'budget.exceeded' } & BudgetFacts);

/** Someone has changed what a room holds: `config`, `secrets`. */
export interface WorkspaceChanged {
  type: 'workspace.changed';
  room: string;
  askedBy?: string | undefined;
}

/** Of tokens in a day or a month. */
export interface BudgetFacts {
  /** Whose budget it is. */
  kind: 'agent' | 'key' | 'user';
  id: string;
  period: 'day' | 'month';
  limit: number;
  used: number;
}

/** The one stream of all that happens. */
export interface Events extends Lifecycle {
  /** @param needed it is sent to callers that hold one of them. Undefined: to all who may read the stream */
  publish(event: BoxEvent, needed?: readonly Permission[]): void;
  /** Reads from now on, or after the event with that id. Throws `too_many_streams`. */
  open(caller: Caller, lastEventId: string | undefined, signal: AbortSignal): Frames;
  close(): Promise<void>;
}

export interface EventsOptions {
  limits: StreamLimits;
  owner: string;
  /** Undefined: no other replica, or none that can be notified. */
  kv?: KeyValueStore | undefined;
  /** Bytes held for a client that does not read. Default 256 KiB. */
  maxBytes?: number;
  /** Milliseconds for which events are kept once the last client has gone, for it to come back. Default 60,000. */
  lingerMs?: number;
}

/**
 * An event is made only while a client listens, here or on another replica. The last `RING` of them are kept for
 * clients that come back; once no client has listened for a while they are forgotten, and ids start over.
 */
export function createEvents({ limits, owner, kv, maxBytes = MAX_BYTES, lingerMs = LINGER_MS }: EventsOptions): Events {
  const readers = new Map<Reader, Viewer>();
  let ring: Kept[] = [];
  let epoch = newEpoch();
  /** The number of the newest event. */
  let last = 0;
  let isListening = false;
  let isFollowed = false;
  let linger: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  const update = (): void => void (isFollowed = isListening || (fanOut?.isHeard ?? false));
  const deliver = ([type, data, askedBy, needed, ownedBy, grant]: Published): void => {
    if (!isListening) return;
    last += 1;
    const frame = `id: ${epoch}-${last}\nevent: ${type}\ndata: ${data}\n\n`;
    const kept: Kept = {
      frame,
      askedBy: askedBy ?? undefined,
      needed: needed ?? undefined,
      owner: ownedBy ?? undefined,
      grant: grant ?? undefined,
    };
    ring.push(kept);
    if (ring.length > 2 * RING) ring = ring.slice(-RING);
    for (const [reader, maySee] of readers) if (maySee(kept)) reader.push(frame);
  };
  const fanOut = kv && createFanOut({ kv, owner, topic: 'events', onEvent: deliver, onHeard: update });
  const listen = (value: boolean): void => {
    isListening = value;
    update();
    fanOut?.listen(value);
    if (value) return;
    ring = [];
    last = 0;
    epoch = newEpoch();
  };
  const leave = (reader: Reader): void => {
    readers.delete(reader);
    if (readers.size > 0 || closed) return;
    linger = setTimeout(() => listen(false), lingerMs);
    linger.unref();
  };
  /** What a client that comes back has missed; undefined: that is not known any more. */
  const missedSince = (id: string): Kept[] | undefined => {
    const [, itsEpoch, n = ''] = /^([\da-f]{8})-(\d{1,15})$/.exec(id) ?? [];
    const missed = last - Number(n);
    if (itsEpoch !== epoch || missed < 0 || missed > ring.length) return undefined;
    return missed === 0 ? [] : ring.slice(-missed);
  };

  return {
    get isFollowed() {
      return isFollowed;
    },
    publish({ type, ...all }, needed) {
      if (!isFollowed) return;
      const { startedBy, askedBy, ...facts } = all as OfRun;
      const seen = askedBy === undefined ? facts : { ...facts, askedBy };
      const data = JSON.stringify({ ...seen, at: new Date().toISOString() });
      const ownedBy = startedBy !== undefined && OF_RUNS.test(type) ? ownerOf(startedBy) : undefined;
      const grant = ownedBy === undefined ? undefined : grantOf(facts);
      const event: Published = [type, data, askedBy ?? null, needed ?? null, ownedBy ?? null, grant ?? null];
      deliver(event);
      if (fanOut?.isHeard) fanOut.send(event);
    },
    open(caller, lastEventId, signal) {
      const maySee = toViewer(caller);
      const release = limits.enter(caller);
      clearTimeout(linger);
      if (!isListening) listen(true);
      const missed = lastEventId === undefined ? [] : missedSince(lastEventId);
      const now = `${epoch}-${last}`;
      // An id without data is no event, but it is where a client comes back to.
      const shown = missed?.filter(maySee).map(({ frame }) => frame);
      const first = shown
        ? [RECONNECT, ...(shown.length > 0 ? shown : [`id: ${now}\n\n`])]
        : [RECONNECT, `id: ${now}\nevent: reset\ndata: {}\n\n`];
      const onEnd = () => {
        signal.removeEventListener('abort', onGone);
        release();
        leave(reader);
      };
      const reader = createReader({ first, maxBytes, onEnd });
      const onGone = () => reader.end();
      readers.set(reader, maySee);
      if (signal.aborted || closed) reader.end(RETRY_HINT);
      else signal.addEventListener('abort', onGone, { once: true });
      return reader.frames;
    },
    async close() {
      closed = true;
      clearTimeout(linger);
      for (const reader of readers.keys()) reader.end(RETRY_HINT);
      isListening = false;
      isFollowed = false;
      await fanOut?.close();
    },
  };
}

// --- internal ---

/** An event as clients get it. */
interface Kept {
  frame: string;
  askedBy: string | undefined;
  needed: readonly Permission[] | undefined;
  /** Of a run that a key or a user has started. */
  owner: string | undefined;
  /** What such a caller must be granted as well. */
  grant: Grant | undefined;
}

/** What some events have beside their type. */
interface OfRun {
  startedBy?: string;
  askedBy?: string;
  kind?: string;
  name?: string;
}

/** Whether one client is sent it. */
type Viewer = (kept: Kept) => boolean;

/** What a key or a user is sent: how its own runs of what it is granted go, which are those it may read. */
const OF_RUNS = /^(?:run\.|step\.|state\.)/;

function toViewer(caller: Caller): Viewer {
  if (caller.role === null)
    return ({ owner, grant }) => owner === caller.owner && grant !== undefined && isGranted(caller, ...grant);
  const hidden = hiddenFrom(caller);
  return ({ askedBy, needed }) => !isKept(askedBy, hidden) && (needed?.some((each) => may(caller, each)) ?? true);
}

/** Events a client that comes back may have missed. */
const RING = 4_096;
const MAX_BYTES = 256 * 1_024;
const LINGER_MS = 60_000;

/** Undefined: a run of a person, or of the box. */
function ownerOf(startedBy: string): string | undefined {
  const by = startedByOf({ startedBy });
  return !by || by.client === null ? undefined : toOwner(by.client, by.user);
}

function grantOf({ kind, name = '' }: OfRun): Grant {
  return kind === 'agent' ? ['agents', splitName(name).agent] : ['workflows', name];
}

function newEpoch(): string {
  return randomBytes(4).toString('hex');
}
