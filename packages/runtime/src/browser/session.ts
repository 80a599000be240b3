import type { BrowserContext, Page } from 'playwright-core';
import { runOutside } from '../engine/context.ts';
import { real } from '../engine/real.ts';
import type { BoxError } from '../errors.ts';
import { browserUnreachable, sessionEnded } from './errors.ts';
import type { Link } from './links.ts';
import { guardContext, guardPage } from './pages.ts';
import type { FindRefusal } from './pages.ts';
import type { BrowserLimits } from './settings.ts';

/** A context of its own in a browser: nothing in it has been there before, and nothing of it is left. */
export interface BrowserSession {
  /** The page that was opened last and is still open. */
  page(): Page;
  /** Why it has ended; undefined: it is open. */
  ended(): BoxError | undefined;
  /** Settles as `work` does; rejects with `browser_session_ended` when the session ends before. */
  race<T>(work: Promise<T>): Promise<T>;
  /** `why` is what whoever uses it reads. Default: that it was closed. */
  close(why?: string): Promise<void>;
}

export interface SessionOptions {
  link: Link;
  limits: Pick<BrowserLimits, 'pages' | 'sessionSeconds'>;
  find: FindRefusal;
  /** Ends it. */
  signal: AbortSignal;
  /** Called once. */
  onEnd(): void;
}

/** Throws `browser_unreachable` when the browser does not open one. */
export async function openSession({ link, limits, find, signal, onEnd }: SessionOptions): Promise<BrowserSession> {
  const { browser } = link;
  let end: BoxError | undefined;
  let context: BrowserContext | undefined;
  let reject: (error: BoxError) => void = () => {};
  const over = new Promise<never>((_, fail) => (reject = fail));
  over.catch(() => {});

  const close = async (why = 'it was closed'): Promise<void> => {
    if (end) return;
    end = sessionEnded(why);
    real.clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    browser.off('disconnected', onGone);
    reject(end);
    onEnd();
    await runOutside(async () => {
      // A browser that does not answer any more does not hold up whoever is done with it.
      const closing = context?.close({ reason: end?.message ?? '' }).catch(() => {});
      await Promise.race([closing, new Promise((resolve) => real.setTimeout(resolve, CLOSE_MS).unref())]);
      await link.leave();
    });
  };
  const onAbort = (): void => void close('what used it was cancelled, or had its time');
  const onGone = (): void => void close('the browser has closed the connection');
  const { sessionSeconds } = limits;
  const timer = real.setTimeout(
    () => void close(`it was open for ${sessionSeconds} s, the longest a session may be`),
    sessionSeconds * 1_000,
  );
  timer.unref();
  browser.on('disconnected', onGone);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();

  const race = <T>(work: Promise<T>): Promise<T> => {
    work.catch(() => {});
    return Promise.race([over, work]);
  };
  try {
    context = await race(runOutside(() => openContext(browser, { limits, find })));
    const opened = context;
    return {
      page() {
        const last = opened.pages().at(-1);
        if (last) return last;
        throw end ?? sessionEnded('its last page was closed');
      },
      ended: () => end,
      race,
      close,
    };
  } catch (error) {
    await close();
    if (error === end) throw error;
    throw browserUnreachable('It does not open a page.', error);
  }
}

// --- internal ---

const CLOSE_MS = 5_000;
const ACTION_MS = 10_000;
const NAVIGATION_MS = 30_000;

async function openContext(
  browser: Link['browser'],
  { limits, find }: Pick<SessionOptions, 'limits' | 'find'>,
): Promise<BrowserContext> {
  const context = await browser.newContext({ serviceWorkers: 'block', acceptDownloads: false });
  context.setDefaultTimeout(ACTION_MS);
  context.setDefaultNavigationTimeout(NAVIGATION_MS);
  await guardContext(context, find);
  const guarded = new WeakMap<Page, Promise<void>>();
  context.on('page', (page) => {
    if (context.pages().length > limits.pages) return void page.close().catch(() => {});
    const guarding = guardPage(page, find);
    // One that cannot be guarded is not left open.
    guarding.catch(() => page.close().catch(() => {}));
    guarded.set(page, guarding);
  });
  const page = await context.newPage();
  await guarded.get(page);
  return context;
}
