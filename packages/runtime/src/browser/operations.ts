import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import type { BrowserRoom } from './browser.ts';
import { BrowserInfo } from './change.ts';
import { BrowserLimits } from './settings.ts';

const operation = operationsOf<{ browser: BrowserRoom }>();

const room = { tag: 'browser' } as const;

export const getBrowser = operation({
  ...room,
  id: 'browser.get',
  summary: 'Get the settings of the browser that code and agents use, and whether it answers; never its key',
  route: 'GET /api/browser',
  kind: 'read',
  permission: 'browser:read',
  copilot: 'yes',
  input: z.strictObject({}),
  output: BrowserInfo,
  handle: ({ browser }) => browser.get(),
});

export const setBrowser = operation({
  ...room,
  id: 'browser.set',
  summary: 'Change the browser settings that are given; writes a secret when a key is given',
  route: 'PUT /api/browser',
  kind: 'write',
  permission: 'browser:write',
  confirm: true,
  copilot: 'yes',
  secret: ['apiKey'],
  errors: ['browser_url_invalid'],
  input: z.strictObject({
    url: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe(
        'The debugging endpoint (CDP) of a Chromium: ws://, wss://, http:// or https://. {key} in its path or query is replaced by the key. Another address than the one before loses the key of that',
      ),
    apiKey: z
      .string()
      .regex(/^[\u0021-\u007e]+$/, 'A key has no spaces, and only ASCII')
      .max(10_000)
      .optional()
      .describe('What the endpoint knows this box by; stored sealed, never shown again'),
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,100}$/, 'A header has letters, digits and "-"')
      .optional()
      .describe('Which header carries the key, where the address has no {key}. Default: authorization'),
    prefix: z
      .string()
      .regex(/^[\u0020-\u007e]{0,50}$/, 'At most 50 characters of ASCII')
      .optional()
      .describe('What comes before the key in it. Default: "Bearer "'),
    limits: BrowserLimits.partial().strict().optional().describe('Those that change'),
    allowedHosts: z
      .array(
        z
          .string()
          .max(253)
          .regex(/^(?:\*\.)?[a-z0-9.:-]+$/, 'A host in lower case, with "*." before it for those below'),
      )
      .max(200)
      .optional()
      .describe('Hosts that pages may ask, "*.example.com" for those below one. Empty: any that is not private'),
  }),
  output: BrowserInfo,
  before: ({ browser }) => browser.info(),
  handle: ({ browser }, { limits, ...change }) =>
    browser.set(withoutUndefined({ ...change, limits: limits && withoutUndefined(limits) })),
});

export const deleteBrowser = operation({
  ...room,
  id: 'browser.delete',
  summary: 'Remove the stored browser with its key and its limits; one of the environment stays',
  route: 'DELETE /api/browser',
  kind: 'write',
  permission: 'browser:write',
  confirm: true,
  copilot: 'yes',
  input: z.strictObject({}),
  output: BrowserInfo,
  before: ({ browser }) => browser.info(),
  handle: ({ browser }) => browser.remove(),
});
