import { isTerminal } from '../events/turn-events.ts';
import type { EventBatches, TurnEvent } from '../events/turn-events.ts';

export interface FollowedTurn {
  /** From what is made now on, and what its last model call has said before, where the turn runs in this process. */
  live: EventBatches;
  /** What the journal has of it, from its beginning; where it has ended or waits, up to there. */
  readMade(): Promise<readonly TurnEvent[]>;
  /** Resolves once the turn may have made more that is recorded, or the signal aborts. */
  nextChange(signal: AbortSignal): Promise<void>;
}

/**
 * A turn under way as it was emitted from its beginning, without `turn.start`: what is recorded comes at once, then each
 * piece as it is made. Of a model call whose beginning is not known here, as that of another process, the whole comes once
 * it is recorded.
 */
export async function* followTurn({ live, readMade, nextChange }: FollowedTurn): AsyncGenerator<readonly TurnEvent[]> {
  const sent = createSent();
  const over = new AbortController();
  const batches = live[Symbol.asyncIterator]();
  const readPaced = createPacedRead(readMade);
  const nextLook = async (): Promise<undefined> => {
    await Promise.all([nextChange(over.signal), readPaced.pause(over.signal)]);
  };
  try {
    // Before it is read: what changes meanwhile is looked at once more.
    let look = nextLook();
    yield sent.take(await readPaced());
    let next = batches.next();
    for (;;) {
      const got = await (sent.isLive ? next : Promise.race([next, look]));
      if (got === undefined) {
        look = nextLook();
        yield sent.take(await readPaced());
        continue;
      }
      if (got.done) return;
      const news: TurnEvent[] = [];
      for (const event of got.value) {
        if (isTerminal(event)) append(news, event.type === 'error' ? [] : sent.take(await readMade()));
        else if (!sent.isLive && event.type === 'step.start' && event.step > sent.step)
          append(news, sent.takeUpTo(event.step, await readMade()));
        if (sent.isLive || isTerminal(event)) news.push(sent.note(event));
      }
      yield news;
      next = batches.next();
    }
  } finally {
    over.abort();
    void batches.return?.();
  }
}

// --- internal ---

/** Between two looks at the journal, at least; and so many times what a look takes. */
const LOOK_MS = 250;
const LOOK_SHARE = 10;

/** What the reader of a turn has of it. */
interface Sent {
  /** It has the beginning of a step that goes on here: what comes is passed on as it is made. */
  readonly isLive: boolean;
  /** The last step that it has, or has the beginning of. */
  readonly step: number;
  /** What it lacks of what is recorded. */
  take(made: readonly TurnEvent[]): TurnEvent[];
  /** The same up to the beginning of a step that is passed on from here. */
  takeUpTo(step: number, made: readonly TurnEvent[]): TurnEvent[];
  /** Notes an event that is passed on, and answers it. */
  note(event: TurnEvent): TurnEvent;
}

function createSent(): Sent {
  /** Of each event that it has, by what names it. What is recorded may come to stand before what was recorded first. */
  const had = new Set<string>();
  let step = 0;
  let isOpen = false;
  let isLive = false;

  const note = (event: TurnEvent, of = step): TurnEvent => {
    if (event.type === 'step.start') [step, isOpen] = [event.step, true];
    if (event.type === 'step.end') isOpen = false;
    had.add(nameOf(event, of));
    return event;
  };
  const take = (made: readonly TurnEvent[], before = Infinity): TurnEvent[] => {
    const news: TurnEvent[] = [];
    const known = step;
    let of = 0;
    for (const event of made) {
      if (event.type === 'step.start') of = event.step;
      if (of >= before) break;
      // What an agent keeps comes at the end, as it is then: again where steps were made elsewhere.
      const isNew = !had.has(nameOf(event, of)) || (event.type === 'state' && of > known);
      if (isNew && !isTerminal(event)) news.push(note(event, of));
    }
    return news;
  };
  const closeStep = (): TurnEvent[] => (isOpen ? [note({ type: 'step.end', step })] : []);

  return {
    get isLive() {
      return isLive;
    },
    get step() {
      return step;
    },
    note,
    take,
    takeUpTo(first, made) {
      const news = [...take(made, first), ...closeStep()];
      isLive = true;
      return news;
    },
  };
}

/** What no other event of a turn has, but for the pieces of one part: of what is recorded a part has one piece. */
function nameOf(event: TurnEvent, of: number): string {
  if ('callId' in event && event.type !== 'interrupt') return `${event.type} ${event.callId}`;
  if ('id' in event) return `${event.type} ${event.id}`;
  if (event.type === 'state') return event.type;
  return `${event.type} ${'step' in event ? event.step : of}`;
}

type PacedRead = FollowedTurn['readMade'] & {
  /** Resolves when it is worth to read it again, or the signal aborts. */
  pause(signal: AbortSignal): Promise<void>;
};

/** All that is recorded is read each time: of a long turn that takes longer, and is done the less often. */
function createPacedRead(readMade: FollowedTurn['readMade']): PacedRead {
  let took = 0;
  const read = async (): Promise<readonly TurnEvent[]> => {
    const from = performance.now();
    const made = await readMade();
    took = performance.now() - from;
    return made;
  };
  const pause = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(LOOK_MS, took * LOOK_SHARE));
      signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  return Object.assign(read, { pause });
}

/** One by one: there may be more than a call takes arguments. */
function append(list: TurnEvent[], events: readonly TurnEvent[]): void {
  for (const event of events) list.push(event);
}
