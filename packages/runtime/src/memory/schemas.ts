import { z } from 'zod';
import { MEMORY_STATES } from './table.ts';

/** A turn that an agent remembers of an end user. */
export const Remembered = z.object({
  runId: z.uuid().describe('The turn'),
  sessionId: z.uuid(),
  agent: z.string(),
  client: z.string().nullable().describe('The application whose user it is'),
  user: z.string().describe('What the client calls its user'),
  state: z.enum(MEMORY_STATES).describe('Whether it can be recalled: it is, once it is embedded'),
  error: z.string().nullable().describe('Why it failed, or why it is tried again'),
  pieces: z.array(z.string()).describe('What is recalled, each by itself'),
  createdAt: z.iso.datetime(),
});
export type Remembered = z.infer<typeof Remembered>;
