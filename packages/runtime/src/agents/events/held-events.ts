import type { TurnEvent } from './turn-events.ts';

/** Events that are not read yet. */
export interface HeldEvents {
  add(event: TurnEvent): void;
  /** All there are. */
  take(): TurnEvent[];
  /** Characters, and as many for each event as it takes in memory. */
  readonly size: number;
}

/**
 * Beyond `joinedFrom` the pieces of a text are joined: how many there are is for the provider to choose, and one of a
 * single character takes a hundred times its size.
 */
export function createHeldEvents(joinedFrom: number): HeldEvents {
  let events: TurnEvent[] = [];
  let size = 0;
  let open: Joined | undefined;
  const settle = (): void => {
    if (open) events[events.length - 1] = withText(open.first, textOf(open));
    open = undefined;
  };
  return {
    get size() {
      return size;
    },
    add(event) {
      const text = textIn(event);
      size += text.length;
      if (open && isDelta(event) && continues(open.first, event)) return append(open, text);
      settle();
      size += EVENT_SIZE + (event.type === 'text.logprobs' ? event.size : 0);
      events.push(event);
      if (size > joinedFrom && isDelta(event)) open = { first: event, text, pieces: [] };
    },
    take() {
      settle();
      const taken = events;
      events = [];
      size = 0;
      return taken;
    },
  };
}

// --- internal ---

const EVENT_SIZE = 128;
/** A text that grows piece by piece keeps every piece. */
const MOST_PIECES = 256;

type Delta = Extract<TurnEvent, { type: 'text.delta' | 'reasoning.delta' | 'tool.args' }>;

/** The last event, while the pieces after it are joined to it. */
interface Joined {
  first: Delta;
  text: string;
  pieces: string[];
}

function append(joined: Joined, piece: string): void {
  joined.pieces.push(piece);
  if (joined.pieces.length < MOST_PIECES) return;
  joined.text = textOf(joined);
  joined.pieces = [];
}

function textOf({ text, pieces }: Joined): string {
  return text + pieces.join('');
}

function isDelta(event: TurnEvent): event is Delta {
  return event.type === 'text.delta' || event.type === 'reasoning.delta' || event.type === 'tool.args';
}

function continues(first: Delta, next: Delta): boolean {
  if (first.type === 'tool.args') return next.type === 'tool.args' && next.callId === first.callId;
  return next.type === first.type && next.id === first.id;
}

/** Another one: others read the same event. */
function withText(delta: Delta, text: string): TurnEvent {
  return delta.type === 'tool.args' ? { ...delta, delta: text } : { ...delta, text };
}

function textIn(event: TurnEvent): string {
  if (event.type === 'text.delta' || event.type === 'reasoning.delta') return event.text;
  if (event.type === 'tool.args') return event.delta;
  if (event.type === 'tool.end') return event.args;
  return event.type === 'tool.result' ? event.content : '';
}
