import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { BoxError } from '../errors.ts';
import { KeyLimits } from '../limits/limits.ts';
import { parseDuration } from '../engine/duration.ts';
import { Addresses, ApiKey, Grants, KeySecrets, RotatedKey, SessionScope } from './api-key.ts';
import type { ApiKeys } from './api-keys.ts';

const operation = operationsOf<{ keys: ApiKeys }>();

const room = { tag: 'keys', permission: 'keys:write' } as const;
const id = z.string().describe('The id of the key');
const limits = KeyLimits.nullable().describe('What it may use, over all replicas; null: no limits');
const name = z.string().trim().min(1).max(100).describe('What people call it');

export const listKeys = operation({
  ...room,
  id: 'keys.list',
  summary: 'List API keys with what they are granted, expiry and last use, newest first',
  route: 'GET /api/keys',
  kind: 'read',
  permission: 'keys:read',
  copilot: 'yes',
  cli: 'keys list',
  input: z.strictObject({ ...Page }),
  output: z.object({ items: z.array(ApiKey), nextCursor: z.string().nullable() }),
  handle: ({ keys }, { limit, cursor }) => keys.list(withoutUndefined({ limit, cursor })),
});

export const createKey = operation({
  ...room,
  id: 'keys.create',
  summary: 'Create an API key for named agents and workflows; its value is shown once',
  route: 'POST /api/keys',
  kind: 'write',
  copilot: 'no: secret in the answer',
  cli: 'keys create',
  status: 201,
  secret: ['value', 'userSecret'],
  input: z.strictObject({
    name,
    grants: Grants.default({ agents: [], workflows: [] }),
    limits: limits.default(null),
    addresses: Addresses.nullable().default(null),
    client: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .optional()
      .describe('The application it is a key of; keys of the same one are one owner. Default: itself'),
    users: z.boolean().default(false).describe('It may speak for users, by the header `x-svc-user` and by tokens'),
    sessions: SessionScope.default('own'),
    expiresAt: z.iso
      .datetime({ offset: true })
      .nullable()
      .optional()
      .describe('Null: it never expires. Default: as the settings say, else never'),
  }),
  output: ApiKey.extend(KeySecrets.shape),
  handle({ keys }, { expiresAt: text, client, ...given }, { caller }) {
    const expiresAt = text === null || text === undefined ? text : new Date(text);
    if (expiresAt && expiresAt.getTime() <= Date.now())
      throw new BoxError('invalid_request', `"expiresAt": "${text}" is over. Take a time to come, or null for never.`);
    return keys.create({
      ...given,
      ...(client === undefined ? {} : { client }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      createdBy: caller.name,
    });
  },
});

export const updateKey = operation({
  ...room,
  id: 'keys.update',
  summary: 'Rename an API key, change what it is granted, its limits or where it may be used from',
  route: 'PATCH /api/keys/:id',
  kind: 'write',
  confirm: true,
  copilot: 'yes',
  cli: 'keys update',
  errors: ['key_not_found'],
  input: z.strictObject({
    id,
    name: name.optional(),
    grants: z
      .strictObject({
        agents: Grants.shape.agents.unwrap().optional(),
        workflows: Grants.shape.workflows.unwrap().optional(),
      })
      .optional(),
    limits: limits.optional().describe('In place of those it had; null: no limits'),
    addresses: Addresses.nullable().optional(),
  }),
  output: ApiKey,
  handle: ({ keys }, { id: key, name: text, grants, limits: given, addresses }) =>
    keys.update(
      key,
      withoutUndefined({ name: text, grants: grants && withoutUndefined(grants), limits: given, addresses }),
    ),
});

export const rotateKey = operation({
  ...room,
  id: 'keys.rotate',
  summary: 'Create an API key in place of another, which stays valid for a while; its value is shown once',
  route: 'POST /api/keys/:id/rotate',
  kind: 'write',
  copilot: 'no: secret in the answer',
  cli: 'keys rotate',
  status: 201,
  secret: ['value', 'userSecret'],
  errors: ['key_not_found', 'key_not_active'],
  input: z.strictObject({
    id,
    overlap: z.string().default('24h').describe('How long the old one is good beside the new one: `0s` to `30d`'),
  }),
  output: RotatedKey,
  handle: ({ keys }, input, { caller }) =>
    keys.rotate(input.id, { overlapMs: readOverlap(input.overlap), createdBy: caller.name }),
});

export const revokeKey = operation({
  ...room,
  id: 'keys.revoke',
  summary: 'Revoke an API key at once',
  route: 'POST /api/keys/:id/revoke',
  kind: 'write',
  confirm: true,
  copilot: 'yes',
  cli: 'keys revoke',
  errors: ['key_not_found'],
  input: z.strictObject({ id }),
  output: ApiKey,
  handle: ({ keys }, input) => keys.revoke(input.id),
});

// --- internal ---

const LONGEST_OVERLAP_MS = parseDuration('30d');

function readOverlap(text: string): number {
  try {
    const ms = parseDuration(text);
    if (ms <= LONGEST_OVERLAP_MS) return ms;
  } catch {
    // Said below.
  }
  throw new BoxError('invalid_request', `"overlap": "${text}" is no time from "0s" to "30d", such as "1h".`, {
    details: { param: 'overlap' },
  });
}
