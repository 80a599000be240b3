import { svc } from '@svc/runtime';
import { z } from 'zod';

export const inputSchema = z.object({ question: z.string().min(1) });

export async function exampleWorkflow({ question }: z.infer<typeof inputSchema>) {
  'use workflow';
  // The turn is a run below this one: recorded, and cancelled with it.
  const answer = await svc.agent('callee').session().send(question);
  return { answer: answer.text };
}
