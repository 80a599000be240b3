import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { TokensUsed, UsageId, UsageKind, UsageNow } from './usage.ts';
import type { Usage } from './usage.ts';

const operation = operationsOf<{ usage: Usage }>();
const room = { tag: 'usage', kind: 'read', permission: 'keys:read', copilot: 'yes' } as const;

export const listUsage = operation({
  ...room,
  id: 'usage.list',
  summary:
    'List the tokens that agents, keys, users and models have used, and their cost, by day or month, newest first',
  route: 'GET /api/usage',
  cli: 'usage list',
  errors: ['invalid_cursor'],
  input: z.strictObject({
    kind: UsageKind.optional(),
    id: UsageId.optional(),
    period: z.enum(['day', 'month']).default('day'),
    ...Page,
  }),
  output: z.object({ items: z.array(TokensUsed), nextCursor: z.string().nullable() }),
  handle: ({ usage }, { kind, id, period, limit, cursor }) =>
    usage.list(withoutUndefined({ kind, id, period }), withoutUndefined({ limit, cursor })),
});

export const getUsage = operation({
  ...room,
  id: 'usage.get',
  summary: 'Get what an agent, a key, a user or a model uses of its limits now',
  route: 'GET /api/usage/:kind/:id',
  cli: 'usage get',
  input: z.strictObject({ kind: UsageKind, id: UsageId }),
  output: UsageNow,
  handle: ({ usage }, { kind, id }) => usage.get(kind, id),
});
