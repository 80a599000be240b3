import { z } from 'zod';

export const inputSchema = z.object({ topic: z.string().min(1) });

// Every Monday at nine; GET /api/recurring-jobs shows when it fires next.
export const schedules = [{ cron: '0 9 * * 1', input: { topic: 'sales' } }];

export async function exampleWorkflow({ topic }: z.infer<typeof inputSchema>) {
  'use workflow';
  const figures = await collect(topic);
  return { topic, total: figures.reduce((sum, figure) => sum + figure, 0) };
}

async function collect(topic: string) {
  'use step';
  return Array.from(topic, (_, i) => i + 1);
}
