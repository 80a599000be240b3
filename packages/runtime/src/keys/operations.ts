import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { BoxError } from '../errors.ts';
import { ApiKey, Grants } from './api-keys.ts';
import type { ApiKeys } from './api-keys.ts';

const operation = operationsOf<{ keys: ApiKeys }>();

const room = { tag: 'keys', permission: 'keys:write' } as const;
const id = z.string().describe('The id of the key');
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
  secret: ['value'],
  input: z.strictObject({
    name,
    grants: Grants.default({ agents: [], workflows: [] }),
    expiresAt: z.iso.datetime({ offset: true }).nullable().default(null).describe('Null: it never expires'),
  }),
  output: ApiKey.extend({ value: z.string().describe('The key itself: it is not kept, and never shown again') }),
  handle({ keys }, { expiresAt: text, ...given }, { caller }) {
    const expiresAt = text === null ? null : new Date(text);
    if (expiresAt && expiresAt.getTime() <= Date.now())
      throw new BoxError('invalid_request', `"expiresAt": "${text}" is over. Take a time to come, or null for never.`);
    return keys.create({ ...given, expiresAt, createdBy: caller.name });
  },
});

export const updateKey = operation({
  ...room,
  id: 'keys.update',
  summary: 'Rename an API key or change what it is granted',
  route: 'PATCH /api/keys/:id',
  kind: 'write',
  copilot: 'yes',
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
  }),
  output: ApiKey,
  handle: ({ keys }, { id: key, name: text, grants }) =>
    keys.update(key, withoutUndefined({ name: text, grants: grants && withoutUndefined(grants) })),
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
