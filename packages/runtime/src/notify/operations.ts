import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { NotifyDelivery, NotifyReceiverState } from './deliveries.ts';
import type { Deliveries } from './deliveries.ts';

const operation = operationsOf<{ deliveries: Deliveries }>();
const room = { tag: 'notify', copilot: 'yes' } as const;

export const listReceivers = operation({
  ...room,
  id: 'notify.receivers',
  summary: 'List who is notified of runs that stop, and how that goes',
  route: 'GET /api/notify/receivers',
  kind: 'read',
  permission: 'settings:read',
  cli: 'notify receivers',
  input: z.strictObject({}),
  output: z.object({ items: z.array(NotifyReceiverState) }),
  handle: async ({ deliveries }) => ({ items: await deliveries.listReceivers() }),
});

export const listDeliveries = operation({
  ...room,
  id: 'notify.deliveries',
  summary: 'List what was sent to those who are notified, newest first, with the last error of each',
  route: 'GET /api/notify/deliveries',
  kind: 'read',
  permission: 'settings:read',
  cli: 'notify list',
  errors: ['invalid_cursor'],
  input: z.strictObject({
    receiver: z.string().optional().describe('Its name'),
    state: z.enum(['pending', 'delivered', 'failed']).optional(),
    run: z.uuid().optional().describe('Those about this run'),
    ...Page,
  }),
  output: z.object({ items: z.array(NotifyDelivery), nextCursor: z.string().nullable() }),
  handle: ({ deliveries }, { receiver, state, run, limit, cursor }) =>
    deliveries.list(withoutUndefined({ receiver, state, runId: run }), withoutUndefined({ limit, cursor })),
});

export const redeliver = operation({
  ...room,
  id: 'notify.redeliver',
  summary: 'Send a message again that was delivered or has failed',
  route: 'POST /api/notify/deliveries/:id/redeliver',
  kind: 'write',
  permission: 'settings:write',
  cli: 'notify redeliver',
  errors: ['delivery_not_found'],
  input: z.strictObject({ id: z.string().describe('The `deliveryId`, which its receiver got as `webhook-id`') }),
  output: NotifyDelivery,
  settles: {
    async begun({ deliveries }, what, { id }) {
      const delivery = await deliveries.find(id);
      const isSent = delivery !== undefined && (delivery.state === 'pending' || delivery.lastAt !== what);
      return { done: Number(isSent), of: 1 };
    },
  },
  async handle({ deliveries }, { id }, { begin }) {
    const { state, lastAt } = (await deliveries.find(id)) ?? {};
    // One that waits is sent anyway.
    if (state !== 'pending') await begin?.(lastAt ?? null);
    return deliveries.redeliver(id);
  },
});
