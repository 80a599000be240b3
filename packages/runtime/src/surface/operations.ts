import { z } from 'zod';
import { toPage } from '../operations/cursor.ts';
import { operationsOf } from '../operations/define.ts';
import { ShortListPage } from '../operations/inputs.ts';
import type { OperationCatalog } from './catalog.ts';

const operation = operationsOf<{ operations: OperationCatalog }>();

const room = { tag: 'catalog', kind: 'read', permission: 'catalog:read', copilot: 'yes' } as const;

const Summary = z.object({
  id: z.string(),
  summary: z.string(),
  tag: z.string(),
  kind: z.enum(['read', 'write']),
  confirm: z.literal(true).optional().describe('A person is asked first where a model calls'),
});

export const listOperations = operation({
  ...room,
  id: 'operations.list',
  summary: 'List the operations a model may call, found by words, narrowed by tag and kind',
  route: 'GET /api/catalog/operations',
  input: z.strictObject({
    query: z.string().optional().describe('What is wanted, in words; the 20 that fit best are listed, the best first'),
    tag: z.string().optional(),
    kind: z.enum(['read', 'write']).optional(),
    ...ShortListPage,
  }),
  output: z.object({ items: z.array(Summary), nextCursor: z.string().nullable() }),
  handle: ({ operations }, { limit, cursor, ...filter }) =>
    toPage(operations.list(filter), ({ id }) => id, { limit, cursor }),
});

export const getOperation = operation({
  ...room,
  id: 'operations.get',
  summary: 'Get what one operation takes and answers, who may call it, and whether a person is asked first',
  route: 'GET /api/catalog/operations/:id',
  errors: ['not_found'],
  input: z.strictObject({ id: z.string().describe('The id of the operation: `runs.list`') }),
  output: Summary.extend({
    route: z.string(),
    permission: z.string(),
    refused: z.string().optional().describe('Why no model may call it'),
    input: z.record(z.string(), z.unknown()).describe('JSON Schema'),
    output: z.record(z.string(), z.unknown()).describe('JSON Schema'),
  }),
  handle: ({ operations }, { id }) => operations.describe(id),
});
