import { getStepMetadata } from '@svc/runtime';

/** A step may live in any module a workflow imports. */
export async function sendWelcomeMail(email: string, customerId: string) {
  'use step';
  // The same on every attempt and after every restart: a mail provider that is handed it sends the mail once.
  const { idempotencyKey } = getStepMetadata();
  return { to: email, subject: `Welcome, ${customerId}`, messageId: idempotencyKey };
}
