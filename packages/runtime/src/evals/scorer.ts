import { z } from 'zod';
import { compileLinear } from '../linear-pattern.ts';
import { BoxError } from '../errors.ts';
import { compileJsonSchema } from '../schema/json-schema/compile.ts';

const NAME = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/, { error: 'Use 1 to 64 letters, digits, ".", "-" and "_"' });

const COMMON = {
  name: NAME.optional().describe('What its column is called. Default: its type'),
  weight: z.number().positive().max(100).default(1).describe('How much it counts in the score of a case'),
};
const PATH = z
  .string()
  .max(200)
  .optional()
  .describe('The part of the output that is meant: `order.total`. Default: all of it');
const IGNORE_CASE = z.boolean().default(false);
const WHOLE = z.number().int().positive().max(1_000_000_000).optional();
const share = (value: number) => z.number().min(0).max(1).default(value);
const MODEL = z.string().min(1).max(200).optional();

const ExpectedCall = z.strictObject({
  tool: z.string().min(1).max(200),
  arguments: z
    .unknown()
    .optional()
    .describe('Members its arguments have to have, with these values. Default: any will do'),
});
export type ExpectedCall = z.infer<typeof ExpectedCall>;

/** How an answer is judged. Each answers a score from 0 to 1, and whether that will do. */
export const Scorer = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('exact').describe('The output is the expectation'),
    ...COMMON,
    path: PATH,
    ignoreCase: IGNORE_CASE,
  }),
  z.strictObject({
    type: z.literal('contains').describe('The output has these texts in it'),
    ...COMMON,
    values: z
      .array(z.string().min(1).max(2_000))
      .min(1)
      .max(50)
      .optional()
      .describe('Default: the expectation, a text or a list of texts'),
    mode: z.enum(['all', 'any', 'none']).default('all'),
    ignoreCase: IGNORE_CASE,
  }),
  z.strictObject({
    type: z.literal('regex').describe('The output matches'),
    ...COMMON,
    pattern: z.string().min(1).max(2_000),
    ignoreCase: IGNORE_CASE,
    matches: z.boolean().default(true).describe('False: it must not match'),
  }),
  z.strictObject({
    type: z.literal('json-schema').describe('The output is JSON that fits'),
    ...COMMON,
    schema: z.looseObject({}),
  }),
  z.strictObject({
    type: z.literal('numeric').describe('The output is a number near the expected one'),
    ...COMMON,
    path: PATH,
    tolerance: z.number().min(0).default(0).describe('How far it may be off'),
    relative: z.boolean().default(false).describe('The tolerance is a share of the expected number'),
  }),
  z.strictObject({
    type: z.literal('semantic').describe('The output means what is expected, by the vectors of both'),
    ...COMMON,
    model: MODEL.describe('Default: the embedding model of the workspace'),
    threshold: share(0.8),
  }),
  z.strictObject({
    type: z.literal('trajectory').describe('The tools that were called'),
    ...COMMON,
    calls: z.array(ExpectedCall).max(100),
    mode: z
      .enum(['exact', 'in-order', 'any-order'])
      .default('in-order')
      .describe(
        'exact: these and no others, in this order; in-order: others may stand between; any-order: all of them',
      ),
    forbidden: z.array(z.string().max(200)).max(50).default([]).describe('Tools that must not be called'),
  }),
  z.strictObject({
    type: z.literal('tokens').describe('No more tokens than that'),
    ...COMMON,
    maxInput: WHOLE,
    maxOutput: WHOLE,
    maxTotal: WHOLE,
  }),
  z.strictObject({
    type: z.literal('cost').describe('No more than that, at these prices'),
    ...COMMON,
    max: z.number().positive(),
    inputPerMillion: z.number().min(0),
    outputPerMillion: z.number().min(0),
  }),
  z.strictObject({
    type: z.literal('latency').describe('No longer than that'),
    ...COMMON,
    maxMs: z.number().int().positive().max(86_400_000),
  }),
  z.strictObject({
    type: z.literal('judge').describe('A model judges the output by a rubric'),
    ...COMMON,
    rubric: z.string().min(1).max(20_000),
    model: MODEL.describe('Default: the model of the workspace'),
    threshold: share(0.7),
    timeoutMs: z.number().int().min(1_000).max(600_000).default(60_000),
  }),
  z.strictObject({
    type: z.literal('code').describe('What evals/<scorer>.scorer.ts of the workspace says'),
    ...COMMON,
    scorer: z.string().min(1).max(64).describe('The name of its file'),
  }),
]);
export type Scorer = z.infer<typeof Scorer>;
export type ScorerOf<Type extends Scorer['type']> = Extract<Scorer, { type: Type }>;

export const MOST_SCORERS = 20;

export const ScorerList = z.array(Scorer).max(MOST_SCORERS);

/** What its column is called. */
export function columnOf(scorer: Scorer): string {
  return scorer.name ?? (scorer.type === 'code' ? scorer.scorer : scorer.type);
}

/** The names of those that the workspace declares. */
export interface KnownScorers {
  has(name: string): boolean;
  names(): string[];
}

/** Throws `invalid_request` where one can never be asked, and where two have one name. */
export async function requireScorers(
  scorers: readonly Scorer[],
  known: KnownScorers,
  member = 'scorers',
): Promise<void> {
  const names = new Set<string>();
  for (const [index, scorer] of scorers.entries()) {
    const name = columnOf(scorer);
    const place = `${member}.${index}`;
    if (names.has(name)) throw refused(place, `Two of "${member}" are named "${name}". Give one of them a "name".`);
    names.add(name);
    const problem = explainScorer(scorer, known);
    if (problem !== undefined) throw refused(place, `"${place}" cannot be asked: ${problem}`);
  }
}

/** Those of the suite and those of the case; of two with one name, that of the case. */
export function joinScorers(suite: readonly Scorer[], own: readonly Scorer[]): Scorer[] {
  const names = new Set(own.map(columnOf));
  return [...own, ...suite.filter((scorer) => !names.has(columnOf(scorer)))];
}

/**
 * Those that a case with an expectation is asked by: where none of them looks at the answer, as `latency`, what is expected
 * is compared by `exact` as well, in a column of its own.
 */
export function withComparison(asked: readonly Scorer[]): Scorer[] {
  if (asked.some(({ type }) => !BESIDE_ANSWER.has(type))) return [...asked];
  const taken = new Set(asked.map(columnOf));
  if (!taken.has(EXACT.type)) return [...asked, EXACT];
  let name = 'expected';
  for (let nth = 2; taken.has(name); nth++) name = `expected-${nth}`;
  return [...asked, { ...EXACT, name }];
}

/** The pattern as the engine takes it. Undefined: it is none that a linear engine knows. */
export function compileScorer({ pattern, ignoreCase }: ScorerOf<'regex'>) {
  return compileLinear(ignoreCase ? `(?i)${pattern}` : pattern);
}

// --- internal ---

const EXACT = { type: 'exact', weight: 1, ignoreCase: false } as const;

/** What an answer took, and what was called on the way to it. */
const BESIDE_ANSWER: ReadonlySet<Scorer['type']> = new Set(['latency', 'cost', 'tokens', 'trajectory']);

function explainScorer(scorer: Scorer, known: KnownScorers): string | undefined {
  if (scorer.type === 'code' && !known.has(scorer.scorer)) return toUnknown(scorer.scorer, known.names());
  if (scorer.type === 'regex' && !compileScorer(scorer))
    return 'its pattern is no regular expression without lookaround and references to groups.';
  if (scorer.type === 'json-schema') return explainSchema(scorer.schema);
  if (
    scorer.type === 'tokens' &&
    [scorer.maxInput, scorer.maxOutput, scorer.maxTotal].every((max) => max === undefined)
  )
    return 'it needs "maxInput", "maxOutput" or "maxTotal".';
  if (
    scorer.type === 'trajectory' &&
    scorer.calls.length === 0 &&
    scorer.forbidden.length === 0 &&
    scorer.mode !== 'exact'
  )
    return 'it needs "calls" or "forbidden".';
  return undefined;
}

/** Answers are held to all of a schema, or to none. */
function explainSchema(schema: Record<string, unknown>): string | undefined {
  try {
    compileJsonSchema(schema);
    return undefined;
  } catch (error) {
    return `${(error as Error).message}.`;
  }
}

function toUnknown(name: string, known: readonly string[]): string {
  const [first, ...others] = known.slice(0, 10).map((one) => `"${one}"`);
  const there = first === undefined ? 'there is none' : `there is ${[first, ...others].join(', ')}`;
  return `the workspace has no evals/${name}.scorer.ts; ${there}.`;
}

function refused(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
