import { z } from 'zod';
import { BoxError } from '../errors.ts';
import type { EgressPolicy } from '../provider/egress.ts';

/** How much of a browser is used at once, and for how long. */
export const BrowserLimits = z.object({
  sessions: z.int().min(1).max(100).describe('Sessions one process of the box has open at once'),
  pages: z.int().min(1).max(50).describe('Pages one session has open at once; one more is closed again'),
  sessionSeconds: z.int().min(1).max(3_600).describe('Seconds after which a session is closed, whatever it does'),
  idleSeconds: z
    .int()
    .min(1)
    .max(3_600)
    .describe('Seconds without a call of a browser tool after which the session of an agent is closed'),
});
export type BrowserLimits = z.infer<typeof BrowserLimits>;

export const DEFAULT_LIMITS: BrowserLimits = { sessions: 5, pages: 5, sessionSeconds: 300, idleSeconds: 60 };

/** Where a browser is reached, and how it knows this box. */
export interface BrowserEndpoint {
  /** `ws`, `wss`, `http` or `https`. `{key}` in its path or query stands for the key. */
  url: string;
  apiKey?: string;
  /** Which header carries the key where the address has no place for it. Default: `authorization`. */
  header?: string;
  /** What comes before the key in it. Default: `Bearer `. */
  prefix?: string;
}

/** What is stored. The key is not part of it: it is sealed. */
export interface StoredBrowser {
  endpoint?: BrowserEndpoint;
  limits?: Partial<BrowserLimits>;
  /** Hosts that pages may ask. Empty: any that is not private. */
  allowedHosts?: string[];
}

/** What is in force. */
export interface BrowserInUse {
  endpoint: BrowserEndpoint | undefined;
  /** Undefined: it is one of the environment, which may be any. */
  egress: EgressPolicy | undefined;
  limits: BrowserLimits;
  allowedHosts: readonly string[];
}

export const HEADER = 'authorization';
export const PREFIX = 'Bearer ';

/** The place of the key in an address. */
const PLACE = '{key}';

export function hasPlace(url: string): boolean {
  return url.includes(PLACE);
}

/** The address with the key in its place. Throws `browser_url_invalid` where it is none that a browser can be reached at. */
export function toAddress({ url: text, apiKey = '' }: Pick<BrowserEndpoint, 'url' | 'apiKey'>): URL {
  const filled = text.replaceAll(PLACE, encodeURIComponent(apiKey));
  const url = URL.canParse(filled) ? new URL(filled) : undefined;
  // First of all, because the other refusal repeats the address.
  if (url && (url.username !== '' || url.password !== ''))
    throw invalid('The address of the browser carries credentials. Send the key as apiKey.');
  if (!url || !SCHEMES.has(url.protocol))
    throw invalid('The address of the browser must begin with ws://, wss://, http:// or https://.');
  if (url.host !== new URL(text.replaceAll(PLACE, `${encodeURIComponent(apiKey)}x`)).host)
    throw invalid('In the address of a browser {key} must be in the path or in the query, and not in the host.');
  url.hash = '';
  return url;
}

/** The address as it is shown: what is in its query may be a key that someone wrote there. */
export function toShown(text: string): string {
  const [head = '', query] = text.split('#')[0]?.split(/\?(.*)/s) ?? [];
  if (query === undefined) return head;
  const shown = query.split('&').map((pair) => {
    const [name = '', value] = pair.split(/=(.*)/s);
    return value === undefined || value === PLACE || value === '' ? pair : `${name}=…`;
  });
  return `${head}?${shown.join('&')}`;
}

export function invalid(message: string): BoxError {
  return new BoxError('browser_url_invalid', message);
}

// --- internal ---

const SCHEMES = new Set(['ws:', 'wss:', 'http:', 'https:']);
