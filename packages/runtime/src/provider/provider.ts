import { BoxError } from '../errors.ts';

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
  /** Whether a key is present; the key itself is never told. */
  hasKey: boolean;
}

/** Keeps the stored provider: the address in the settings, the key sealed. */
export interface ProviderStore {
  read(): Promise<ProviderSettings | undefined>;
  write(settings: ProviderSettings): Promise<void>;
}

export interface ModelProvider {
  info(): Promise<ProviderInfo>;
  /** Stores the provider; it is used from the next model call on, unless the environment names one. */
  set(settings: ProviderSettings): Promise<ProviderInfo>;
  /** Throws `model_provider_missing` when there is none. */
  get(): Promise<ProviderSettings>;
}

export interface ModelProviderOptions {
  environment: ProviderSettings | undefined;
  store: ProviderStore;
  /** Throws when an address given over the API may not be called. */
  checkAddress(url: URL): Promise<void>;
  onStored(): Promise<void>;
}

export function createModelProvider(options: ModelProviderOptions): ModelProvider {
  const { environment, store } = options;
  let stored: Promise<ProviderSettings | undefined> | undefined;
  const read = () =>
    (stored ??= store.read().catch((error: unknown) => {
      // A store that fails once is asked again.
      stored = undefined;
      throw error;
    }));
  const info = async (): Promise<ProviderInfo> => {
    const settings = environment ?? (await read());
    return {
      baseUrl: settings?.baseUrl ?? null,
      source: environment ? 'environment' : settings ? 'stored' : null,
      hasKey: settings?.apiKey !== undefined,
    };
  };
  return {
    info,
    async set(settings) {
      await options.checkAddress(parseBaseUrl(settings.baseUrl));
      await store.write(settings);
      stored = Promise.resolve(settings);
      await options.onStored();
      return info();
    },
    async get() {
      const settings = environment ?? (await read());
      if (!settings)
        throw new BoxError(
          'model_provider_missing',
          'No model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.',
        );
      return settings;
    },
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
