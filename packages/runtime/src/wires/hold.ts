import type { RunningTurn } from '../agents/reading/running-turn.ts';
import { isTerminal } from '../agents/events/turn-events.ts';
import type { EventBatches, TurnEvent } from '../agents/events/turn-events.ts';
import { toFailure } from './wire-error.ts';
import type { TurnFailure } from './wire-error.ts';

const LONGEST_HOLD_MS = 10_000;

/** What ended a turn that failed. Once there was output, it is no use to wait and ask again. */
export function failureIn(events: readonly TurnEvent[]): TurnFailure | undefined {
  const failure = toFailure(events.at(-1));
  return failure && events.some(isOutput) ? { ...failure, retryAfter: undefined } : failure;
}

/** Keeps the HTTP status open until there is output, so that a provider's failure becomes a real status. At most 10 s. */
export async function holdUntilOutput(
  turn: Pick<RunningTurn, 'events'>,
): Promise<{ all: EventBatches; failed?: TurnFailure }> {
  const iterator = turn.events[Symbol.asyncIterator]();
  const held: TurnEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), LONGEST_HOLD_MS)));
  try {
    for (;;) {
      const pending = iterator.next();
      const next = await Promise.race([pending, late]);
      if (next === 'late') return { all: replay(held, iterator, pending) };
      if (next.done) return { all: replay(held, iterator) };
      for (const event of next.value) held.push(event);
      // An error among output is sent in the stream; one before it is the answer.
      const first = next.value.find((event) => toFailure(event) || isOutput(event));
      const failed = toFailure(first);
      if (failed) return { all: replay(held, iterator), failed };
      if (first || isTerminal(held.at(-1))) return { all: replay(held, iterator) };
    }
  } finally {
    clearTimeout(timer);
  }
}

// --- internal ---

function isOutput({ type }: TurnEvent): boolean {
  return type === 'interrupt' || /^(?:text|reasoning|tool)\./.test(type);
}

async function* replay(
  held: TurnEvent[],
  iterator: AsyncIterator<readonly TurnEvent[]>,
  pending?: Promise<IteratorResult<readonly TurnEvent[]>>,
): AsyncGenerator<readonly TurnEvent[]> {
  yield held;
  for (let next = await (pending ?? iterator.next()); !next.done; next = await iterator.next()) yield next.value;
}
