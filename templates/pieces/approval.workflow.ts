import { requestApproval } from '@svc/runtime';
import { z } from 'zod';

export const inputSchema = z.object({ item: z.string().min(1), price: z.number().positive() });

export async function exampleWorkflow({ item, price }: z.infer<typeof inputSchema>) {
  'use workflow';
  // The run waits for a person: GET /api/approvals lists what waits, POST /api/approvals/:id/decide answers it.
  const answer = await requestApproval({
    title: `Buy ${item} for ${price}?`,
    payload: { item, price },
    timeout: '7 days',
    fallback: 'reject',
  });
  if (!answer.approved) return { bought: false, note: answer.note };
  return { bought: true, order: await placeOrder(item) };
}

async function placeOrder(item: string) {
  'use step';
  return `order of ${item}`;
}
