import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import type { Memory } from './memory.ts';
import { Remembered } from './schemas.ts';

const operation = operationsOf<{ memory: Memory }>();

const agent = z.string().optional().describe('The agent that remembers');
const client = z.string().optional().describe('The application whose user it is');

export const listMemory = operation({
  id: 'memory.list',
  summary: 'List what agents remember of earlier sessions of their end users, the newest first',
  route: 'GET /api/memory',
  tag: 'sessions',
  kind: 'read',
  permission: 'sessions:read',
  copilot: 'yes',
  cli: 'memory list',
  errors: ['invalid_cursor'],
  input: z.strictObject({
    user: z.string().optional().describe('What the client calls its user'),
    client,
    agent,
    ...Page,
  }),
  output: z.object({ items: z.array(Remembered), nextCursor: z.string().nullable() }),
  handle: ({ memory }, { agent: of, client: from, user, ...page }) =>
    memory.list({ agent: of, client: from, user }, withoutUndefined(page)),
});

export const clearMemory = operation({
  id: 'memory.clear',
  summary: 'Forget what agents remember of an end user; the sessions stay',
  route: 'DELETE /api/memory',
  tag: 'sessions',
  kind: 'write',
  permission: 'sessions:delete',
  confirm: true,
  copilot: 'yes',
  cli: 'memory clear',
  input: z.strictObject({
    user: z.string().min(1).max(256).describe('What the client calls its user'),
    client: client.describe('The application whose user it is. Default: whichever has one of that name'),
    agent: agent.describe('The agent that forgets. Default: all of them'),
  }),
  output: z.object({ user: z.string(), forgotten: z.int().describe('Turns that were remembered') }),
  async handle({ memory }, { agent: of, client: from, user }) {
    return { user, forgotten: await memory.clear({ agent: of, client: from, user }) };
  },
});
