import type { Page } from 'playwright-core';
import type { BrowserRoom } from './browser.ts';

/** What code of a step or a tool reaches of the browser. */
export interface BrowserCalls {
  /** A page in a session of its own, which is closed when the step or the tool is over. */
  open(): Promise<Page>;
  /** The same, closed when `work` is over. Answers what it does. */
  page<T>(work: (page: Page) => Promise<T> | T): Promise<T>;
}

/** The attempt that code runs in. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** Called once the attempt is over. */
  onEnd(work: () => void): void;
}

export function callsOf(browser: Pick<BrowserRoom, 'open'>, attempt: Attempt): BrowserCalls {
  return {
    async open() {
      const session = await browser.open(attempt.signal);
      attempt.onEnd(() => void session.close('the step that opened it is over'));
      return session.page();
    },
    async page(work) {
      const session = await browser.open(attempt.signal);
      // Its end as well, of a step whose attempt does not wait for it.
      attempt.onEnd(() => void session.close('the step that opened it is over'));
      try {
        return await session.race((async () => work(session.page()))());
      } finally {
        await session.close();
      }
    },
  };
}
