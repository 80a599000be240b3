import { createHttpFetch } from '../../provider/http-fetch.ts';
import type { ProviderInUse } from '../../provider/provider.ts';
import { toProviderError } from './provider-error.ts';
import { readProviderJson } from './provider-json.ts';
import { postToProvider } from './request.ts';
import { sendAgain, withinTime } from './send.ts';

export interface JsonCall {
  /** Behind the address of the provider: `/embeddings`. */
  path: string;
  /** Milliseconds the whole call may take, whatever it asks. Default: 10 minutes. */
  timeout?: number | undefined;
  /** How often a request that failed is sent again. Default: 2. */
  maxRetries?: number | undefined;
  signal: AbortSignal;
}

/** Sends a body to the provider, and answers the JSON it answers. */
export type AskProvider = (body: object) => Promise<unknown>;

/** A call whose answers are JSON, of one request or more. Throws a ProviderError with the provider's status. */
export type CallForJson = <T>(call: JsonCall, work: (ask: AskProvider) => Promise<T>) => Promise<T>;

/**
 * The client of one process: connections are reused.
 * @param headersOf asked for each call, in the step that makes it
 */
export function createJsonCalls(
  getProvider: () => Promise<ProviderInUse>,
  headersOf: () => Record<string, string> = () => ({}),
): CallForJson {
  const ownFetch = createHttpFetch({ followsRedirects: true });
  return async ({ path, timeout, maxRetries, signal: caller }, work) => {
    const provider = await getProvider();
    const { fetch = ownFetch } = provider;
    const headers = headersOf();
    try {
      return await withinTime({ timeout, signal: caller }, async (signal) =>
        work(async (given) => {
          const body = JSON.stringify(given);
          const post = () => postToProvider(provider, { path, body, fetch, headers, signal });
          return readProviderJson(await sendAgain(post, { maxRetries, signal }));
        }),
      );
    } catch (error) {
      throw caller.aborted ? caller.reason : toProviderError(error, provider);
    }
  };
}
