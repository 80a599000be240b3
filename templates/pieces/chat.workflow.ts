import { getWritable } from '@svc/runtime';
import { z } from 'zod';

// A conversation: POST /api/workflows/<name>/chat streams what the steps write.
export const mode = 'chat';

export const inputSchema = z.object({ name: z.string().min(1) });

export async function exampleWorkflow({ name }: z.infer<typeof inputSchema>) {
  'use workflow';
  await say(`Hello, ${name}.`);
  await say('Goodbye.');
  return { said: 2 };
}

async function say(text: string) {
  'use step';
  const writer = getWritable<{ text: string }>().getWriter();
  await writer.write({ text });
  writer.releaseLock();
}
