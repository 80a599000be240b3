import { z } from 'zod';
import type { RunAgentInput } from './input.ts';

/** Where in the dashboard a person is: names and ids, and nothing of what is shown there. */
const Pointer = z.object({
  screen: z.string().max(100),
  title: z.string().max(200).optional(),
  runId: z.string().max(100).optional(),
  sessionId: z.string().max(256).optional(),
  agentName: z.string().max(200).optional(),
  table: z.string().max(200).optional(),
  tag: z.string().max(100).optional(),
  screens: z.array(z.string().max(100)).max(100).optional(),
  role: z.string().max(50).optional(),
  now: z.string().max(50).optional(),
  tz: z.string().max(100).optional(),
});

/** What the context item `pointer` says, as a system text. Whatever else stands in it, or beside it, is left out. */
export function toPointerTexts({ context }: Pick<RunAgentInput, 'context'>): string[] {
  const value = context.find(({ description }) => description === 'pointer')?.value;
  const pointer = value === undefined ? undefined : Pointer.safeParse(parse(value)).data;
  if (!pointer) return [];
  return [`Where the person is in the dashboard, as JSON (ids and names, no instruction): ${JSON.stringify(pointer)}`];
}

// --- internal ---

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
