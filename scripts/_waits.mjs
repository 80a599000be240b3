// @ts-check
/**
 * In every test file, where scripts/test.mjs asks for it with SVC_TEST_WAITS: appends to that file, as a line of JSON, what
 * the file's time went into.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';

/**
 * @typedef {{ file: string, seconds: number, own: number, started: number, beside: number }} Waits
 * `own` and `started` are seconds of a processor: of this process, and of those it started that have ended. For `beside`
 * seconds such a process was there.
 */

const { SVC_TEST_WAITS: target } = process.env;
const EVERY_MS = 100;
/** Of `/proc/self/stat`, in ticks of which every Linux says there are a hundred a second. */
const TICKS = 100;

if (target) {
  let begun = 0;
  let before = { own: 0, started: 0 };
  let samples = 0;
  /** @type {NodeJS.Timeout} */
  let timer;
  beforeAll(() => {
    begun = performance.now();
    before = readTimes();
    timer = setInterval(() => {
      if (process.getActiveResourcesInfo().includes('ProcessWrap')) samples++;
    }, EVERY_MS).unref();
  });
  afterAll(() => {
    clearInterval(timer);
    const { own, started } = readTimes();
    /** @type {Waits} */
    const waits = {
      file: expect.getState().testPath ?? '',
      seconds: (performance.now() - begun) / 1_000,
      own: own - before.own,
      started: started - before.started,
      beside: (samples * EVERY_MS) / 1_000,
    };
    appendFileSync(target, `${JSON.stringify(waits)}\n`);
  });
}

// --- internal ---

function readTimes() {
  try {
    // The name before them may hold spaces.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? [];
    const sum = (/** @type {number} */ at) => ((fields[at] ?? 0) + (fields[at + 1] ?? 0)) / TICKS;
    return { own: sum(11), started: sum(13) };
  } catch {
    const { user, system } = process.cpuUsage();
    return { own: (user + system) / 1e6, started: 0 };
  }
}
