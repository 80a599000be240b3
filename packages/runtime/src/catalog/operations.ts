import { z } from 'zod';
import { may, requirePermission } from '../auth/caller.ts';
import { operationsOf } from '../operations/define.ts';
import { toPage } from '../operations/cursor.ts';
import { ShortListPage, withoutUndefined } from '../operations/inputs.ts';
import { Limits } from '../limits/limits.ts';
import { CatalogDetail, CatalogEntry, CatalogKind } from './entry.ts';
import type { CatalogEntries } from './entries.ts';

const operation = operationsOf<{ entries: CatalogEntries }>();

const room = { tag: 'catalog', permission: 'catalog:read', copilot: 'yes' } as const;
const name = z.string().describe('Its name; of a tool `<agent>:<tool>`, of a prompt `<owner kind>:<owner name>:<key>`');

export const discover = operation({
  ...room,
  id: 'discovery.get',
  summary: 'List the names of the agents and workflows',
  route: 'GET /api/discovery',
  kind: 'read',
  input: z.strictObject({}),
  output: z.object({ agents: z.array(z.string()), workflows: z.array(z.string()) }),
  handle: async ({ entries }) => ({
    agents: await entries.listShown('agent'),
    workflows: await entries.listShown('workflow'),
  }),
});

export const listCatalog = operation({
  ...room,
  id: 'catalog.list',
  summary: 'List agents, workflows, tools and prompts with model, mode and health; system entries only when asked',
  route: 'GET /api/catalog',
  kind: 'read',
  cli: 'catalog list',
  input: z.strictObject({
    kind: CatalogKind.optional(),
    system: z.union([z.boolean(), z.enum(['true', 'false'])]).optional(),
    ...ShortListPage,
  }),
  output: z.object({ items: z.array(CatalogEntry), nextCursor: z.string().nullable() }),
  async handle({ entries }, { kind, system = false, ...page }, { caller }) {
    const prompts = may(caller, 'config:write');
    const all = await entries.list(withoutUndefined({ kind, prompts, system: String(system) === 'true' }));
    return toPage(all, ({ kind: of, name: called }) => `${of} ${called}`, page);
  },
});

export const getCatalogEntry = operation({
  ...room,
  id: 'catalog.get',
  summary: 'Get one entry: description, tools, model, schema, and why its code does not load',
  route: 'GET /api/catalog/:kind/:name',
  kind: 'read',
  errors: ['catalog_entry_not_found'],
  input: z.strictObject({ kind: CatalogKind, name }),
  output: CatalogDetail,
  handle({ entries }, input, { caller }) {
    if (input.kind === 'prompt') requirePermission(caller, 'config:write');
    return entries.get(input.kind, input.name);
  },
});

export const updateCatalogEntry = operation({
  ...room,
  id: 'catalog.update',
  summary: 'Choose the model or the limits of an agent, or show or hide an agent or a workflow',
  route: 'PATCH /api/catalog/:kind/:name',
  kind: 'write',
  permission: 'catalog:write',
  cli: 'catalog update',
  errors: ['catalog_entry_not_found'],
  input: z.strictObject({
    kind: z.enum(['agent', 'workflow']),
    name,
    model: z.string().trim().min(1).max(200).nullable().optional().describe('Wins over the code; null: the code says'),
    limits: Limits.nullable()
      .optional()
      .describe('What an agent may use, instead of what its code says; null: what the code says'),
    isHidden: z.boolean().optional().describe('Left out of model lists, discovery and MCP; it can still be called'),
  }),
  output: CatalogDetail,
  before: ({ entries }, { kind, name: of }) => entries.get(kind, of).catch(() => undefined),
  handle: ({ entries }, { kind, name: of, ...change }, { caller }) =>
    entries.update({ kind, name: of }, withoutUndefined(change), caller.name),
});
