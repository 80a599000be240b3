import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { SECRET_NAME, SECRET_NAME_RULE } from './name.ts';
import { Secret, secretNotFound } from './secrets.ts';
import type { Secrets } from './secrets.ts';

const operation = operationsOf<{ secrets: Secrets }>();

const MAX_BYTES = 65_536;

const room = { tag: 'secrets', copilot: 'yes' } as const;
const name = z.string().describe('The name of the secret');
const value = z
  .string()
  .min(1, 'A secret has a value')
  .refine((text) => Buffer.byteLength(text) <= MAX_BYTES, 'A secret has at most 64 KiB')
  .describe('At most 64 KiB; stored sealed, never shown again');

export const listSecrets = operation({
  ...room,
  id: 'secrets.list',
  summary: 'List the names of secrets with owner, set-at and last use; never a value',
  route: 'GET /api/secrets',
  kind: 'read',
  permission: 'secrets:read',
  cli: 'secrets list',
  input: z.strictObject({ ...Page }),
  output: z.object({ items: z.array(Secret), nextCursor: z.string().nullable() }),
  handle: ({ secrets }, { limit, cursor }) => secrets.list(withoutUndefined({ limit, cursor })),
});

export const getSecret = operation({
  ...room,
  id: 'secrets.get',
  summary: 'Get what is known of one secret; never its value',
  route: 'GET /api/secrets/:name',
  kind: 'read',
  permission: 'secrets:read',
  errors: ['secret_not_found'],
  input: z.strictObject({ name }),
  output: Secret,
  async handle({ secrets }, input) {
    const secret = await secrets.find(input.name);
    if (!secret) throw secretNotFound(input.name);
    return secret;
  },
});

export const setSecret = operation({
  ...room,
  id: 'secrets.set',
  summary: 'Write a secret once; a name that exists is refused and can be rotated',
  route: 'PUT /api/secrets/:name',
  kind: 'write',
  permission: 'secrets:write',
  confirm: true,
  cli: 'secrets set',
  status: 201,
  secret: ['value'],
  errors: ['secret_exists'],
  input: z.strictObject({
    name: z.string().regex(SECRET_NAME, SECRET_NAME_RULE).describe('1 to 128 letters, digits, "_", "." and "-"'),
    value,
  }),
  output: Secret,
  handle: ({ secrets }, input, { caller }) => secrets.create(input.name, input.value, caller.name),
});

export const rotateSecret = operation({
  ...room,
  id: 'secrets.rotate',
  summary: 'Replace the value of an existing secret',
  route: 'POST /api/secrets/:name/rotate',
  kind: 'write',
  permission: 'secrets:rotate',
  confirm: true,
  cli: 'secrets rotate',
  secret: ['value'],
  errors: ['secret_not_found'],
  input: z.strictObject({ name, value }),
  output: Secret,
  before: ({ secrets }, input) => secrets.find(input.name),
  handle: ({ secrets }, input, { caller }) => secrets.rotate(input.name, input.value, caller.name),
});

export const deleteSecret = operation({
  ...room,
  id: 'secrets.delete',
  summary: 'Delete a secret',
  route: 'DELETE /api/secrets/:name',
  kind: 'write',
  permission: 'secrets:write',
  confirm: true,
  cli: 'secrets delete',
  errors: ['secret_not_found'],
  input: z.strictObject({ name }),
  output: z.object({ name: z.string(), deleted: z.literal(true) }),
  before: ({ secrets }, input) => secrets.find(input.name),
  async handle({ secrets }, input) {
    await secrets.delete(input.name);
    return { name: input.name, deleted: true as const };
  },
});
