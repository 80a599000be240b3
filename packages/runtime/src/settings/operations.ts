import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import { Settings } from './settings.ts';
import { Setup } from './setup.ts';
import type { WorkspaceSettings } from './settings.ts';

const operation = operationsOf<{ settings: WorkspaceSettings; setup(): Promise<Setup> }>();

const room = { tag: 'settings', copilot: 'yes', output: Settings } as const;
const text = z.string().trim().min(1).max(200).nullable().optional();

export const getSettings = operation({
  ...room,
  id: 'settings.get',
  summary:
    'Get the settings of the workspace: name, time zone, default model, log retention, switches of MCP and the copilot',
  route: 'GET /api/settings',
  kind: 'read',
  permission: 'settings:read',
  input: z.strictObject({}),
  handle: ({ settings }) => settings.get(),
});

export const updateSettings = operation({
  ...room,
  id: 'settings.update',
  summary: 'Change settings of the workspace: default model, name, time zone',
  route: 'PATCH /api/settings',
  kind: 'write',
  permission: 'settings:write',
  input: z.strictObject({
    name: text.describe('Null: none'),
    defaultModel: text.describe('`<vendor>/<model>`; null: the one of svc.config.ts'),
    timeZone: text
      .refine((zone) => zone === undefined || zone === null || isTimeZone(zone), 'It is no time zone')
      .describe('An IANA name such as Europe/Madrid; null: none'),
  }),
  before: ({ settings }) => settings.get(),
  handle: ({ settings }, input) => settings.update(withoutUndefined(input)),
});

export const setLogRetention = operation({
  ...room,
  id: 'settings.retention',
  summary: 'Change how long log records are kept',
  route: 'PUT /api/settings/log-retention',
  kind: 'write',
  permission: 'settings:admin',
  input: z.strictObject({ days: z.int().min(1).max(3650).nullable().describe('Null: as svc.config.ts says') }),
  before: ({ settings }) => settings.get(),
  handle: ({ settings }, { days }) => settings.update({ logRetentionDays: days }),
});

export const setKeyExpiry = operation({
  ...room,
  id: 'settings.key_expiry',
  summary: 'Change how long an API key is valid that is created without an expiry',
  route: 'PUT /api/settings/key-expiry',
  kind: 'write',
  permission: 'settings:admin',
  input: z.strictObject({ days: z.int().min(1).max(3650).nullable().describe('Null: for ever') }),
  before: ({ settings }) => settings.get(),
  handle: ({ settings }, { days }) => settings.update({ keyDays: days }),
});

export const setMcp = operation({
  ...room,
  id: 'settings.mcp',
  summary: 'Switch the MCP endpoint on or off, and agents and workflows as tools of it',
  route: 'PUT /api/settings/mcp',
  kind: 'write',
  permission: 'settings:admin',
  input: z.strictObject({
    enabled: z.boolean(),
    tools: z.boolean().nullable().optional().describe('Null: as svc.config.ts says; absent: as it is'),
  }),
  before: ({ settings }) => settings.get(),
  handle: ({ settings }, { enabled, tools }) =>
    settings.update({ mcpEnabled: enabled, ...(tools === undefined ? {} : { mcpTools: tools }) }),
});

export const setCopilot = operation({
  ...room,
  id: 'settings.copilot',
  summary: 'Switch the Studio copilot on or off; nothing of it is deleted',
  route: 'PUT /api/settings/copilot',
  kind: 'write',
  permission: 'copilot:write',
  input: z.strictObject({ enabled: z.boolean() }),
  before: ({ settings }) => settings.get(),
  handle: ({ settings }, { enabled }) => settings.update({ copilotEnabled: enabled }),
});

export const getSetup = operation({
  ...room,
  id: 'settings.setup',
  summary: 'Get the checklist of the first run, and whether agents and workflows are served',
  route: 'GET /api/settings/setup',
  kind: 'read',
  permission: 'settings:read',
  input: z.strictObject({}),
  output: Setup,
  handle: ({ setup }) => setup(),
});

// --- internal ---

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
