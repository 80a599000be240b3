import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { askProvider } from './ask.ts';
import type { ModelProvider, ProviderInUse } from './provider.ts';

export const ModelList = z.object({
  items: z.array(z.object({ id: z.string() })),
  readAt: z.iso.datetime().describe('When the provider was asked; its answer is kept for 5 minutes'),
});
export type ModelList = z.infer<typeof ModelList>;

export const ProviderTest = z.object({
  ok: z.boolean(),
  call: z.enum(['models', 'chat']).describe('What the provider was asked for'),
  status: z.int().nullable().describe('The HTTP status it answered with; null: it did not answer'),
  ms: z.int(),
  problem: z.string().nullable(),
});
export type ProviderTest = z.infer<typeof ProviderTest>;

export interface Models {
  /** Throws `model_provider_missing`, and `models_unavailable` when the provider has no list or does not answer. */
  list(signal: AbortSignal): Promise<ModelList>;
  /** Calls the provider once: a chat of one token with that model, or its list of models. Throws `model_provider_missing`. */
  test(model: string | undefined, signal: AbortSignal): Promise<ProviderTest>;
}

/** What the provider offers. */
export function createModels(provider: Pick<ModelProvider, 'get'>): Models {
  let known: { of: string; list: ModelList } | undefined;
  return {
    async list(signal) {
      const asked = await provider.get();
      const of = `${asked.baseUrl} ${asked.apiKey ?? ''}`;
      if (known?.of === of && Date.now() - Date.parse(known.list.readAt) < KEEP_MS) return known.list;
      const list = await readList(asked, signal);
      known = { of, list };
      return list;
    },
    async test(model, signal) {
      const asked = await provider.get();
      const began = performance.now();
      const answer =
        model === undefined
          ? await askProvider(asked, { path: '/models', signal })
          : await askProvider(asked, { path: '/chat/completions', body: { ...SHORTEST, model }, signal });
      const { status, problem = null } = answer;
      const call = model === undefined ? 'models' : 'chat';
      return { ok: problem === null, call, status, ms: Math.round(performance.now() - began), problem };
    },
  };
}

// --- internal ---

const KEEP_MS = 5 * 60_000;
const SHORTEST = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 };

const Answer = z.object({ data: z.array(z.looseObject({ id: z.string() })) });

async function readList(provider: ProviderInUse, signal: AbortSignal): Promise<ModelList> {
  const { status, json, problem } = await askProvider(provider, { path: '/models', signal });
  const parsed = Answer.safeParse(json);
  if (!parsed.success) {
    const hasNone = problem === undefined || status === 404 || status === 405 || status === 501;
    const reason = hasNone
      ? 'The model provider has no list of models: take the names from its documentation.'
      : problem;
    throw new BoxError('models_unavailable', reason, { details: { status } });
  }
  const ids = [...new Set(parsed.data.data.map(({ id }) => id))].toSorted();
  return { items: ids.map((id) => ({ id })), readAt: new Date().toISOString() };
}
