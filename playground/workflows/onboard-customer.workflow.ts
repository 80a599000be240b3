import { FatalError, sleep } from '@svc/runtime';
import { sendWelcomeMail } from '../lib/mailer.ts';

/** Each step runs once and its result is recorded: stop the box during the sleep, start it again, and the run goes on. */
export async function onboardCustomer(input: { email: string }) {
  'use workflow';
  const customerId = await createAccount(input.email);
  await sleep('2s');
  const mail = await sendWelcomeMail(input.email, customerId);
  return { customerId, mail: mail.subject };
}

async function createAccount(email: string) {
  'use step';
  // A step that throws is tried again; a FatalError says that another try cannot help.
  if (!email?.includes('@')) throw new FatalError(`"${email}" is not an e-mail address.`);
  return `cus_${email.split('@')[0]}`;
}
