// @ts-check
import { setTimeout as wait } from 'node:timers/promises';
import { round } from './_stats.mjs';

/**
 * @param {{ browser: import('../packages/dashboard/node_modules/playwright-core/index.js').Browser, studio: string, box: import('./_box.mjs').Box, events: number }} of
 */
export async function measureMemory({ browser, studio, box, events }) {
  const start = async (/** @type {number} */ count) =>
    JSON.parse((await box.call('/api/workflows/rows/start', { count })).text).runId;
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 } });
  const followed = await start(10);
  /** @type {import('../packages/dashboard/node_modules/playwright-core/index.js').CDPSession[]} */
  const sessions = [];
  for (const path of ['/runs', `/runs/${followed}`]) {
    const page = await context.newPage();
    await page.goto(studio + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    sessions.push(await context.newCDPSession(page));
  }
  const read = async () => {
    const all = await Promise.all(sessions.map(readMemory));
    return {
      mb: round(
        all.reduce((sum, { mb }) => sum + mb, 0),
        1,
      ),
      elements: all.reduce((sum, { elements }) => sum + elements, 0),
      listeners: all.reduce((sum, { listeners }) => sum + listeners, 0),
    };
  };
  const count = await countEvents(box);
  // What is loaded late is loaded, and every list is as long as it gets.
  while (count.seen() < events / 20) await start(CALLS);
  await settle();
  const before = await read();
  const from = count.seen();
  const began = performance.now();
  const quarters = [];
  while (count.seen() - from < events) {
    await start(CALLS);
    // No more than two runs ahead of what the box has told.
    await count.ofRuns(2);
    if (quarters.length < Math.floor(((count.seen() - from) * 4) / events)) quarters.push((await read()).mb);
  }
  const seconds = (performance.now() - began) / 1_000;
  await settle();
  const after = await read();
  count.stop();
  await context.close();
  const grown = after.mb - before.mb;
  return {
    bench: 'dashboard.memory',
    events: count.seen() - from,
    seconds: round(seconds),
    before,
    quartersMb: quarters,
    after,
    grownMb: round(grown, 1),
    ok: grown <= MOST_MB && after.elements <= before.elements * 1.2,
  };
}

// --- internal ---

/** Of each run that makes events: one of each call, and of its start and its end. */
const CALLS = 500;
/** What may be more after an hour, of both pages. */
const MOST_MB = 5;
const GATHER_MS = 2_000;

/** Until all that was told is shown. */
const settle = () => wait(GATHER_MS);

/** @param {import('../packages/dashboard/node_modules/playwright-core/index.js').CDPSession} session */
async function readMemory(session) {
  await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (/** @type {string} */ name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return { mb: usedSize / 1_048_576, elements: of('Nodes'), listeners: of('JSEventListeners') };
}

/**
 * What the box tells everyone who follows it.
 * @param {import('./_box.mjs').Box} box
 */
async function countEvents(box) {
  const ending = new AbortController();
  const { body } = await fetch(`${box.url}/api/events`, { signal: ending.signal });
  let seen = 0;
  let ended = 0;
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (body))) {
      const text = decoder.decode(part, { stream: true });
      seen += text.split('\nevent: ').length - 1;
      ended += text.split('event: run.ended').length - 1;
    }
  };
  void read().catch(() => {});
  let started = 0;
  return {
    seen: () => seen,
    /** Waits until all but so many of the runs that were counted with it are told to have ended. */
    async ofRuns(/** @type {number} */ ahead) {
      started++;
      const isAhead = () => started - ended > ahead;
      while (isAhead()) await wait(5);
    },
    stop: () => ending.abort(),
  };
}
