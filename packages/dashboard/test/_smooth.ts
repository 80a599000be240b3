import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { OpenPage } from './_browser.ts';
import { settle } from './_screens.ts';

/**
 * Milliseconds of the processor in one task. A person feels a freeze from 100 on, which is the aim and is printed
 * (docs/design/speed.md); a machine shared with others has taken 1.5 times as long for the same work.
 */
const MOST_MS = 200;

/** Milliseconds of the longest task of a page's main thread. */
export interface LongestTask {
  /** By the clock, as the page itself sees it. 0: none took more than 50 ms. */
  wallMs: number;
  /** Of the processor: what it takes where nothing else runs. */
  cpuMs: number;
}

/** The longest task of the page while something is done in it: what a person would feel as a freeze. */
export async function measureLongest(page: Page, act: () => Promise<unknown>): Promise<LongestTask> {
  const browser = page.context().browser();
  if (!browser) throw new Error('The page has no browser of its own.');
  // In each document that is loaded meanwhile.
  await page.addInitScript(WATCH);
  await page.evaluate(WATCH);
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-lighthouse', '__metadata'] });
  let trace: Buffer = Buffer.alloc(0);
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const wallMs = Number(await page.evaluate('window.svcLongest'));
  return { wallMs: Math.round(wallMs), cpuMs: Math.round(longestOf(traceEvents)) };
}

export type ExpectSmooth = (what: string, act: (page: Page) => Promise<unknown>) => Promise<void>;

/**
 * That nothing freezes while something is done, by the median of three pages on which nothing is loaded for the first time, and
 * of the processor: what else runs on the machine takes none of it.
 */
export function smoothOn(open: OpenPage, address: () => string): ExpectSmooth {
  return async (what, act) => {
    const tasks = [];
    for (let n = 0; n < 3; n += 1) {
      const page = await open(address());
      await settle(page);
      tasks.push(await measureLongest(page, () => act(page)));
      await page.context().close();
    }
    tasks.sort((a, b) => a.cpuMs - b.cpuMs);
    console.info(what, JSON.stringify(tasks));
    expect([what, (tasks[1]?.cpuMs ?? Infinity) <= MOST_MS]).toEqual([what, true]);
  };
}

// --- internal ---

const WATCH = `(() => {
  window.svcLongest = 0;
  const note = ({ duration }) => void (window.svcLongest = Math.max(window.svcLongest, duration));
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: 'longtask', buffered: true });
})()`;

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds by the clock, and of the processor. */
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

function longestOf(events: readonly TraceEvent[]): number {
  const mains = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const tasks = events.filter(
    ({ name, ph, pid, tid }) => ph === 'X' && name.endsWith('RunTask') && mains.has(`${pid}/${tid}`),
  );
  if (tasks.length === 0) throw new Error('The trace has no task of the page.');
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
}
