import type { RunningTurn } from '../agents/reading/running-turn.ts';
import { toErrorEvent } from '../agents/events/turn-errors.ts';
import type { TurnEvent } from '../agents/events/turn-events.ts';
import type { Watched } from '../auth/credential-watch.ts';
import { untilAborted } from '../http/expiry.ts';

/** The events of a turn for as long as its reader may read them: then its last one is an error, and the turn is left. */
export async function* untilCut(
  turn: Pick<RunningTurn, 'events' | 'leave'>,
  { signal, leave }: Watched,
): AsyncGenerator<readonly TurnEvent[]> {
  try {
    const end = yield* untilAborted(turn.events, signal, () => {});
    if (end === 'done') return;
    turn.leave();
    yield [toErrorEvent(signal.reason)];
  } finally {
    leave();
  }
}
