import { requestApproval, setAttributes, svc } from '@svc/runtime';
import { z } from 'zod';

export const inputSchema = z.object({ email: z.email(), seats: z.number().int().positive() });

/** A large upgrade waits for a person, for a week at most; then another workflow does its part and answers. */
export async function upgradePlan(input: z.infer<typeof inputSchema>) {
  'use workflow';
  setAttributes({ customer: input.email });
  const price = await quote(input.seats);
  if (price > 10_000) {
    const answer = await requestApproval({
      title: `Upgrade ${input.email} to ${input.seats} seats?`,
      payload: { price },
      timeout: '7 days',
      fallback: 'reject',
    });
    if (!answer.approved) return { upgraded: false, price, note: answer.note };
  }
  // A run of its own: it is cancelled with this one, and when it fails its error is thrown here.
  const account = await svc.workflows.startAndWait('onboard-customer', { email: input.email });
  return { upgraded: true, price, account };
}

async function quote(seats: number) {
  'use step';
  return seats * 1_200;
}
