import type { Caller } from '../auth/caller.ts';
import { hiddenFrom } from '../auth/visibility.ts';
import type { Rooms } from './rooms.ts';
import { runNotFound } from '../runs/runs.ts';

/**
 * The rooms as a caller sees them: what is hidden from it is answered like what there is not, and a model that a tool answers
 * reads no text that waits for an operator.
 */
export function roomsSeenBy(given: Rooms, caller: Caller): Rooms {
  const rooms = caller.via === undefined ? given : forModel(given);
  const hidden = hiddenFrom(caller);
  if (!hidden) return rooms;
  const shown = rooms.runs.without(hidden);
  const runs = caller.role === null ? shown.ownOf(caller) : shown;
  const { workflows } = rooms;
  const approvals = rooms.approvals.without(hidden);
  const requireSeen = async (runId: string): Promise<void> => {
    if (!(await runs.find(runId))) throw runNotFound(runId);
  };
  return {
    ...rooms,
    approvals,
    guardrails: rooms.guardrails.without(hidden),
    hooks: rooms.hooks.with(approvals),
    runs,
    sessions: rooms.sessions.without(hidden),
    upgrade: rooms.upgrade.without(hidden),
    workflows: {
      ...workflows,
      queue: (name, page) => workflows.queue(name, page, { hidden, isModel: caller.via !== undefined }),
      dequeue: (name, triggerId) => workflows.dequeue(name, triggerId, hidden),
      async retry(runId, ...rest) {
        await requireSeen(runId);
        return workflows.retry(runId, ...rest);
      },
      async previewFork(runId, ...rest) {
        await requireSeen(runId);
        return workflows.previewFork(runId, ...rest);
      },
      async fork(runId, ...rest) {
        await requireSeen(runId);
        return workflows.fork(runId, ...rest);
      },
    },
  };
}

// --- internal ---

/** Over MCP, and through the copilot, a model reads what is answered. */
function forModel(rooms: Rooms): Rooms {
  const approvals = rooms.approvals.forModel();
  return {
    ...rooms,
    approvals,
    hooks: rooms.hooks.with(approvals),
    runs: rooms.runs.forModel(),
    sessions: rooms.sessions.forModel(),
    workflows: { ...rooms.workflows, queue: (name, page) => rooms.workflows.queue(name, page, { isModel: true }) },
  };
}
