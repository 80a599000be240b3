import { z } from 'zod';
import { ModelList, ProviderTest } from './models.ts';
import { toPage } from '../operations/cursor.ts';
import { operationsOf } from '../operations/define.ts';
import { ShortListPage } from '../operations/inputs.ts';
import type { Models } from './models.ts';
import type { ModelProvider } from './provider.ts';

const operation = operationsOf<{ models: Models; provider: ModelProvider }>();

export const Provider = z.object({
  baseUrl: z.string().nullable(),
  source: z.enum(['environment', 'stored']).nullable(),
  hasKey: z.boolean().describe('Whether a key is present; the key is never shown'),
});

export const getProvider = operation({
  id: 'provider.get',
  summary: 'Get the model provider: base URL, where it comes from, and whether a key is present',
  route: 'GET /api/model-provider',
  tag: 'provider',
  kind: 'read',
  permission: 'provider:read',
  copilot: 'yes',
  cli: 'provider get',
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
  cli: 'provider set',
  secret: ['apiKey'],
  errors: ['provider_url_invalid'],
  input: z.strictObject({
    baseUrl: z.string().min(1).describe('A chat-completions endpoint, up to and including /v1'),
    apiKey: z
      .string()
      .min(1)
      .max(10_000)
      .optional()
      .describe('Absent for a keyless gateway; stored sealed, never shown again'),
  }),
  output: Provider,
  before: ({ provider }) => provider.info(),
  handle: ({ provider }, { baseUrl, apiKey }) => provider.set(apiKey === undefined ? { baseUrl } : { baseUrl, apiKey }),
});

export const testProvider = operation({
  id: 'provider.test',
  summary: 'Call the model provider once and report the outcome; never what it answered',
  route: 'POST /api/model-provider/test',
  tag: 'provider',
  kind: 'read',
  permission: 'provider:read',
  copilot: 'yes',
  cli: 'provider test',
  errors: ['model_provider_missing'],
  input: z.strictObject({
    model: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Asks for one token of this model; without it, for the list of models'),
  }),
  output: ProviderTest,
  handle: ({ models }, { model }, { signal }) => models.test(model, signal),
});

export const deleteProvider = operation({
  id: 'provider.delete',
  summary: 'Remove the stored model provider with its key; one of the environment stays',
  route: 'DELETE /api/model-provider',
  tag: 'provider',
  kind: 'write',
  permission: 'provider:write',
  confirm: true,
  copilot: 'yes',
  cli: 'provider delete',
  input: z.strictObject({}),
  output: Provider,
  before: ({ provider }) => provider.info(),
  handle: ({ provider }) => provider.remove(),
});

export const listModels = operation({
  id: 'models.list',
  summary: 'List the ids of the models the provider offers; kept for 5 minutes',
  route: 'GET /api/models',
  tag: 'provider',
  kind: 'read',
  permission: 'catalog:read',
  copilot: 'yes',
  cli: 'provider models',
  errors: ['model_provider_missing', 'models_unavailable'],
  input: z.strictObject(ShortListPage),
  output: ModelList.extend({ nextCursor: z.string().nullable() }),
  async handle({ models }, page, { signal }) {
    const { items, readAt } = await models.list(signal);
    return { ...toPage(items, ({ id }) => id, page), readAt };
  },
});
