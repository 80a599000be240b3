import type { TurnEvent } from '../agents/events/turn-events.ts';

/**
 * The frames of many events as few texts, each made when the one before it has been taken: for one who reads slowly
 * they would take many times what the events do.
 */
export function* joinFrames(events: readonly TurnEvent[], toFrames: (event: TurnEvent) => string): Generator<string> {
  let joined = '';
  for (const event of events) {
    joined += toFrames(event);
    if (joined.length < LONGEST) continue;
    yield joined;
    joined = '';
  }
  if (joined !== '') yield joined;
}

// --- internal ---

const LONGEST = 65_536;
