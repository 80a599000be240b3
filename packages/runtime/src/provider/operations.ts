import { z } from 'zod';
import { operation } from '../operations/define.ts';

export const Provider = z.object({
  baseUrl: z.string().nullable(),
  source: z.enum(['environment', 'stored']).nullable(),
  hasKey: z.boolean().describe('Whether a key is present; the key is never told'),
});

export const getProvider = operation({
  id: 'provider.get',
  summary: 'Get the model provider: base URL, where it comes from, and whether a key is present',
  route: 'GET /api/model-provider',
  tag: 'provider',
  kind: 'read',
  permission: 'provider:read',
  copilot: 'yes',
  input: z.strictObject({}),
  output: Provider,
  handle: ({ provider }) => provider.info(),
});

export const setProvider = operation({
  id: 'provider.set',
  summary: 'Store the base URL and key of the model provider; opens the dev boot gate',
  route: 'PUT /api/model-provider',
  tag: 'provider',
  kind: 'write',
  permission: 'provider:write',
  confirm: true,
  copilot: 'yes',
  errors: ['provider_url_invalid'],
  input: z.strictObject({
    baseUrl: z.string().min(1).describe('A chat-completions endpoint, up to and including /v1'),
    apiKey: z.string().min(1).optional().describe('Absent for a keyless gateway; stored sealed, never shown again'),
  }),
  output: Provider,
  handle: ({ provider }, { baseUrl, apiKey }) => provider.set(apiKey === undefined ? { baseUrl } : { baseUrl, apiKey }),
});
