import { z } from 'zod';
import type { CodeStore, OpenRun } from '../engine/journal/code.ts';
import { CHANGE, changeOf } from '../engine/run/changes.ts';
import { decode } from '../engine/serialize.ts';

/** A place at which the code of a workflow branches by `svc.version`, as its open runs stand to it. */
export const Change = z.object({
  change: z.string().describe('The name the code asks for'),
  newest: z.int().describe('The highest version that an open run has'),
  versions: z
    .array(z.object({ version: z.int(), runs: z.int() }))
    .describe('Open runs by the version they have; 0 first'),
  unasked: z
    .int()
    .describe(
      'Open runs that began with earlier code, those moved since too, and have not asked: on the newest code they may need the branch of version 0',
    ),
  isNeeded: z.boolean().describe('An open run has an older version than the newest, or may need one'),
});
export type Change = z.infer<typeof Change>;

export const Changes = z.object({
  items: z.array(Change).describe('By name. A change that no open run has asked for is not among them'),
  openRuns: z.int().describe('Those that were looked at'),
  behind: z.int().describe('Of these, those that began with earlier code than what is served'),
  isWhole: z.boolean().describe('False: there are more open runs than were looked at'),
});
export type Changes = z.infer<typeof Changes>;

export interface ChangesAsked {
  name: string;
  /** Of the code that is served. Undefined: none is. */
  codeHash: string | undefined;
}

/** What the open runs of a workflow, up to 10,000 of them, have been answered by `svc.version`. */
export async function listChanges(
  code: Pick<CodeStore, 'listOpenRuns' | 'listNoted'>,
  { name, codeHash }: ChangesAsked,
): Promise<Changes> {
  const found = await code.listOpenRuns(name, MOST_RUNS + 1);
  const runs = found.slice(0, MOST_RUNS);
  // One that has been moved asks when it wakes.
  const isBehind = (run: OpenRun): boolean => run.codeHash !== codeHash || run.isMoved;
  const behind = new Set(runs.filter(isBehind).map(({ runId }) => runId));
  const asked = new Map<string, Asked>();
  for (let at = 0; at < runs.length; at += BATCH) {
    const batch = runs.slice(at, at + BATCH).map(({ runId }) => runId);
    for (const { runId, stepId, output } of await code.listNoted(batch, CHANGE)) {
      const change = changeOf(stepId);
      if (change === undefined || output === null) continue;
      const entry = asked.get(change) ?? { counts: new Map(), behind: 0 };
      const version = decode(output) as number;
      entry.counts.set(version, (entry.counts.get(version) ?? 0) + 1);
      if (behind.has(runId)) entry.behind += 1;
      asked.set(change, entry);
    }
  }
  const items = [...asked].map(([change, entry]) => toChange(change, entry, behind.size)).toSorted(byName);
  return { items, openRuns: runs.length, behind: behind.size, isWhole: found.length <= MOST_RUNS };
}

// --- internal ---

const MOST_RUNS = 10_000;

/** Runs whose records are read at once: a store that answers in this process holds it up for no longer. */
const BATCH = 200;

interface Asked {
  counts: Map<number, number>;
  /** Of those that have asked, how many began with earlier code. */
  behind: number;
}

function toChange(change: string, { counts, behind: asked }: Asked, behind: number): Change {
  const versions = [...counts].map(([version, runs]) => ({ version, runs })).toSorted((a, b) => a.version - b.version);
  const newest = versions.at(-1)?.version ?? 0;
  const unasked = behind - asked;
  return { change, newest, versions, unasked, isNeeded: newest === 0 || versions.length > 1 || unasked > 0 };
}

function byName(a: Change, b: Change): number {
  return a.change < b.change ? -1 : 1;
}
