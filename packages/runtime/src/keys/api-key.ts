import { z } from 'zod';
import { isNetwork } from '../http/address.ts';
import { KeyLimits } from '../limits/limits.ts';
import { StorableText } from '../operations/inputs.ts';

const Granted = z
  .union([z.literal('all'), z.array(StorableText.min(1).max(256)).max(1_000)])
  .describe('Names, or "all" for every one there is and will be');

export const Grants = z.strictObject({ agents: Granted.default([]), workflows: Granted.default([]) });
export type Grants = z.infer<typeof Grants>;

/** Where a key may be used from. */
export const Addresses = z
  .array(z.string().max(64).refine(isNetwork, 'It is no address and no network such as 203.0.113.0/24'))
  .min(1)
  .max(100)
  .describe('Addresses and networks it may be used from, as `203.0.113.7` and `2001:db8::/32`; null: anywhere');

/** What an API key reads of the sessions of its agents. */
export const SessionScope = z
  .enum(['own', 'agent'])
  .describe('Which sessions it goes on with. `own`: those of its client. `agent`: all of its agents');

/** A key as every surface shows it: never its value. */
export const ApiKey = z.object({
  id: z.string(),
  prefix: z.string().describe('What its value begins with'),
  name: z.string(),
  grants: z.object({ agents: Granted, workflows: Granted }),
  limits: KeyLimits.nullable().describe('What it may use; null: it has no limits'),
  addresses: Addresses.nullable(),
  client: z.string().describe('The application it is a key of: keys of the same one own the same sessions and runs'),
  users: z.boolean().describe('It may speak for users, by the header `x-svc-user` and by tokens'),
  sessions: SessionScope,
  status: z.enum(['active', 'expired', 'revoked']),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  revokedAt: z.iso.datetime().nullable(),
  lastUsedAt: z.iso.datetime().nullable().describe('To the minute'),
});
export type ApiKey = z.infer<typeof ApiKey>;

/** What is shown where a key is made, and never again. */
export const KeySecrets = z.object({
  value: z.string().describe('The key itself: it is not kept, and never shown again'),
  userSecret: z
    .string()
    .nullable()
    .describe('Signs tokens of its users: 32 bytes in base64, never shown again. Null: it does not speak for users'),
});
export type KeySecrets = z.infer<typeof KeySecrets>;

/** A key in place of another. */
export const RotatedKey = ApiKey.extend(KeySecrets.shape).extend({
  replaces: z.object({
    id: z.string(),
    expiresAt: z.iso.datetime().describe('Until then both are good'),
  }),
});
export type RotatedKey = z.infer<typeof RotatedKey>;
