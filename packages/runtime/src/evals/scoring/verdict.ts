import type { Observed } from '../observed.ts';
import type { RunCase } from '../run.ts';

/** What a scorer says. */
export interface Verdict {
  /** From 0 to 1. */
  score: number;
  passed: boolean;
  note?: string;
}

/** What is judged. */
export interface Subject {
  observed: Observed;
  expected: RunCase['expected'];
  input: RunCase['input'];
}

/** Yes or no, with the reason for a no. */
export function toVerdict(passed: boolean, why: () => string): Verdict {
  return passed ? { score: 1, passed } : { score: 0, passed, note: why() };
}

/** A grade, with what it has to reach. */
export function toGrade(score: number, threshold: number, note?: string): Verdict {
  const bounded = Number.isFinite(score) ? Math.min(1, Math.max(0, score)) : 0;
  return { score: bounded, passed: bounded >= threshold, ...(note === undefined || note === '' ? {} : { note }) };
}

/** What a scorer compares with. Throws where the case has none. */
export function requireExpected({ expected }: Subject): unknown {
  if (expected === null) throw new Error('The case has no expectation.');
  return expected.value;
}

/** The beginning of a value as JSON, for people: a text in quotes, so that its full stop is not ours. */
export function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 120 ? `${text.slice(0, 119).toWellFormed()}…` : text;
}
