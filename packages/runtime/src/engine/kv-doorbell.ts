import type { Doorbell, RingKind } from './doorbell.ts';
import type { KeyValueStore } from '../stores/kv.ts';

export interface KvDoorbell extends Doorbell {
  /** Resolves when what was rung has been sent, or cannot be. */
  close(): Promise<void>;
}

/** The doorbell over a key-value store: one topic; what is rung while a message is under way goes with the next. */
export function createKvDoorbell(kv: KeyValueStore, owner: string): KvDoorbell {
  const pending = new Set<string>();
  const stops: Promise<() => void>[] = [];
  let sending: Promise<void> | undefined;
  let closed = false;

  const send = async (): Promise<void> => {
    // What one turn of the event loop rings shares a message.
    await new Promise((resolve) => setImmediate(resolve));
    while (pending.size > 0) {
      const message: Message = { from: owner, rings: [...pending] };
      pending.clear();
      // Lost is lost: those who would have heard it look by themselves.
      await kv.publish(TOPIC, JSON.stringify(message)).catch(() => {});
    }
    sending = undefined;
  };

  return {
    ring(kind, runId, to) {
      if (closed || pending.size >= MAX_PENDING) return;
      pending.add(to === undefined ? `${kind} ${runId}` : `${kind} ${runId} ${to}`);
      sending ??= send();
    },
    listen(listener) {
      const stop = kv.subscribe(TOPIC, (text) => {
        const message = parse(text);
        if (!message || message.from === owner) return;
        for (const ring of message.rings) {
          const [kind, runId = '', to] = ring.split(' ');
          listener(kind as RingKind, runId, to);
        }
      });
      stops.push(stop);
      return () => void stop.then((done) => done());
    },
    async close() {
      closed = true;
      for (const stop of stops) (await stop)();
      await sending;
    },
  };
}

// --- internal ---

const TOPIC = 'runs';
/** Beyond it the other replicas find out by looking. */
const MAX_PENDING = 10_000;

interface Message {
  from: string;
  /** `<kind> <run id>`, and the owner it is meant for. */
  rings: string[];
}

/** Undefined: not one of ours. Other programs may use the server, and another release another form. */
function parse(text: string): Message | undefined {
  try {
    const { from, rings } = JSON.parse(text) as Partial<Message>;
    if (typeof from !== 'string' || !Array.isArray(rings)) return undefined;
    return { from, rings: rings.filter((ring) => typeof ring === 'string') };
  } catch {
    return undefined;
  }
}
