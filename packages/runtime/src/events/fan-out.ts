import type { Grants } from '../auth/caller.ts';
import type { Permission } from '../auth/permissions.ts';
import type { KeyValueStore } from '../stores/kv.ts';

/**
 * An event on its way: its name, its data as JSON text, the one caller who may see it besides those who see all, the
 * permissions of which a caller must hold one to get it, the key or user whose run it is of, and what these must be granted.
 */
export type Published = [
  type: string,
  data: string,
  askedBy?: string | null,
  needed?: readonly Permission[] | null,
  owner?: string | null,
  grant?: Grant | null,
];

/** The agent or workflow that a run is of. */
export type Grant = [what: keyof Grants, name: string];

/** What replicas publish to each other of events: only while a client of another one listens. */
export interface FanOut {
  /** A client of another replica listens. */
  readonly isHeard: boolean;
  send(event: Published): void;
  /** Whether clients of this replica listen: the others are notified, repeatedly while they do. */
  listen(isListening: boolean): void;
  close(): Promise<void>;
}

export interface FanOutOptions {
  kv: KeyValueStore;
  owner: string;
  /** The topic, among all that replicas publish. */
  topic: string;
  onEvent(event: Published): void;
  onHeard(): void;
}

export function createFanOut({ kv, owner, topic, onEvent, onHeard }: FanOutOptions): FanOut {
  const pending: Published[] = [];
  let sending: Promise<void> | undefined;
  let heardTimer: ReturnType<typeof setTimeout> | undefined;
  let beat: ReturnType<typeof setInterval> | undefined;
  let isHeard = false;
  let closed = false;

  // Lost is lost: a client that must know looks at the lists.
  const publish = (message: Message): Promise<void> => kv.publish(topic, JSON.stringify(message)).catch(() => {});
  const flush = async (): Promise<void> => {
    // What one turn of the event loop publishes shares a message.
    await new Promise((resolve) => setImmediate(resolve));
    while (pending.length > 0) await publish({ from: owner, events: pending.splice(0, MAX_PENDING) });
    sending = undefined;
  };
  const hear = (): void => {
    clearTimeout(heardTimer);
    heardTimer = setTimeout(() => {
      isHeard = false;
      onHeard();
    }, HEARD_MS);
    heardTimer.unref();
    if (isHeard) return;
    isHeard = true;
    onHeard();
  };
  const subscribed = kv.subscribe(topic, (text) => {
    const message = parse(text);
    if (closed || !message || message.from === owner) return;
    if (message.events) for (const event of message.events) onEvent(event);
    else hear();
  });

  return {
    get isHeard() {
      return isHeard;
    },
    send(event) {
      if (closed || pending.length >= MAX_PENDING) return;
      pending.push(event);
      sending ??= flush();
    },
    listen(isListening) {
      clearInterval(beat);
      beat = undefined;
      if (!isListening || closed) return;
      void publish({ from: owner });
      beat = setInterval(() => void publish({ from: owner }), BEAT_MS);
      beat.unref();
    },
    async close() {
      closed = true;
      clearTimeout(heardTimer);
      clearInterval(beat);
      (await subscribed)();
      await sending;
    },
  };
}

// --- internal ---

const BEAT_MS = 5_000;
/** Three beats: one may be lost. */
const HEARD_MS = 15_000;
const MAX_PENDING = 10_000;

interface Message {
  from: string;
  /** Absent: a client of that replica listens. */
  events?: Published[];
}

/** Undefined: not one of ours. */
function parse(text: string): Message | undefined {
  try {
    const { from, events } = JSON.parse(text) as Partial<Message>;
    if (typeof from !== 'string') return undefined;
    return Array.isArray(events) ? { from, events } : { from };
  } catch {
    return undefined;
  }
}
