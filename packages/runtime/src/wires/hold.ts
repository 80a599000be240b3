import type { RunningTurn } from '../agents/agents.ts';
import { isTerminal } from './events.ts';
import type { TurnEvent } from './events.ts';

/** Keeps the HTTP status open until there is output, so that a provider's failure becomes a real status. At most 10 s. */
export async function holdUntilOutput(
  turn: Pick<RunningTurn, 'events'>,
): Promise<{ all: AsyncIterable<TurnEvent>; failed?: Extract<TurnEvent, { type: 'error' }> }> {
  const iterator = turn.events[Symbol.asyncIterator]();
  const held: TurnEvent[] = [];
  let pending = iterator.next();
  const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), 10_000).unref());
  for (;;) {
    const next = await Promise.race([pending, late]);
    if (next === 'late' || next.done) break;
    held.push(next.value);
    if (next.value.type === 'error') return { all: replay(held, iterator, undefined), failed: next.value };
    if (isTerminal(next.value)) return { all: replay(held, iterator, undefined) };
    pending = iterator.next();
    if (/^(?:text|reasoning|tool)\.|^interrupt$/.test(next.value.type)) break;
  }
  return { all: replay(held, iterator, pending) };
}

// --- internal ---

async function* replay(
  held: TurnEvent[],
  iterator: AsyncIterator<TurnEvent>,
  pending: Promise<IteratorResult<TurnEvent>> | undefined,
): AsyncGenerator<TurnEvent> {
  yield* held;
  for (let next = await (pending ?? iterator.next()); !next.done; next = await iterator.next()) yield next.value;
}
