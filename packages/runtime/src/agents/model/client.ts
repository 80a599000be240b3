import { createLru } from '../../lru.ts';
import type { Lru } from '../../lru.ts';
import { createHttpFetch } from '../../provider/http-fetch.ts';
import type { ProviderInUse } from '../../provider/provider.ts';
import { isPassing, toProviderError } from './provider-error.ts';
import { readReply } from './read-reply.ts';
import type { ModelReply } from './read-reply.ts';
import type { ReplyOptions } from './reply.ts';
import { postToProvider, ProviderRefusal, toCompletionBody } from './request.ts';
import type { ModelRequest, PostOptions } from './request.ts';
import { sendAgain, withinTime } from './send.ts';

/** Calls the provider, emitting every part of its reply as it comes. Throws a ProviderError with the provider's status. */
export type CallModel = (request: ModelRequest, reply: ReplyOptions, signal: AbortSignal) => Promise<ModelReply>;

/**
 * The client of one process: connections are reused.
 * @param headersOf asked for each call, in the step that makes it
 */
export function createModelClient(
  getProvider: () => Promise<ProviderInUse>,
  headersOf: () => Record<string, string> = () => ({}),
): CallModel {
  const ownFetch = createHttpFetch({ followsRedirects: true });
  const unhinted: Unhinted = createLru(MODELS_REMEMBERED);
  return async (request, reply, caller) => {
    const provider = await getProvider();
    const { timeout } = request;
    const headers = headersOf();
    const { fetch = ownFetch } = provider;
    try {
      return await withinTime({ timeout, signal: caller }, async (signal) => {
        const options = { fetch, headers, signal, unhinted };
        const { response, model } = await sendToAny(provider, request, options);
        const answer = await readReply(response, {
          ...reply,
          provider,
          signal,
          hasLogprobs: request.parameters.logprobs === true,
        });
        return model === request.model ? answer : { ...answer, fallback: model };
      });
    } catch (error) {
      throw caller.aborted ? caller.reason : toProviderError(error, provider);
    }
  };
}

// --- internal ---

const MODELS_REMEMBERED = 500;

/** The models of which a provider has refused a hint. */
type Unhinted = Lru<true>;
type ClientPost = PostOptions & { unhinted: Unhinted };

/** Each model in turn, as long as what they answer may be another's answer too. Throws what the last one answered. */
async function sendToAny(
  provider: ProviderInUse,
  request: ModelRequest,
  options: ClientPost,
): Promise<{ response: Response; model: string }> {
  const models = [...new Set([request.model, ...(request.fallbackModels ?? [])])];
  for (const [index, model] of models.entries()) {
    try {
      return { response: await sendHinted(provider, { ...request, model }, options), model };
    } catch (error) {
      if (index === models.length - 1 || options.signal.aborted || !isPassing(error)) throw error;
    }
  }
  throw new Error('There is no model to ask.');
}

/** With its hints, or without them where the provider refuses one: a client asks every model for what some cannot do. */
async function sendHinted(provider: ProviderInUse, request: ModelRequest, options: ClientPost): Promise<Response> {
  const { hints, ...plain } = request;
  const { maxRetries } = request;
  const post = (asked: ModelRequest) => send(provider, toCompletionBody(asked), { ...options, maxRetries });
  const place = `${provider.baseUrl} ${request.model}`;
  if (!hints || options.unhinted.has(place)) return post(plain);
  try {
    return await post(request);
  } catch (error) {
    if (!refusesAny(error, Object.keys(hints))) throw error;
    options.unhinted.set(place, true);
    return post(plain);
  }
}

/** Whether the refusal names one of the members. */
function refusesAny(error: unknown, names: readonly string[]): boolean {
  if (!(error instanceof ProviderRefusal) || (error.status !== 400 && error.status !== 422)) return false;
  const { param, message } = (error.error ?? {}) as { param?: unknown; message?: unknown };
  return names.some((name) => param === name || String(message ?? '').includes(name));
}

/** The head of the answer. What comes after it is never asked for again. */
function send(
  provider: ProviderInUse,
  body: string,
  { maxRetries, unhinted: _known, ...options }: ClientPost & Pick<ModelRequest, 'maxRetries'>,
): Promise<Response> {
  const post = () => postToProvider(provider, { path: '/chat/completions', body, ...options });
  return sendAgain(post, { maxRetries, signal: options.signal });
}
