import { sleep } from '@svc/runtime';
import { z } from 'zod';

// Input that does not fit is refused before a run exists.
export const inputSchema = z.object({ name: z.string().min(1) });

export async function welcomeWorkflow({ name }: z.infer<typeof inputSchema>) {
  'use workflow';
  const greeting = await writeGreeting(name);
  // A sleeping run is a row on disk: two seconds or two months, it survives a restart.
  await sleep('2s');
  const sentAt = await sendGreeting(greeting);
  return { greeting, sentAt };
}

async function writeGreeting(name: string) {
  // A step runs once; its result is recorded.
  'use step';
  return `Welcome, ${name}.`;
}

async function sendGreeting(greeting: string) {
  'use step';
  if (greeting === '') throw new Error('There is nothing to send.');
  return new Date().toISOString();
}
// A step that throws is tried again, three times unless it says otherwise.
sendGreeting.maxRetries = 5;
