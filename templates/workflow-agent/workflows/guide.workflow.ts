import { getWritable, svc } from '@svc/runtime';
import { z } from 'zod';

// A conversation: POST /api/workflows/<name>/chat streams what the steps write.
export const mode = 'chat';

export const inputSchema = z.object({
  message: z.string().min(1),
  session: z.string().min(1).optional().describe('The same text goes on with the same conversation'),
});

export async function guideWorkflow({ message, session }: z.infer<typeof inputSchema>) {
  'use workflow';
  const text = await answer(message, session);
  return { text, words: text.split(/\s+/).length };
}

async function answer(message: string, session: string | undefined) {
  'use step';
  // The turn is a run below this one, and its text is streamed on as it comes.
  const { text } = await svc.agent('guide').session(session).send(message, { writable: getWritable<string>() });
  return text;
}
