import { FatalError, getWorkflowMetadata } from '@svc/runtime';
import { z } from 'zod';
import { findOrder } from '../lib/orders.ts';

/** A start whose body does not fit is refused with the reasons, before a run exists. */
export const inputSchema = z.object({
  orderId: z.string().regex(/^[A-Z]-\d{3}$/, 'An order id looks like A-100.'),
  amount: z.number().int().positive().describe('In cents'),
});

export const outputSchema = z.object({ orderId: z.string(), refunded: z.number(), reference: z.string() });

export async function refundOrder(input: z.infer<typeof inputSchema>): Promise<z.infer<typeof outputSchema>> {
  'use workflow';
  const { workflowRunId } = getWorkflowMetadata();
  await checkOrder(input.orderId, input.amount);
  return await pay(input.orderId, input.amount, workflowRunId);
}

async function checkOrder(orderId: string, amount: number) {
  'use step';
  const order = findOrder(orderId);
  if (!order) throw new FatalError(`There is no order "${orderId}".`);
  if (amount > order.total) throw new FatalError(`Order "${orderId}" cost ${order.total}, less than ${amount}.`);
  return order;
}

async function pay(orderId: string, amount: number, reference: string) {
  'use step';
  return { orderId, refunded: amount, reference };
}
