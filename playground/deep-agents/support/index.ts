import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
import { findOrder } from '../../lib/orders.ts';

const lookup_order = defineTool({
  description: 'Look up an order by its id.',
  inputSchema: z.object({ orderId: z.string().describe('For example A-100') }),
  async execute({ orderId }) {
    return findOrder(orderId) ?? { error: `There is no order "${orderId}".` };
  },
});

const refund = defineTool({
  description: 'Pay an order back, whole or in part.',
  inputSchema: z.object({ orderId: z.string(), amount: z.number().int().positive().describe('In cents') }),
  // The key is the same when a crash makes the call happen again: a payment provider that gets it pays once.
  async execute({ orderId, amount }, { idempotencyKey }) {
    return { orderId, refunded: amount, reference: idempotencyKey };
  },
});

export default defineDeepAgent({
  name: 'support',
  instructions: 'You help customers with their orders. Look an order up before you say anything about it. Be brief.',
  tools: { lookup_order, refund },
  // Money leaves the house: a person decides before this tool runs.
  interruptOn: { refund: true },
});
