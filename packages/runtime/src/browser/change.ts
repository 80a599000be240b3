import { z } from 'zod';
import { BrowserLimits, HEADER, invalid, PREFIX, toShown } from './settings.ts';
import type { BrowserEndpoint, BrowserInUse, StoredBrowser } from './settings.ts';

/** The settings as every surface shows them: never the key. */
export const BrowserInfo = z.object({
  url: z
    .string()
    .nullable()
    .describe('The debugging endpoint; its query is not shown, except for the place of the key'),
  source: z.enum(['environment', 'stored']).nullable(),
  hasKey: z.boolean().describe('Whether a key is present; the key is never shown'),
  header: z.string().describe('Which header carries the key, where the address has no {key}'),
  prefix: z.string().describe('What comes before the key in it'),
  limits: BrowserLimits,
  allowedHosts: z.array(z.string()).describe('Hosts that pages may ask; empty: any that is not private'),
  works: z.boolean().nullable().describe('Whether the browser answered when it was last asked; null: it was not asked'),
  problem: z.string().nullable().describe('Why it did not'),
});
export type BrowserInfo = z.infer<typeof BrowserInfo>;

/** What is absent stays as it is. */
export interface BrowserChange extends Partial<BrowserEndpoint> {
  limits?: Partial<BrowserLimits>;
  allowedHosts?: string[];
}

/** Throws `browser_url_invalid` for a key without an address. */
export function applyChange(stored: StoredBrowser, change: BrowserChange): StoredBrowser {
  const { limits, allowedHosts } = change;
  const endpoint = toEndpoint(stored.endpoint, change);
  return {
    ...(endpoint ? { endpoint } : {}),
    limits: { ...stored.limits, ...limits },
    allowedHosts: allowedHosts ?? stored.allowedHosts ?? [],
  };
}

interface Found {
  isEnvironment: boolean;
  works: boolean | null;
  problem: string | null;
}

export function toInfo(inUse: BrowserInUse, { isEnvironment, works, problem }: Found): BrowserInfo {
  const { endpoint, limits, allowedHosts } = inUse;
  return {
    url: endpoint ? toShown(endpoint.url) : null,
    source: isEnvironment ? 'environment' : endpoint ? 'stored' : null,
    hasKey: endpoint?.apiKey !== undefined,
    header: endpoint?.header ?? HEADER,
    prefix: endpoint?.prefix ?? PREFIX,
    limits,
    allowedHosts: [...allowedHosts],
    works: endpoint ? works : null,
    problem: endpoint ? problem : null,
  };
}

// --- internal ---

/** A key goes with the address it was given for: another address is not sent it. */
function toEndpoint(stored: BrowserEndpoint | undefined, change: BrowserChange): BrowserEndpoint | undefined {
  const { url = stored?.url, apiKey, header, prefix } = change;
  const hasOwn = apiKey !== undefined || header !== undefined || prefix !== undefined;
  if (url === undefined) {
    if (hasOwn) throw invalid('There is no address that the key would be for. Send it together with "url".');
    return undefined;
  }
  const before: Partial<BrowserEndpoint> = url === stored?.url ? stored : {};
  const given = { apiKey, header, prefix };
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...before, url, ...known };
}
