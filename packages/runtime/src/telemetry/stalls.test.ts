import { afterEach, expect, test } from 'vitest';
import { createStallWatch, isLong } from './stalls.ts';
import type { Stall, StallReport, StallWatch } from './stalls.ts';

let watch: StallWatch | undefined;
afterEach(() => watch?.close());

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Holds the event loop, from a timer of its own. */
const hold = async (ms: number): Promise<void> => {
  await rest(120);
  const end = performance.now() + ms;
  while (performance.now() < end);
};
const until = async (condition: () => boolean): Promise<void> => {
  for (let n = 0; n < 400 && !condition(); n += 1) await rest(25);
};

function open(cpuMs?: () => number, { reportMs }: { reportMs: number | undefined } = { reportMs: 250 }) {
  const stalls: Stall[] = [];
  const reports: StallReport[] = [];
  watch = createStallWatch({
    onStall: (stall) => stalls.push(stall),
    onReport: (report) => reports.push(report),
    ...(reportMs === undefined ? {} : { reportMs }),
    busySteps: () => ['charge: render', 'charge: render'],
    ...(cpuMs ? { cpuMs } : {}),
  });
  return { stalls, reports, watch };
}

/** A clock of processor time that runs as fast as the other one. */
const busy = () => performance.now();

test('a held event loop is reported with what was under way, once in ten seconds', async () => {
  const { stalls, reports, watch: watching } = open(busy);
  const start = Date.now();
  await hold(350);
  const large = () => stalls.filter(({ ms }) => ms >= 250);
  await until(() => large().length > 0);
  watching.answered({ method: 'POST', route: '/a', start, end: Date.now() });
  watching.attempted({ name: 'charge: send', start, end: Date.now() });
  watching.answered({ method: 'POST', route: '/later', start: Date.now() + 60_000, end: Date.now() + 60_001 });
  watching.answered({ method: 'POST', route: '/before', start: start - 60_000, end: start - 50_000 });
  await until(() => reports.length > 0);
  const steps = ['charge: send', 'charge: render'];
  expect(reports).toEqual([{ ms: expect.any(Number), cause: 'code', steps, requests: ['POST /a'], unreported: 0 }]);
  expect(reports[0]?.ms).toBeGreaterThanOrEqual(250);
  const before = large().length;
  await hold(350);
  await until(() => large().length > before);
  await rest(700);
  expect(reports).toHaveLength(1);
});

test('one of a tenth of a second is reported, and does not keep a long one from it', async () => {
  const { stalls, reports } = open(busy, { reportMs: undefined });
  await hold(100);
  await until(() => reports.length > 0);
  expect(stalls[0]?.ms).toBeGreaterThanOrEqual(50);
  await hold(1_100);
  await until(() => reports.some(isLong));
  expect(reports.filter(isLong)).toHaveLength(1);
});

test('a machine that gives the process no time is counted, and not reported', async () => {
  const { stalls, reports } = open(() => 0);
  await hold(600);
  await until(() => stalls.length > 0);
  await rest(700);
  expect([stalls[0]?.cause, reports]).toEqual(['machine', []]);
});
