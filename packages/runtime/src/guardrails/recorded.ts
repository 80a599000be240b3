import type { RunRow } from '../engine/journal/run.ts';
import type { RuleSet } from './rules.ts';
import type { Action, Side } from './store.ts';
import type { Found } from './text-stream.ts';

export type Verdict = 'pass' | 'mask' | 'hold' | 'block';

/** What rules find at one place of a recorded run. */
export interface JudgedPlace {
  side: Side;
  /** The number of the call in the run. Null: what the run was started with. */
  step: number | null;
  /** Of calls: those that are called. Of a result: whose it is. */
  tools: string[];
  verdict: Verdict;
  found: readonly Found[];
}

/** One record of a run, or what it was started with. */
export interface JudgedRecord {
  /** Those that a rule is about. */
  places: JudgedPlace[];
  /** How many characters were read for it. */
  characters: number;
  /** Where the next one begins. */
  next: number;
}

/**
 * Judges what is recorded of a run as it would be judged while the run does it: nothing is run, changed or recorded. `from` is 0
 * at first, then `next` of the last one that was read.
 */
export type JudgeRecorded = (
  run: RunRow,
  how: { rules: RuleSet; from: number; signal?: AbortSignal | undefined },
) => AsyncGenerator<JudgedRecord, void>;

/** What comes of what rules have found. */
export function toVerdict(found: readonly Pick<Found, 'rule' | 'isApplied'>[]): Verdict {
  const does = (action: Action) => found.some(({ rule, isApplied }) => isApplied && rule.action === action);
  return VERDICTS.find((verdict) => does(verdict)) ?? 'pass';
}

// --- internal ---

const VERDICTS = ['block', 'hold', 'mask'] as const;
