import type { Browser } from 'playwright-core';
import { runOutside } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { browserUnreachable } from './errors.ts';
import type { BrowserEndpoint } from './settings.ts';
import { openSocket } from './socket.ts';

/** A connection to a browser that is used by one session. */
export interface Link {
  browser: Browser;
  /** The last one that leaves ends the connection. The browser itself goes on. */
  leave(): Promise<void>;
}

/** The connections of this process: one per browser, for as long as a session uses it. */
export interface Links {
  /** Throws `browser_unreachable`. */
  join(endpoint: BrowserEndpoint, egress: EgressPolicy | undefined): Promise<Link>;
}

export function createLinks(): Links {
  const open = new Map<string, Shared>();
  return {
    async join(endpoint, egress) {
      const key = JSON.stringify([endpoint, egress === undefined]);
      let shared = open.get(key);
      if (!shared) {
        const begun: Shared = { users: 0, opening: runOutside(() => connect(endpoint, egress)) };
        const forget = (): void => void (open.get(key) === begun && open.delete(key));
        begun.opening.then((browser) => browser.on('disconnected', forget), forget);
        open.set(key, begun);
        shared = begun;
      }
      const mine = shared;
      mine.users += 1;
      const leave = async (): Promise<void> => {
        mine.users -= 1;
        if (mine.users > 0) return;
        if (open.get(key) === mine) open.delete(key);
        await mine.opening.then(
          (browser) => browser.close(),
          () => {},
        );
      };
      try {
        const browser = await mine.opening;
        return { browser, leave: () => leave().catch(() => {}) };
      } catch (error) {
        mine.users -= 1;
        throw error;
      }
    },
  };
}

// --- internal ---

const ATTACH_MS = 20_000;

interface Shared {
  users: number;
  opening: Promise<Browser>;
}

async function connect(endpoint: BrowserEndpoint, egress: EgressPolicy | undefined): Promise<Browser> {
  const transport = await openSocket({ endpoint, egress, signal: AbortSignal.timeout(ATTACH_MS) });
  try {
    const { chromium } = await import('playwright-core');
    return await chromium.connectOverCDP(transport, { timeout: ATTACH_MS });
  } catch (error) {
    transport.close();
    if (error instanceof BoxError) throw error;
    throw browserUnreachable('It answers, but not as a Chromium that can be driven over CDP.', error);
  }
}
