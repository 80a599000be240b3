import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { NewRule, ROOM, RuleChange } from './inputs.ts';
import type { Guardrails } from './guardrails.ts';
import { Guardrail, Hit } from './store.ts';

const operation = operationsOf<{ guardrails: Guardrails }>();

const READ = { ...ROOM, kind: 'read', permission: 'guardrails:read' } as const;
const WRITE = { ...ROOM, kind: 'write', permission: 'guardrails:write' } as const;

const Rules = z.object({ items: z.array(Guardrail).describe('In the order in which they are asked') });
const Hits = z.object({ items: z.array(Hit).describe('Newest first'), nextCursor: z.string().nullable() });

const Id = z.string().describe('The id of the rule');
const RECENT = 20;

export const listGuardrails = operation({
  ...READ,
  id: 'guardrails.list',
  summary: 'List the rules about what may pass, in their order',
  route: 'GET /api/guardrails',
  cli: 'guardrails list',
  input: z.strictObject({}),
  output: Rules,
  handle: async ({ guardrails }) => ({ items: await guardrails.list() }),
});

export const listGuardrailHits = operation({
  ...READ,
  id: 'guardrails.hits',
  summary: 'List what rules have found, newest first, without the texts it was found in',
  route: 'GET /api/guardrails/hits',
  cli: 'guardrails hits',
  errors: ['invalid_cursor'],
  input: z.strictObject({ ruleId: z.string().optional().describe('Of this rule'), ...Page }),
  output: Hits,
  handle: ({ guardrails }, { limit, cursor, ...filter }) =>
    guardrails.listHits(withoutUndefined(filter), withoutUndefined({ limit, cursor })),
});

export const getGuardrail = operation({
  ...READ,
  id: 'guardrails.get',
  summary: 'Get one rule with what it has found last',
  route: 'GET /api/guardrails/:id',
  cli: 'guardrails get',
  errors: ['guardrail_not_found'],
  input: z.strictObject({ id: Id }),
  output: Guardrail.extend({ hits: z.array(Hit).describe('The last 20, newest first') }),
  async handle({ guardrails }, { id }) {
    const rule = await guardrails.get(id);
    const { items: hits } = await guardrails.listHits({ ruleId: id }, { limit: RECENT });
    return { ...rule, hits };
  },
});

export const createGuardrail = operation({
  ...WRITE,
  id: 'guardrails.create',
  summary: 'Create a rule, behind those there are',
  route: 'POST /api/guardrails',
  cli: 'guardrails create',
  status: 201,
  errors: ['guardrail_exists', 'too_many_guardrails'],
  input: NewRule,
  output: Guardrail,
  handle: ({ guardrails }, input, { caller }) => guardrails.create({ ...input, by: caller.name }),
});

export const updateGuardrail = operation({
  ...WRITE,
  id: 'guardrails.update',
  summary: 'Change a rule, or switch it on or off',
  route: 'PATCH /api/guardrails/:id',
  cli: 'guardrails update',
  errors: ['guardrail_not_found', 'guardrail_exists', 'guardrail_in_code'],
  input: RuleChange,
  output: Guardrail,
  before: ({ guardrails }, { id }) => guardrails.get(id),
  handle: ({ guardrails }, { id, ...change }) => guardrails.update(id, withoutUndefined(change)),
});

export const orderGuardrails = operation({
  ...WRITE,
  id: 'guardrails.order',
  summary: 'Set the order of the rules: those named first, the others behind them',
  route: 'PUT /api/guardrails/order',
  cli: 'guardrails order',
  errors: ['guardrail_not_found', 'guardrail_in_code'],
  input: z.strictObject({ ids: z.array(z.string()).min(1).max(200).describe('The ids of rules, each once') }),
  output: Rules,
  before: async ({ guardrails }) => (await guardrails.list()).map(({ id }) => id),
  handle: async ({ guardrails }, { ids }) => ({ items: await guardrails.order(ids) }),
});

export const deleteGuardrail = operation({
  ...WRITE,
  id: 'guardrails.delete',
  summary: 'Delete a rule; what it has found stays listed',
  route: 'DELETE /api/guardrails/:id',
  cli: 'guardrails delete',
  confirm: true,
  errors: ['guardrail_not_found', 'guardrail_in_code'],
  input: z.strictObject({ id: Id }),
  output: z.object({ deleted: z.boolean() }),
  before: ({ guardrails }, { id }) => guardrails.get(id),
  async handle({ guardrails }, { id }) {
    await guardrails.remove(id);
    return { deleted: true };
  },
});
