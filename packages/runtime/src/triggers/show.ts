import type { DeliveryRow } from './delivery-rows.ts';
import type { DeliveryProblem, DeliveryState, Trigger, TriggerDelivery } from './store.ts';
import type { ListedTrigger } from './trigger-rows.ts';

export interface LastDelivery {
  id: string;
  state: DeliveryState;
  receivedAt: Date;
}

/** As every surface shows it. */
export function toTrigger({ trigger, secrets }: ListedTrigger, url: string, last: LastDelivery | undefined): Trigger {
  const { id, name, target, enabled, settings, createdBy, createdAt, updatedAt } = trigger;
  return {
    id,
    name,
    target,
    enabled,
    state: !enabled ? 'disabled' : secrets === 0 ? 'needs_secret' : 'ready',
    url,
    secrets,
    ...settings,
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
