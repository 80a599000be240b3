import { BoxError } from '../errors.ts';
import { real } from '../engine/real.ts';
import type { Log } from '../log.ts';
import type { Links } from './links.ts';
import type { BrowserEndpoint, BrowserInUse } from './settings.ts';

/** Whether the browser answers. Where one is paid by the session, asking is one. */
export interface Check {
  works(): Promise<boolean>;
  /** What is known of it. */
  last(): { works: boolean | null; problem: string | null };
  /** What whoever used it has found. */
  note(endpoint: BrowserEndpoint, error?: unknown): void;
  /** The settings have changed. */
  forget(): void;
}

export interface CheckOptions {
  links: Links;
  current(): Promise<BrowserInUse>;
  log: Log;
}

export function createCheck({ links, current, log }: CheckOptions): Check {
  let known: Known | undefined;
  let asking: { of: string; answer: Promise<boolean> } | undefined;

  const note: Check['note'] = (endpoint, error) => {
    const isDown = error instanceof BoxError && error.code === 'browser_unreachable';
    if (error !== undefined && !isDown) return;
    const problem = isDown ? error.message : null;
    if (problem !== null && known?.problem !== problem) log.warn('The browser does not answer.', { problem });
    known = { of: toKey(endpoint), problem, until: performance.now() + (isDown ? RETRY_MS : KEEP_MS) };
  };
  const ask = async ({ endpoint, egress }: BrowserInUse & { endpoint: BrowserEndpoint }): Promise<boolean> => {
    try {
      const link = await links.join(endpoint, egress);
      await link.leave();
      note(endpoint);
      return true;
    } catch (error) {
      note(endpoint, error);
      return false;
    }
  };
  return {
    async works() {
      const inUse = await current();
      const { endpoint } = inUse;
      if (!endpoint) return false;
      const of = toKey(endpoint);
      if (known?.of === of && performance.now() < known.until) return known.problem === null;
      if (asking?.of !== of) {
        const answer = ask({ ...inUse, endpoint }).finally(() => {
          if (asking?.answer === answer) asking = undefined;
        });
        asking = { of, answer };
      }
      const last = known?.of === of && known.problem === null;
      const late = new Promise<boolean>((resolve) => real.setTimeout(() => resolve(last), WAIT_MS).unref());
      return Promise.race([asking.answer, late]);
    },
    last: () => (known ? { works: known.problem === null, problem: known.problem } : { works: null, problem: null }),
    note,
    forget() {
      known = undefined;
      asking = undefined;
    },
  };
}

// --- internal ---

const KEEP_MS = 10 * 60_000;
const RETRY_MS = 60_000;
/** Whoever asks what the box offers does not wait for a browser for long. */
const WAIT_MS = 4_000;

interface Known {
  of: string;
  /** Null: it has answered. */
  problem: string | null;
  until: number;
}

function toKey(endpoint: BrowserEndpoint): string {
  return JSON.stringify(endpoint);
}
