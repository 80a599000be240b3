import { z } from 'zod';
import { toPage } from '../operations/cursor.ts';
import { operationsOf } from '../operations/define.ts';
import { Page, ShortListPage, withoutUndefined } from '../operations/inputs.ts';
import { ConfigValue } from './config-values.ts';
import { ConfigRevision } from './store.ts';
import type { ConfigValues } from './config-values.ts';

const operation = operationsOf<{ config: ConfigValues }>();

// Values are for those who may read them; every seat reads the activity log.
const room = { tag: 'config', copilot: 'yes', secret: ['value', 'default', 'type', 'problem'] } as const;
const key = z.string().describe('A key of `config.schema.ts`');
const NO_KEY = 'config_key_not_found';

export const listConfig = operation({
  ...room,
  id: 'config.list',
  summary: 'List the keys of the dynamic configuration with value, default, type and revision',
  route: 'GET /api/config',
  kind: 'read',
  permission: 'config:read',
  cli: 'config list',
  input: z.strictObject(ShortListPage),
  output: z.object({ items: z.array(ConfigValue), nextCursor: z.string().nullable() }),
  handle: async ({ config }, page) => toPage(await config.list(), ({ key: name }) => name, page),
});

export const getConfig = operation({
  ...room,
  id: 'config.get',
  summary: 'Get one key of the dynamic configuration with its schema and default',
  route: 'GET /api/config/:key',
  kind: 'read',
  permission: 'config:read',
  cli: 'config get',
  errors: [NO_KEY],
  input: z.strictObject({ key }),
  output: ConfigValue,
  handle: ({ config }, input) => config.get(input.key),
});

export const setConfig = operation({
  ...room,
  id: 'config.set',
  summary: 'Set a key of the dynamic configuration to a value that fits its schema',
  route: 'PUT /api/config/:key',
  kind: 'write',
  permission: 'config:write',
  cli: 'config set',
  errors: [NO_KEY, 'config_value_invalid', 'revision_conflict'],
  headers: { 'if-match': 'ifMatch' },
  input: z.strictObject({
    key,
    value: z.unknown().refine((value) => value !== undefined, { error: 'Send the value: {"value": ...}' }),
    ifMatch: z
      .string()
      .regex(/^(?:\*|"?\d{1,9}"?)$/, { error: 'Send the revision you have seen: If-Match: "3"' })
      .optional()
      .describe('The revision you have seen; at another one nothing is set'),
  }),
  output: ConfigValue,
  before: ({ config }, input) => config.get(input.key),
  handle: ({ config }, { key: name, value, ifMatch }, { caller }) =>
    config.set(name, value, { by: caller.name, revision: toRevision(ifMatch) }),
});

export const deleteConfig = operation({
  ...room,
  id: 'config.delete',
  summary: 'Drop the value of a key, so that its default is in force',
  route: 'DELETE /api/config/:key',
  kind: 'write',
  permission: 'config:write',
  confirm: true,
  cli: 'config unset',
  errors: [NO_KEY],
  input: z.strictObject({ key }),
  output: ConfigValue,
  before: ({ config }, input) => config.get(input.key),
  handle: ({ config }, input, { caller }) => config.unset(input.key, { by: caller.name }),
});

export const listConfigHistory = operation({
  ...room,
  id: 'config.history',
  summary: 'List what a key was set to, by whom and when, newest first',
  route: 'GET /api/config/:key/history',
  kind: 'read',
  permission: 'config:read',
  errors: [NO_KEY],
  input: z.strictObject({ key, ...Page }),
  output: z.object({ items: z.array(ConfigRevision), nextCursor: z.string().nullable() }),
  handle: ({ config }, { key: name, ...page }) => config.history(name, withoutUndefined(page)),
});

// --- internal ---

/** `*` is any revision. */
function toRevision(ifMatch: string | undefined): number | undefined {
  return ifMatch === undefined || ifMatch === '*' ? undefined : Number(ifMatch.replaceAll('"', ''));
}
