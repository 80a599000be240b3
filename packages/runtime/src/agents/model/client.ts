import { setTimeout as wait } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import { createHttpFetch } from '../../provider/http-fetch.ts';
import type { ProviderInUse } from '../../provider/provider.ts';
import { isPassing, retryDelay, timedOut, toProviderError } from './provider-error.ts';
import { readReply } from './read-reply.ts';
import type { ModelReply } from './read-reply.ts';
import type { ReplyOptions } from './reply.ts';
import { postCompletion, toCompletionBody } from './request.ts';
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
      const { response, model } = await sendToAny(provider, request, { fetch, headers, signal: ended.signal });
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

/** Each model in turn, as long as what they answer may be another's answer too. Throws what the last one answered. */
async function sendToAny(
  provider: ProviderInUse,
  request: ModelRequest,
  options: PostOptions,
): Promise<{ response: Response; model: string }> {
  const models = [...new Set([request.model, ...(request.fallbackModels ?? [])])];
  for (const [index, model] of models.entries()) {
    try {
      const body = toCompletionBody({ ...request, model });
      return { response: await send(provider, body, { ...options, maxRetries: request.maxRetries }), model };
    } catch (error) {
      if (index === models.length - 1 || options.signal.aborted || !isPassing(error)) throw error;
    }
  }
  throw new Error('There is no model to ask.');
}

/** The head of the answer. What comes after it is never asked for again. */
async function send(
  provider: ProviderInUse,
  body: string,
  { maxRetries, ...options }: PostOptions & Pick<ModelRequest, 'maxRetries'>,
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
