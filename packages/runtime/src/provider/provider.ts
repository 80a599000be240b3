import { BoxError } from '../errors.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createLiveValue } from '../stores/live-value.ts';
import { checkEgress } from './egress.ts';
import { createFetchFor, policyToSet } from './given-address.ts';
import type { EgressPolicy } from './egress.ts';
import type { Fetch } from './http-fetch.ts';
import { createPinnedFetch } from './pinned-fetch.ts';

/** Where model calls go. */
export interface ProviderSettings {
  /** A chat-completions endpoint, up to and including `/v1`. */
  baseUrl: string;
  /** Absent for a keyless gateway. */
  apiKey?: string;
}

export interface ProviderInfo {
  baseUrl: string | null;
  source: 'environment' | 'stored' | null;
  /** Whether a key is present; the key itself is never shown. */
  hasKey: boolean;
}

/** The provider with the way to reach it. */
export interface ProviderInUse extends ProviderSettings {
  /** For an address that came over the API. Absent: as any address. */
  fetch?: Fetch;
}

/** Keeps the stored provider: the address in the settings, the key sealed. */
export interface ProviderStore {
  read(): Promise<ProviderSettings | undefined>;
  write(settings: ProviderSettings): Promise<void>;
  /** Nothing may be there. */
  remove(): Promise<void>;
}

export interface ModelProvider {
  info(): Promise<ProviderInfo>;
  /** Stores the provider; it is used from the next model call on, unless the environment names one. */
  set(settings: ProviderSettings): Promise<ProviderInfo>;
  /** Removes the stored one. One of the environment stays. */
  remove(): Promise<ProviderInfo>;
  /** Throws `model_provider_missing` when there is none. */
  get(): Promise<ProviderInUse>;
  close(): Promise<void>;
}

export interface ModelProviderOptions {
  environment: ProviderSettings | undefined;
  store: ProviderStore;
  kv?: KeyValueStore | undefined;
  /** Which addresses given over the API may be called. */
  egress: EgressPolicy;
  /** Also when another replica has stored it. */
  onStored(): Promise<void>;
}

export function createModelProvider({ environment, store, kv, egress, onStored }: ModelProviderOptions): ModelProvider {
  const fetches = createFetchFor(egress, createPinnedFetch);
  const stored = createLiveValue({
    load: () => store.read(),
    topic: 'model-provider',
    kv,
    onPublished: () => void onStored().catch(() => {}), // the next look at the gate finds out
  });
  const info = async (): Promise<ProviderInfo> => {
    const settings = environment ?? (await stored.read());
    return {
      baseUrl: settings?.baseUrl ?? null,
      source: environment ? 'environment' : settings ? 'stored' : null,
      hasKey: settings?.apiKey !== undefined,
    };
  };
  return {
    info,
    async set(settings) {
      const url = parseBaseUrl(settings.baseUrl);
      await checkEgress(url, policyToSet(url, egress));
      await store.write(settings);
      await stored.changed();
      await onStored();
      return info();
    },
    async remove() {
      await store.remove();
      await stored.changed();
      return info();
    },
    async get() {
      if (environment) return environment;
      const settings = await stored.read();
      if (settings) return { ...settings, fetch: fetches(new URL(settings.baseUrl)) };
      throw new BoxError(
        'model_provider_missing',
        'No model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.',
      );
    },
    close: stored.close,
  };
}

/** An absolute http or https address without credentials. */
export function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // First of all, because the other refusal repeats the address.
  if (url && (url.username !== '' || url.password !== ''))
    throw new BoxError('provider_url_invalid', 'The provider address carries credentials. Send the key as apiKey.');
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new BoxError('provider_url_invalid', `"${text}" is not an http or https address.`);
  return url;
}
