import { describe, expect, test } from 'vitest';
import { nextFire } from './cron.ts';

/** The times of a stretch, as UTC. */
function list(cron: string, zone: string | null, from: string, to: string): string[] {
  const times = [];
  for (let at = Date.parse(from) - 1; ;) {
    at = nextFire(cron, zone, at);
    if (at > Date.parse(to)) return times;
    times.push(new Date(at).toISOString().slice(11, 16));
  }
}

describe('in Berlin, the night the clocks go from 03:00 back to 02:00', () => {
  test.each([
    ['30 2 * * *', '00:30'],
    ['*/20 2 * * *', '00:00 00:20 00:40'],
    ['0 2,3 * * *', '00:00 02:00'],
    ['30 */2 * * *', '22:30 00:30'],
    ['0 * * * *', '22:00 23:00 00:00 01:00 02:00 03:00'],
    ['*/30 * * * *', '22:00 22:30 23:00 23:30 00:00 00:30 01:00 01:30 02:00 02:30 03:00'],
  ])('%s fires at %s', (cron, times) => {
    expect(list(cron, 'Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-25T03:00:00Z').join(' ')).toBe(times);
  });
});

describe('in Berlin, the night the clocks go from 02:00 to 03:00', () => {
  test.each([
    ['30 2 * * *', '01:00'],
    ['*/20 2 * * *', '01:00'],
    ['0,30 2,3 * * *', '01:00 01:30'],
    ['0 3 * * *', '01:00'],
    ['30 1 * * *', '00:30'],
    ['0 * * * *', '23:00 00:00 01:00 02:00 03:00'],
  ])('%s fires at %s', (cron, times) => {
    expect(list(cron, 'Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T03:00:00Z').join(' ')).toBe(times);
  });
});

test.each([
  ['*/20 2 * * *', 'Europe/Berlin', '2026-03-29T01:00:00Z', '2026-03-30T00:00:00.000Z'],
  ['45 1 * * *', 'America/New_York', '2026-11-01T05:50:00Z', '2026-11-02T06:45:00.000Z'],
  // By half an hour, and a change at midnight.
  ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00:00Z', '2026-10-03T15:30:00.000Z'],
  ['30 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', '2026-09-06T04:00:00.000Z'],
])('%s in %s after %s is %s', (cron, zone, now, next) => {
  expect(new Date(nextFire(cron, zone, Date.parse(now))).toISOString()).toBe(next);
});

test('without a zone the times are UTC, wherever the process runs', () => {
  const zone = process.env['TZ'];
  process.env['TZ'] = 'America/New_York';
  try {
    expect(list('0 9 * * *', null, '2026-07-01T00:00:00Z', '2026-07-02T00:00:00Z')).toEqual(['09:00']);
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});
