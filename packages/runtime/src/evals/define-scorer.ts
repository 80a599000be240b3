import { parseDuration } from '../engine/duration.ts';
import type { ObservedCall } from './observed.ts';

/** What a scorer of the workspace's own is asked about. */
export interface ScorerSubject {
  /** What was asked: the message, or what the workflow was started with. */
  input: unknown;
  /** Undefined: nothing is expected. */
  expected: unknown;
  /** Of an agent: its answer by its schema, or its text. */
  output: unknown;
  /** The same as text. */
  text: string;
  /** In the order in which models asked for them. */
  calls: readonly ObservedCall[];
  inputTokens: number;
  outputTokens: number;
  /** Milliseconds. Null: it is not known. */
  latencyMs: number | null;
  /** Aborts when the scorer has had its time, or the run of the suite ends. */
  signal: AbortSignal;
}

/** A score from 0 to 1, yes or no, or a score with why. */
export type ScorerAnswer = number | boolean | { score: number; passed?: boolean; note?: string };

/** What judges an answer, in code. */
export interface ScorerDefinition {
  description?: string;
  /** The least score that will do. Default 0.5. */
  threshold?: number;
  /** How long one answer may take, at most 10 minutes: milliseconds or a duration. Default 30 s. */
  timeout?: number | string;
  score(subject: ScorerSubject): ScorerAnswer | Promise<ScorerAnswer>;
}

/** What a definition says, with its defaults. */
export interface DefinedScorer {
  threshold: number;
  timeoutMs: number;
  score: ScorerDefinition['score'];
}

/** Declares a scorer. Throws a sentence when a part is wrong, so the file that holds it is named. */
export function defineScorer(scorer: ScorerDefinition): ScorerDefinition {
  parseScorer(scorer);
  return Object.freeze({ ...scorer, [SCORER]: true });
}

export function isScorer(value: unknown): value is ScorerDefinition {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[SCORER] === true;
}

/** Throws a sentence when a part is wrong. */
export function parseScorer(scorer: ScorerDefinition): DefinedScorer {
  if (typeof scorer !== 'object' || scorer === null || typeof scorer.score !== 'function')
    throw new TypeError('A scorer needs a function: defineScorer({ score({ text }) { return 1; } }).');
  const unknown = Object.keys(scorer).find((member) => !MEMBERS.has(member));
  if (unknown !== undefined) throw new TypeError(`A scorer has no member "${unknown}". Take it out.`);
  const { threshold = 0.5, timeout = DEFAULT_TIMEOUT, score } = scorer;
  if (typeof threshold !== 'number' || !(threshold >= 0 && threshold <= 1))
    throw new TypeError(`threshold is ${JSON.stringify(threshold)}; it must be from 0 to 1.`);
  const timeoutMs = Math.round(parseDuration(timeout));
  if (timeoutMs < 1 || timeoutMs > MOST_TIMEOUT_MS)
    throw new TypeError(`timeout is ${JSON.stringify(timeout)}; it must be from 1 ms to 10 minutes.`);
  return { threshold, timeoutMs, score };
}

// --- internal ---

const SCORER = Symbol.for('svc.scorer');
const MEMBERS: ReadonlySet<string> = new Set(['description', 'threshold', 'timeout', 'score']);
const DEFAULT_TIMEOUT = '30s';
const MOST_TIMEOUT_MS = 600_000;
