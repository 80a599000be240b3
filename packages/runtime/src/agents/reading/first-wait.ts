import type { Interrupt } from '../events/turn-events.ts';

/** When a turn, its tools and its sub-agents were at work, and when a person was asked in them. */
export interface AskedTurn extends Span {
  asked: (Span & { interrupt: Interrupt })[];
  tools: Span[];
  tasks: AskedTurn[];
}

export interface Span {
  from: number;
  /** Infinity: not yet. */
  to: number;
}

/** What a turn waited for when it first did nothing but wait for people. None: it never did. */
export function findFirstPause(turn: AskedTurn): Interrupt[] {
  const times = listTimes(turn).sort((a, b) => a - b);
  for (const at of times) {
    const waits = listWaits(turn, at);
    if (waits.length > 0) return waits;
  }
  return [];
}

// --- internal ---

/** When it may have come to rest: somebody is asked, or a tool or a sub-agent is done. */
function listTimes({ asked, tools, tasks }: AskedTurn): number[] {
  const own = [...asked.map(({ from }) => from), ...tools.map(({ to }) => to)];
  return [...own, ...tasks.flatMap((task) => [task.to, ...listTimes(task)])];
}

/** None: it does something else, too. */
function listWaits({ asked, tools, tasks }: AskedTurn, at: number): Interrupt[] {
  if (tools.some(({ from, to }) => from <= at && at < to)) return [];
  const own = asked.filter(({ from, to }) => from <= at && at <= to).map(({ interrupt }) => interrupt);
  const below = tasks.filter(({ from, to }) => from <= at && at < to).map((task) => listWaits(task, at));
  return below.some((waits) => waits.length === 0) ? [] : [...own, ...below.flat()];
}
