import { z } from 'zod';
import { NO_TOKENS } from '../engine/journal/run.ts';
import type { RunTally } from '../engine/journal/reading.ts';
import type { Tokens } from '../engine/journal/run.ts';
import { toIso } from '../json-value.ts';
import { RunStatus } from './run.ts';

/** The runs that were created within one stretch of time, as they stand now. */
export const RunStats = z.object({
  start: z.iso.datetime(),
  end: z.iso.datetime(),
  runs: z.int(),
  statuses: z.partialRecord(RunStatus, z.int()).describe('How many are in each status that occurs'),
  averageMs: z.number().nullable().describe('From start to end, of those that have ended'),
  maxMs: z.int().nullable(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cacheReadTokens: z.int(),
  cacheWriteTokens: z.int(),
  totalTokens: z.int(),
});
export type RunStats = z.infer<typeof RunStats>;

/** Oldest first; a stretch without runs is left out. */
export function toStats(tallies: readonly RunTally[], bucketMs: number): RunStats[] {
  const buckets = new Map<number, RunTally[]>();
  for (const tally of tallies) buckets.set(tally.bucket, [...(buckets.get(tally.bucket) ?? []), tally]);
  return [...buckets].map(([bucket, parts]) => toBucket(bucket * bucketMs, bucketMs, parts));
}

// --- internal ---

function toBucket(start: number, bucketMs: number, parts: RunTally[]): RunStats {
  const sum = (of: (tally: RunTally) => number): number => parts.reduce((total, tally) => total + of(tally), 0);
  const timed = sum((tally) => tally.timed);
  const tokens = Object.keys(NO_TOKENS).map((key) => [key, sum((tally) => tally[key as keyof Tokens])]);
  return {
    start: toIso(start),
    end: toIso(start + bucketMs),
    runs: sum(({ count }) => count),
    statuses: Object.fromEntries(parts.map(({ status, count }) => [status, count])),
    averageMs: timed === 0 ? null : Math.round(sum(({ durationSum }) => durationSum) / timed),
    maxMs: timed === 0 ? null : Math.max(...parts.map(({ durationMax }) => durationMax)),
    ...(Object.fromEntries(tokens) as unknown as Tokens),
  };
}
