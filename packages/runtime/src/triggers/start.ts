import { createHash } from 'node:crypto';
import type { Agents } from '../agents/agents.ts';
import { triggerOwner } from '../agents/turn/session-store.ts';
import type { SessionOwner } from '../agents/turn/session-store.ts';
import type { StartedBy } from '../engine/started-by.ts';
import { BoxError } from '../errors.ts';
import { readArmedBy } from '../jobs/armed-by.ts';
import type { Workflows } from '../workflows/workflows.ts';
import type { DeliveryRow } from './delivery-rows.ts';
import type { InboundRequest } from './request.ts';
import type { StoredTrigger } from './store.ts';
import { fill, fillText } from './template.ts';
import type { Scope } from './template.ts';

export interface Started {
  runId: string | null;
  /** Of a start that waits in the queue of its workflow. */
  queueId: string | null;
}

/** Starts what a delivery is for. The same delivery starts it once. Throws as a start does, and `trigger_invalid`. */
export type StartDelivery = (trigger: StoredTrigger, delivery: DeliveryRow) => Promise<Started>;

export interface StartDeliveryOptions {
  workflows: Pick<Workflows, 'start'>;
  agents: Pick<Agents, 'startTurn'>;
}

export function createStartDelivery({ workflows, agents }: StartDeliveryOptions): StartDelivery {
  const startWorkflow = async (name: string, input: unknown, delivery: DeliveryRow): Promise<Started> => {
    const armedBy: NonNullable<StartedBy['armedBy']> = readArmedBy(delivery);
    const started = await workflows.start(name, input, {
      trigger: 'trigger',
      idempotencyKey: keyOf(delivery),
      ...(armedBy.length === 0 ? {} : { armedBy }),
    });
    return 'runId' in started ? { runId: started.runId, queueId: null } : { runId: null, queueId: started.triggerId };
  };
  const startTurn = async (agent: string, said: Said, delivery: DeliveryRow) => {
    const digest = createHash('sha256')
      .update(JSON.stringify([said.message, said.session]))
      .digest('hex');
    const turn = await agents.startTurn({
      agent,
      messages: [{ role: 'user', content: said.message }],
      parameters: {},
      trigger: 'trigger',
      key: { key: keyOf(delivery), scope: ['trigger'], digest: { digest } },
      ...(said.session === '' ? {} : { session: { name: said.session, kind: 'session', owner: said.owner } }),
    });
    turn.leave();
    return { runId: turn.runId, queueId: null };
  };
  return async (trigger, delivery) => {
    const request = JSON.parse(delivery.request ?? 'null') as InboundRequest;
    const { target, settings } = trigger;
    const scope = toScope(trigger, delivery, request);
    const { mapping } = settings;
    if ('workflow' in target) {
      const input = mapping?.input === undefined ? request : fill(mapping.input, scope);
      return startWorkflow(target.workflow, input, delivery);
    }
    const message = fillText(mapping?.message ?? '{{body}}', scope);
    if (message.trim() === '')
      throw new BoxError(
        'trigger_invalid',
        'The mapping makes an empty message of what came: its places have nothing.',
      );
    const session = fillText(mapping?.session ?? '', scope).slice(0, MOST_SESSION);
    return startTurn(target.agent, { message, session, owner: triggerOwner(trigger.id) }, delivery);
  };
}

export function toScope(
  { id, name }: Pick<StoredTrigger, 'id' | 'name'>,
  delivery: Pick<DeliveryRow, 'id' | 'event' | 'receivedAt'>,
  request: InboundRequest,
): Scope {
  const { event, receivedAt } = delivery;
  return { ...request, event, deliveryId: delivery.id, receivedAt: receivedAt.toISOString(), trigger: { id, name } };
}

// --- internal ---

const MOST_SESSION = 200;

interface Said {
  message: string;
  /** Empty: none. What names it was written by a sender: it is one of its trigger, and leads to no other. */
  session: string;
  owner: SessionOwner;
}

function keyOf({ id }: DeliveryRow): string {
  return `delivery:${id}`;
}
