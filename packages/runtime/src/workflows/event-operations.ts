import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey } from '../operations/inputs.ts';
import type { NamedEvents } from './events.ts';
import { requireAnyGrant } from '../auth/caller.ts';

const operation = operationsOf<{ namedEvents: NamedEvents }>();

export const sendEvent = operation({
  id: 'events.send',
  summary: 'Send an event by its name: it resumes the runs that wait for it, and starts the workflows that start by it',
  route: 'POST /api/events/:name',
  tag: 'events',
  kind: 'write',
  permission: 'workflows:start',
  activity: false,
  copilot: 'yes',
  cli: 'events send',
  status: 202,
  body: 'payload',
  headers: IDEMPOTENCY_HEADER,
  errors: ['workflow_runtime_not_armed', 'shutting_down'],
  input: z.strictObject({
    name: z.string().describe('The name of the event, such as order.paid'),
    payload: z.unknown().describe('What it carries; without a body {}'),
    idempotencyKey: IdempotencyKey.describe('Its id: the same one with the same payload is one event, for 24 hours'),
  }),
  output: z.object({
    id: z.string().describe('The id of the event'),
    name: z.string(),
    runId: z
      .uuid()
      .nullable()
      .describe('The run that delivers it; null: those of its sender and name before it are delivered first'),
    triggerId: z.uuid().nullable(),
  }),
  keys: true,
  settles: 'again',
  handle({ namedEvents }, { name, payload, idempotencyKey }, { caller }) {
    requireAnyGrant(caller, 'workflows');
    return namedEvents.send({ name, payload, caller, idempotencyKey });
  },
});
