import type { DeliveryRow } from './delivery-rows.ts';
import type { PollRow } from './poll-rows.ts';
import type { DeliveryProblem, DeliveryState, Polling, Trigger, TriggerDelivery } from './store.ts';
import type { ListedTrigger } from './trigger-rows.ts';

export interface LastDelivery {
  id: string;
  state: DeliveryState;
  receivedAt: Date;
}

/** As every surface shows it. */
export function toTrigger(listed: ListedTrigger, url: string, last: LastDelivery | undefined): Trigger {
  const { trigger, secrets, poll } = listed;
  const { id, name, target, enabled, settings, createdBy, createdAt, updatedAt } = trigger;
  return {
    id,
    name,
    target,
    enabled,
    kind: settings.poll ? 'poll' : 'webhook',
    state: stateOf(listed),
    url: settings.poll ? null : url,
    secrets,
    ...settings,
    polling: poll && toPolling(poll, enabled),
    lastDelivery: last ? { ...last, receivedAt: last.receivedAt.toISOString() } : null,
    createdBy,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

export function toDelivery(row: Omit<DeliveryRow, 'request'>): TriggerDelivery {
  const { id, state, event, senderId, bytes, attempts, nextAt, runId, queueId, redeliveryOf, endedAt } = row;
  const isWaiting = state === 'pending' || state === 'failed';
  return {
    id,
    state,
    event,
    senderId,
    bytes,
    attempts,
    nextAt: isWaiting ? nextAt.toISOString() : null,
    runId,
    queueId,
    problem: row.problem === null ? null : (JSON.parse(row.problem) as DeliveryProblem),
    redeliveryOf,
    receivedAt: row.receivedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

// --- internal ---

function stateOf({ trigger: { enabled, settings }, secrets, poll }: ListedTrigger): Trigger['state'] {
  if (!enabled) return 'disabled';
  if (settings.poll) return poll && poll.failures > 0 ? 'failing' : 'ready';
  return secrets === 0 ? 'needs_secret' : 'ready';
}

function toPolling(row: PollRow, isEnabled: boolean): Polling {
  const { triedAt, nextAt, status, items, seen, failures, problem } = row;
  return {
    lastPolledAt: triedAt?.toISOString() ?? null,
    nextPollAt: isEnabled ? nextAt.toISOString() : null,
    status,
    items,
    seen,
    failures,
    problem: problem === null ? null : (JSON.parse(problem) as Polling['problem']),
  };
}
