import type { KeyValueStore } from '../stores/kv.ts';

/** An event on its way: its name, its data as JSON text, and the one caller it may be told to besides those who see all. */
export type Told = [type: string, data: string, askedBy?: string];

/** What replicas tell each other of events: only while a client of another one listens. */
export interface FanOut {
  /** A client of another replica listens. */
  readonly isHeard: boolean;
  send(told: Told): void;
  /** Whether clients of this replica listen: the others are told, again and again while they do. */
  listen(isListening: boolean): void;
  close(): Promise<void>;
}

export interface FanOutOptions {
  kv: KeyValueStore;
  owner: string;
  /** What is told, among all that replicas tell each other. */
  topic: string;
  onTold(told: Told): void;
  onHeard(): void;
}

export function createFanOut({ kv, owner, topic, onTold, onHeard }: FanOutOptions): FanOut {
  const pending: Told[] = [];
  let sending: Promise<void> | undefined;
  let heardTimer: ReturnType<typeof setTimeout> | undefined;
  let beat: ReturnType<typeof setInterval> | undefined;
  let isHeard = false;
  let closed = false;

  // Lost is lost: a client that must know looks at the lists.
  const publish = (message: Message): Promise<void> => kv.publish(topic, JSON.stringify(message)).catch(() => {});
  const flush = async (): Promise<void> => {
    // What one turn of the event loop tells shares a message.
    await new Promise((resolve) => setImmediate(resolve));
    while (pending.length > 0) await publish({ from: owner, told: pending.splice(0, MAX_PENDING) });
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
    if (message.told) for (const told of message.told) onTold(told);
    else hear();
  });

  return {
    get isHeard() {
      return isHeard;
    },
    send(told) {
      if (closed || pending.length >= MAX_PENDING) return;
      pending.push(told);
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
  told?: Told[];
}

/** Undefined: not one of ours. */
function parse(text: string): Message | undefined {
  try {
    const { from, told } = JSON.parse(text) as Partial<Message>;
    if (typeof from !== 'string') return undefined;
    return Array.isArray(told) ? { from, told } : { from };
  } catch {
    return undefined;
  }
}
