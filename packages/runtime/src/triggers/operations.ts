import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, StorableText, withoutUndefined } from '../operations/inputs.ts';
import { MOST_WHERE } from './given.ts';
import { Poll } from './poll-settings.ts';
import { Signature } from './signature.ts';
import { Trigger, TriggerDelivery, TriggerMapping, TriggerTarget, TriggerWhere } from './store.ts';
import type { Triggers } from './triggers.ts';

const operation = operationsOf<{ triggers: Triggers }>();

const room = { tag: 'triggers', copilot: 'yes' } as const;
const id = z.string().describe('The id of the trigger');
const path = z.string().min(1).max(500);
const secret = z
  .string()
  .regex(/^[\u0020-\u007e]+$/, 'A secret is ASCII')
  .min(8)
  .max(1_000)
  .optional()
  .describe('What requests are signed with, or carry; stored sealed, never shown again');

const settings = {
  event: path.nullable().optional().describe('Where a request says what has happened: "headers.x-event", "body.kind"'),
  events: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(100)
    .nullable()
    .optional()
    .describe('What it is for: "issues" is every event below it, such as "issues.opened". Default: all'),
  where: TriggerWhere.refine((where) => Object.keys(where).length <= MOST_WHERE, `At most ${MOST_WHERE}`)
    .nullable()
    .optional()
    .describe('What places of the request have to hold, by path: {"body.ref": ["refs/heads/main"]}; null: nothing'),
  deduplicate: path.nullable().optional().describe('Where a request, or an item of a poll, says which it is'),
  mapping: TriggerMapping.nullable().optional().describe('What the target is given, made of what came'),
};

export const listTriggers = operation({
  ...room,
  id: 'triggers.list',
  summary: 'List triggers with their target and their last delivery',
  route: 'GET /api/triggers',
  kind: 'read',
  permission: 'triggers:read',
  input: z.strictObject({ ...Page }),
  output: z.object({ items: z.array(Trigger), nextCursor: z.string().nullable() }),
  handle: ({ triggers }, { limit, cursor }) => triggers.list(withoutUndefined({ limit, cursor })),
});

export const getTrigger = operation({
  ...room,
  id: 'triggers.get',
  summary: 'Get one trigger with its newest deliveries and what came of them',
  route: 'GET /api/triggers/:id',
  kind: 'read',
  permission: 'triggers:read',
  errors: ['trigger_not_found'],
  input: z.strictObject({ id }),
  output: Trigger.extend({ deliveries: z.array(TriggerDelivery).describe('The newest 50') }),
  handle: ({ triggers }, input) => triggers.get(input.id),
});

export const createTrigger = operation({
  ...room,
  id: 'triggers.create',
  summary: 'Bind what an outside service sends, or is asked for, to a workflow or an agent',
  route: 'POST /api/triggers',
  kind: 'write',
  permission: 'triggers:write',
  confirm: true,
  status: 201,
  secret: ['secret'],
  errors: ['trigger_invalid', 'workflow_not_found', 'agent_not_found', 'connection_not_found', 'too_many_triggers'],
  input: z.strictObject({
    name: StorableText.min(1).max(200),
    target: TriggerTarget.describe('What a delivery starts'),
    signature: Signature.optional().describe('How its sender is known, of a webhook'),
    poll: Poll.optional().describe('What is asked for and how often, in place of a signature'),
    secret,
    enabled: z.boolean().default(true),
    ...settings,
  }),
  output: Trigger,
  handle: ({ triggers }, input, { caller }) => triggers.create(input, caller.name),
});

export const updateTrigger = operation({
  ...room,
  id: 'triggers.update',
  summary: 'Change a trigger, enable or disable it, or rotate its secret',
  route: 'PATCH /api/triggers/:id',
  kind: 'write',
  permission: 'triggers:write',
  confirm: true,
  secret: ['secret'],
  errors: ['trigger_not_found', 'trigger_invalid', 'workflow_not_found', 'agent_not_found', 'connection_not_found'],
  input: z.strictObject({
    id,
    name: StorableText.min(1).max(200).optional(),
    target: TriggerTarget.optional(),
    signature: Signature.optional(),
    poll: Poll.optional().describe('In place of the one before. Another address, connection or place starts over'),
    secret: secret.describe('Another one. The one before stays good until "dropsPrevious"'),
    dropsPrevious: z.boolean().optional().describe('The secret before the current one is good no more'),
    enabled: z.boolean().optional(),
    ...settings,
  }),
  output: Trigger,
  before: ({ triggers }, input) => triggers.get(input.id),
  handle: ({ triggers }, { id: of, ...given }) => triggers.update(of, given),
});

export const pollTrigger = operation({
  ...room,
  id: 'triggers.poll',
  summary: 'Have a poll ask its service at once, though no sooner than ten seconds after it last did',
  route: 'POST /api/triggers/:id/poll',
  kind: 'write',
  permission: 'triggers:write',
  errors: ['trigger_not_found', 'trigger_invalid'],
  input: z.strictObject({ id }),
  output: Trigger,
  handle: ({ triggers }, input) => triggers.poll(input.id),
});

export const redeliverTrigger = operation({
  ...room,
  id: 'triggers.redeliver',
  summary: 'Run a past delivery again, as a new one that names it',
  route: 'POST /api/triggers/:id/deliveries/:deliveryId/redeliver',
  kind: 'write',
  permission: 'triggers:write',
  errors: ['trigger_not_found', 'delivery_not_found', 'trigger_queue_full'],
  input: z.strictObject({ id, deliveryId: z.string().describe('The id of the delivery') }),
  output: TriggerDelivery,
  handle: ({ triggers }, input, { caller }) => triggers.redeliver(input.id, input.deliveryId, caller),
});

export const deleteTrigger = operation({
  ...room,
  id: 'triggers.delete',
  summary: 'Delete a trigger with its secrets and its deliveries',
  route: 'DELETE /api/triggers/:id',
  kind: 'write',
  permission: 'triggers:write',
  confirm: true,
  errors: ['trigger_not_found'],
  input: z.strictObject({ id }),
  output: z.object({ id: z.string(), deleted: z.literal(true) }),
  before: ({ triggers }, input) => triggers.get(input.id),
  async handle({ triggers }, input) {
    await triggers.delete(input.id);
    return { id: input.id, deleted: true as const };
  },
});
