import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { findRefusal } from '../provider/egress.ts';
import { policyToSet } from '../provider/given-address.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createLiveValue } from '../stores/live-value.ts';
import { createAgentSessions } from './agent-sessions.ts';
import type { AgentSessions } from './agent-sessions.ts';
import { applyChange, toInfo } from './change.ts';
import type { BrowserChange, BrowserInfo } from './change.ts';
import { createCheck } from './check.ts';
import { browserBusy, browserNotConfigured } from './errors.ts';
import { createLinks } from './links.ts';
import { createPageCheck } from './pages.ts';
import { openSession } from './session.ts';
import type { BrowserSession } from './session.ts';
import { DEFAULT_LIMITS, invalid, toAddress } from './settings.ts';
import type { BrowserEndpoint, BrowserInUse, StoredBrowser } from './settings.ts';
import type { BrowserStore } from './store.ts';

export interface BrowserRoom {
  /** The settings, and whether the browser answers. Never the key. */
  get(): Promise<BrowserInfo>;
  /** The same, without asking the browser. */
  info(): Promise<BrowserInfo>;
  /** Changes what it names. Throws `browser_url_invalid`. */
  set(change: BrowserChange): Promise<BrowserInfo>;
  /** Removes what is stored. A browser of the environment stays. */
  remove(): Promise<BrowserInfo>;
  /** Whether there is a browser that answers: asked at most every few minutes, and not waited for longer than a few seconds. */
  works(): Promise<boolean>;
  /**
   * Throws `browser_not_configured`, `browser_busy` and `browser_unreachable`. The session ends with the signal, and after
   * its time.
   */
  open(signal: AbortSignal): Promise<BrowserSession>;
  /** What the browser tools of agents use. */
  agents: AgentSessions;
  close(): Promise<void>;
}

export interface BrowserOptions {
  /** What the environment names. It may be private. */
  environment: BrowserEndpoint | undefined;
  store: BrowserStore;
  kv: KeyValueStore | undefined;
  /** What may be called of what is set over the API, and of what pages ask. */
  egress: EgressPolicy;
  mask: Pick<Mask, 'add'>;
  log: Log;
  isOpen(): boolean;
  isBlank(): boolean;
}

export function createBrowser(options: BrowserOptions): BrowserRoom {
  const { environment, store, kv, egress, mask, log, isOpen, isBlank } = options;
  mask.add(environment?.apiKey);
  const stored = createLiveValue<StoredBrowser>({
    load: async () => (isBlank() ? {} : store.read()),
    topic: 'browser',
    kv,
    early: { isOpen, value: {} },
  });
  const links = createLinks();
  const sessions = new Set<BrowserSession>();
  let count = 0;

  const current = async (): Promise<BrowserInUse> => {
    const { endpoint: kept, limits, allowedHosts = [] } = await stored.read();
    mask.add(kept?.apiKey);
    const endpoint = environment ?? kept;
    const all = { ...DEFAULT_LIMITS, ...limits };
    return { endpoint, egress: environment ? undefined : egress, limits: all, allowedHosts };
  };
  const check = createCheck({ links, current, log });
  const info = async (): Promise<BrowserInfo> =>
    toInfo(await current(), { isEnvironment: environment !== undefined, ...check.last() });
  const changed = async (): Promise<BrowserInfo> => {
    await stored.changed();
    check.forget();
    return info();
  };

  const open = async (signal: AbortSignal): Promise<BrowserSession> => {
    const { endpoint, limits, allowedHosts, egress: policy } = await current();
    if (!endpoint) throw browserNotConfigured();
    signal.throwIfAborted();
    if (count >= limits.sessions) throw browserBusy(limits.sessions);
    // Counted before anything is awaited, so that no two take the last place.
    count += 1;
    const opened: { session?: BrowserSession } = {};
    const onEnd = (): void => {
      count -= 1;
      if (opened.session) sessions.delete(opened.session);
    };
    try {
      const link = await links.join(endpoint, policy).catch((error: unknown) => {
        onEnd();
        throw error;
      });
      const find = createPageCheck({ egress, allowedHosts });
      opened.session = await openSession({ link, limits, find, signal, onEnd });
      sessions.add(opened.session);
      check.note(endpoint);
      return opened.session;
    } catch (error) {
      check.note(endpoint, error);
      throw error;
    }
  };
  const agents = createAgentSessions({ open, limits: async () => (await current()).limits });

  return {
    async get() {
      await check.works();
      return info();
    },
    info,
    async set(change) {
      if (change.url !== undefined) {
        const { url, apiKey } = change;
        const address = toAddress({ url, ...(apiKey === undefined ? {} : { apiKey }) });
        const refusal = await findRefusal(address, policyToSet(address, egress));
        if (refusal !== undefined) throw invalid(refusal);
      }
      await store.update((kept) => applyChange(kept, change));
      return changed();
    },
    async remove() {
      await store.remove();
      return changed();
    },
    works: () => check.works(),
    open,
    agents,
    async close() {
      await Promise.all([...sessions].map((session) => session.close('the box is closing')));
      await stored.close();
    },
  };
}
