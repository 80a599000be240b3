import type { BrowserContext, CDPSession, Frame, Page } from 'playwright-core';
import { hostOf, findPrivate } from '../provider/egress.ts';
import type { EgressPolicy } from '../provider/egress.ts';

export interface PageRules {
  /** The addresses that may be asked, as those that are set over the API. */
  egress: EgressPolicy;
  /** Hosts, `*.` before one for those below it. Empty: any. */
  allowedHosts: readonly string[];
}

/** Why a page must not ask the address; undefined: it may. */
export type FindRefusal = (url: string) => Promise<string | undefined>;

/** The answers are kept for half a minute: a page asks its hosts again and again. */
export function createPageCheck({ egress, allowedHosts }: PageRules): FindRefusal {
  const known = new Map<string, { until: number; refusal: Promise<string | undefined> }>();
  return async (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url) return 'is no address';
    if (INNER.has(url.protocol)) return undefined;
    if (!OUTER.has(url.protocol)) return `begins with "${url.protocol}"`;
    const host = hostOf(url);
    if (allowedHosts.length > 0 && !allowedHosts.some((entry) => matches(entry, host)))
      return `leads to "${host}", which is not among the allowed hosts`;
    const found = known.get(host);
    if (found && performance.now() < found.until) return found.refusal;
    if (known.size >= MOST_HOSTS) known.clear();
    const refusal = findPrivate(url, egress);
    known.set(host, { until: performance.now() + KEEP_MS, refusal });
    return refusal;
  };
}

/**
 * Lets the pages of a context ask only what the check lets through. What is at the head of a request is asked by the
 * context; where it is redirected to, and by a page that another one has opened, by the page.
 */
export async function guardContext(context: BrowserContext, find: FindRefusal): Promise<void> {
  await context.route('**/*', async (route) => {
    const refusal = await find(route.request().url());
    // A page that is gone meanwhile asks nothing any more.
    await (refusal === undefined ? route.fallback() : route.abort('blockedbyclient')).catch(() => {});
  });
  await context.routeWebSocket(/./, async (socket) => {
    const refusal = await find(socket.url());
    if (refusal === undefined) socket.connectToServer();
    else await socket.close({ code: 1008, reason: 'The address is not allowed.' }).catch(() => {});
  });
}

/** Before the first address is opened in it. */
export async function guardPage(page: Page, find: FindRefusal): Promise<void> {
  await guardTarget(page, page, find);
  // A frame of another site is a process of its own, which the guard of its page does not see.
  page.on('framenavigated', (frame) => {
    if (frame.parentFrame() !== null) void guardTarget(page, frame, find).catch(() => {});
  });
}

// --- internal ---

/** What a page brings along itself. */
const INNER = new Set(['about:', 'data:', 'blob:']);
const OUTER = new Set(['http:', 'https:', 'ws:', 'wss:']);
const KEEP_MS = 30_000;
const MOST_HOSTS = 500;

/** Unlike the routes of a context, it is asked about redirects too. */
async function guardTarget(page: Page, target: Page | Frame, find: FindRefusal): Promise<void> {
  const session: CDPSession = await page.context().newCDPSession(target);
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    void find(request.url)
      .then((refusal) =>
        refusal === undefined
          ? session.send('Fetch.continueRequest', { requestId })
          : session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }),
      )
      .catch(() => {}); // a page that is gone
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
}

function matches(entry: string, host: string): boolean {
  return entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry;
}
