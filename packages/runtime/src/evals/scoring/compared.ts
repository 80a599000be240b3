import { toCanonicalText } from '../../json-value.ts';
import { compileScorer } from '../scorer.ts';
import type { ScorerOf } from '../scorer.ts';
import { requireExpected, shorten, toVerdict } from './verdict.ts';
import type { Subject, Verdict } from './verdict.ts';
import type { JudgeBySchema } from '../../schema/json-schema/compile.ts';

export function scoreExact({ path, ignoreCase }: ScorerOf<'exact'>, subject: Subject): Verdict {
  const expected = requireExpected(subject);
  // An agent that answers JSON as text means the value.
  const got = typeof expected === 'string' ? readPart(subject, path) : readValue(subject, path);
  const isText = typeof got === 'string' && typeof expected === 'string';
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text).trim();
  const isSame = isText ? fold(got) === fold(expected) : toCanonicalText(got) === toCanonicalText(expected);
  return toVerdict(isSame, () => `Expected ${shorten(expected)}, got ${shorten(got)}.`);
}

export function scoreContains({ values, mode, ignoreCase }: ScorerOf<'contains'>, subject: Subject): Verdict {
  const wanted = values ?? toTexts(requireExpected(subject));
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const text = fold(subject.observed.text);
  const found = wanted.filter((value) => text.includes(fold(value)));
  if (mode === 'none') return toVerdict(found.length === 0, () => `It has ${shorten(found)} in it.`);
  if (mode === 'any') return toVerdict(found.length > 0, () => `It has none of ${shorten(wanted)} in it.`);
  const missing = wanted.filter((value) => !found.includes(value));
  if (missing.length === 0) return { score: 1, passed: true };
  return { score: found.length / wanted.length, passed: false, note: `It lacks ${shorten(missing)}.` };
}

export function scoreRegex(scorer: ScorerOf<'regex'>, { observed }: Subject): Verdict {
  const pattern = compileScorer(scorer);
  if (!pattern) throw new Error('Its pattern is no regular expression that can be asked.');
  const matches = pattern.test(observed.text);
  return toVerdict(
    matches === scorer.matches,
    () => `${shorten(observed.text)} ${matches ? 'matches' : 'does not match'}.`,
  );
}

export function scoreJsonSchema(
  { schema }: ScorerOf<'json-schema'>,
  subject: Subject,
  readSchema: (schema: unknown) => JudgeBySchema,
): Verdict {
  const found = readSchema(schema)(readValue(subject, undefined));
  return toVerdict(!found, () => `${found?.path.join('.') || 'The output'} ${found?.why}.`);
}

export function scoreNumeric({ path, tolerance, relative }: ScorerOf<'numeric'>, subject: Subject): Verdict {
  const expected = toNumber(requireExpected(subject));
  const part = readValue(subject, path);
  const got = toNumber(part);
  if (expected === undefined) throw new Error('The expectation is no number.');
  if (got === undefined) return toVerdict(false, () => `${shorten(part)} is no number.`);
  const allowed = relative ? Math.abs(expected) * tolerance : tolerance;
  // What is written in decimals is not quite what is compared.
  const slack = Number.EPSILON * 8 * Math.max(1, Math.abs(expected), Math.abs(got));
  const off = Math.abs(got - expected);
  return toVerdict(off <= allowed + slack, () => `Expected ${expected}, got ${got}: off by more than ${allowed}.`);
}

// --- internal ---

/** The part of the output as it is. */
function readPart({ observed }: Subject, path: string | undefined): unknown {
  return path === undefined ? observed.text : readPath(toJson(observed.output), path);
}

/** The same; a text that is JSON is what it says. */
function readValue({ observed }: Subject, path: string | undefined): unknown {
  const value = toJson(observed.output);
  return path === undefined ? value : readPath(value, path);
}

function toJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function readPath(value: unknown, path: string): unknown {
  let part = value;
  for (const name of path.split('.')) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return undefined;
    part = (part as Record<string, unknown>)[name];
  }
  return part;
}

function toTexts(expected: unknown): string[] {
  const all: unknown[] = Array.isArray(expected) ? expected : [expected];
  return all.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
}

/** A number, or the one number of a text. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const [only, ...others] = value.slice(0, 10_000).match(/[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi) ?? [];
  return only === undefined || others.length > 0 ? undefined : Number(only);
}
