import { setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import { createHttpFetch } from '../../provider/http-fetch.ts';
import type { ProviderInUse } from '../../provider/provider.ts';
import { isPassing, retryDelay, timedOut, toProviderError } from './provider-error.ts';
import { readReply } from './read-reply.ts';
import type { ModelReply } from './read-reply.ts';
import type { ReplyOptions } from './reply.ts';
import { postCompletion, ProviderRefusal, toCompletionBody } from './request.ts';
import type { ModelRequest, PostOptions } from './request.ts';

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
  const unhinted: Unhinted = new LRUCache({ max: MODELS_REMEMBERED });
  return async (request, reply, signal) => {
    const provider = await getProvider();
    const { timeout = DEFAULT_TIMEOUT_MS } = request;
    const headers = headersOf();
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(timedOut(timeout)), Math.min(timeout, LONGEST_TIMER_MS));
    const onAbort = (): void => ended.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const { fetch = ownFetch } = provider;
      const { response, model } = await sendToAny(provider, request, {
        fetch,
        headers,
        signal: ended.signal,
        unhinted,
      });
      const answer = await readReply(response, { ...reply, provider, signal: ended.signal });
      return model === request.model ? answer : { ...answer, fallback: model };
    } catch (error) {
      throw ended.signal.aborted ? ended.signal.reason : toProviderError(error, provider);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  };
}

// --- internal ---

const DEFAULT_TIMEOUT_MS = 600_000;
const MODELS_REMEMBERED = 500;

/** The models of which a provider has refused a hint. */
type Unhinted = LRUCache<string, true>;
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
async function send(
  provider: ProviderInUse,
  body: string,
  { maxRetries, unhinted: _known, ...options }: ClientPost & Pick<ModelRequest, 'maxRetries'>,
): Promise<Response> {
  const { signal } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await postCompletion(provider, body, options);
    } catch (error) {
      const delay = signal.aborted ? undefined : retryDelay(error, attempt, maxRetries);
      if (delay === undefined) throw error;
      await wait(delay, undefined, { signal });
    }
  }
}
