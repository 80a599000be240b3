import type { Interrupt } from '../events/turn-events.ts';

/** When a turn, its tools and its sub-agents were at work, and when their calls waited for approvals. */
export interface TurnTimes extends Span {
  approvals: (Span & { interrupt: Interrupt })[];
  tools: Span[];
  tasks: TurnTimes[];
}

export interface Span {
  from: number;
  /** Infinity: not yet. */
  to: number;
}

/** What a turn waited for when it first did nothing but wait for approvals. None: it never did. */
export function findFirstWait(turn: TurnTimes): Interrupt[] {
  const times = listTimes(turn).sort((a, b) => a - b);
  for (const at of times) {
    const waits = listWaits(turn, at);
    if (waits.length > 0) return waits;
  }
  return [];
}

// --- internal ---

/** When it may have come to rest: a call begins to wait, or a tool or a sub-agent is done. */
function listTimes({ approvals, tools, tasks }: TurnTimes): number[] {
  const own = [...approvals.map(({ from }) => from), ...tools.map(({ to }) => to)];
  return [...own, ...tasks.flatMap((task) => [task.to, ...listTimes(task)])];
}

/** None: it does something else, too. */
function listWaits({ approvals, tools, tasks }: TurnTimes, at: number): Interrupt[] {
  if (tools.some(({ from, to }) => from <= at && at < to)) return [];
  const own = approvals.filter(({ from, to }) => from <= at && at <= to).map(({ interrupt }) => interrupt);
  const below = tasks.filter(({ from, to }) => from <= at && at < to).map((task) => listWaits(task, at));
  return below.some((waits) => waits.length === 0) ? [] : [...own, ...below.flat()];
}
