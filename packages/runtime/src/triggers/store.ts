import { z } from 'zod';
import { Poll } from './poll-settings.ts';
import { Signature } from './signature.ts';

export const TriggerTarget = z.union([
  z.strictObject({ workflow: z.string().min(1).max(200) }),
  z.strictObject({ agent: z.string().min(1).max(200) }),
]);
export type TriggerTarget = z.infer<typeof TriggerTarget>;

const text = (most: number, what: string) => z.string().max(most).optional().describe(what);
const scalar = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()]);

/** What the target is given, made of what came. */
export const TriggerMapping = z.strictObject({
  input: z
    .unknown()
    .optional()
    .describe('Of a workflow: any JSON, in which "{{body.issue.title}}" is replaced by the value at that place'),
  message: text(20_000, 'Of an agent: the message to it. Default: the body as text'),
  session: text(
    1_000,
    'Of an agent: the conversation it goes on with, such as "{{body.event.thread_ts | body.event.ts}}". Default: each delivery begins a session of its own',
  ),
});
export type TriggerMapping = z.infer<typeof TriggerMapping>;

export const TriggerWhere = z.record(z.string(), z.union([scalar, z.array(scalar).max(50)]));
export type TriggerWhere = z.infer<typeof TriggerWhere>;

/** What a trigger is set to, beside its name and its target. */
export interface TriggerSettings {
  /** Null: it asks for itself. */
  signature: Signature | null;
  /** Null: it is called. One of both is there. */
  poll: Poll | null;
  event: string | null;
  events: string[] | null;
  where: TriggerWhere | null;
  deduplicate: string | null;
  mapping: TriggerMapping | null;
}

export const NO_SETTINGS: TriggerSettings = {
  signature: null,
  poll: null,
  event: null,
  events: null,
  where: null,
  deduplicate: null,
  mapping: null,
};

export const DELIVERY_STATES = ['pending', 'delivered', 'filtered', 'failed', 'dead'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

const state = z
  .enum(DELIVERY_STATES)
  .describe(
    'pending: it waits; delivered: its run has begun; filtered: the trigger is not for it; failed: it is tried again; dead: it is not',
  );

export const DeliveryProblem = z.object({
  code: z.string(),
  message: z.string(),
  issues: z
    .array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }))
    .describe('What does not match the schema of the workflow; at most 20'),
});
export type DeliveryProblem = z.infer<typeof DeliveryProblem>;

export const TriggerDelivery = z.object({
  id: z.string(),
  state,
  event: z.string().nullable().describe('What has happened, in the words of the sender'),
  senderId: z.string().nullable().describe('What the sender calls it; null: it does not say'),
  bytes: z.int().describe('Of the body'),
  attempts: z.int(),
  nextAt: z.iso.datetime().nullable().describe('When it is tried next; null: it is over'),
  runId: z.string().nullable(),
  queueId: z.string().nullable().describe('The start that waits in the queue of a workflow, in place of a run'),
  problem: DeliveryProblem.nullable().describe('Why the last attempt failed'),
  redeliveryOf: z.string().nullable().describe('The delivery it repeats'),
  receivedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});
export type TriggerDelivery = z.infer<typeof TriggerDelivery>;

/** How far a poll has come. */
export const Polling = z.object({
  lastPolledAt: z.iso.datetime().nullable().describe('When it was last asked, whatever came of that; null: never'),
  nextPollAt: z.iso.datetime().nullable().describe('null: it is disabled'),
  status: z.int().nullable().describe('What the service answered last; 304: nothing had changed; null: nothing'),
  items: z.int().describe('In the last answer that had some'),
  seen: z.int().describe('All that were new, those of the first poll included'),
  failures: z.int().describe('How often it has failed in a row'),
  problem: DeliveryProblem.omit({ issues: true }).nullable().describe('Why it failed the last time'),
});
export type Polling = z.infer<typeof Polling>;

/** As every surface shows it: never a secret. */
export const Trigger = z.object({
  id: z.string(),
  name: z.string(),
  target: TriggerTarget,
  enabled: z.boolean(),
  kind: z.enum(['webhook', 'poll']).describe('webhook: its sender calls the box; poll: the box asks the service'),
  state: z
    .enum(['ready', 'needs_secret', 'failing', 'disabled'])
    .describe('needs_secret: it lets nothing in until it has one; failing: its last poll failed, and is tried again'),
  url: z.string().nullable().describe('What the sender calls with POST; null: it is a poll'),
  signature: Signature.nullable().describe('How its sender is known; null: it is a poll'),
  secrets: z.int().describe('How many it takes: two while they are rotated'),
  poll: Poll.nullable().describe('What is asked for, and how often; null: it is a webhook'),
  polling: Polling.nullable().describe('How far it has come; null: it is a webhook'),
  event: z.string().nullable().describe('Where a request says what has happened; null: as its scheme defines it'),
  events: z.array(z.string()).nullable().describe('What it is for; null: all'),
  where: TriggerWhere.nullable().describe('What places of the request have to hold; null: whatever'),
  deduplicate: z
    .string()
    .nullable()
    .describe(
      'Where a request says which delivery it is; null: as its scheme defines it, of a poll "body.id", else by its body',
    ),
  mapping: TriggerMapping.nullable().describe('null: a workflow gets { headers, query, body }, an agent the body'),
  lastDelivery: z.object({ id: z.string(), state, receivedAt: z.iso.datetime() }).nullable(),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Trigger = z.infer<typeof Trigger>;

/** A trigger as it is stored. */
export interface StoredTrigger {
  id: string;
  name: string;
  target: TriggerTarget;
  enabled: boolean;
  settings: TriggerSettings;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** What an update does with the secrets: another in the place of the current one, which stays good beside it; or the older one goes. */
export interface SecretChange {
  secret?: string | undefined;
  dropsPrevious?: boolean | undefined;
}
