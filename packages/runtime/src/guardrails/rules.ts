import { fromJsonSchema } from '../schema/given-schema.ts';
import { parseWith } from '../schema/schema.ts';
import type { CreateFinder } from './checks/finder.ts';
import { findInjection } from './checks/injection.ts';
import { createPersonalDataFinder } from './checks/personal-data.ts';
import { createRegexFinder } from './checks/regex.ts';
import { createWordsFinder } from './checks/words.ts';
import type { Action, Attachment, Check, Guardrail, Side } from './store.ts';

/** What a rule judges as a whole. */
export interface Subject {
  text: string;
  /** Where it is no text: what it is the JSON of. */
  value?: unknown;
  signal?: AbortSignal;
}

/** Says why it is a hit; undefined: it is none. */
export type Judge = (subject: Subject) => Promise<string | undefined> | string | undefined;

/** A rule that is ready to judge: by places in a text, or by the whole of it. */
export interface Rule {
  id: string;
  name: string;
  action: Action;
  failClosed: boolean;
  how: { createFinder: CreateFinder } | { judge: Judge };
}

/** The rules of one side of one agent or workflow, in their order. */
export interface SideRules {
  side: Side;
  /** As the agent or the workflow is named in hits. */
  place: string;
  all: readonly Rule[];
  /** Those that find places. */
  spans: readonly SpanRule[];
  /** Those that need all of it. */
  wholes: readonly WholeRule[];
}

export type SpanRule = Rule & { how: { createFinder: CreateFinder } };
export type WholeRule = Rule & { how: { judge: Judge } };

/** Whose text it is: the run's name, of a sub-agent with its parent's. */
export interface Place {
  kind: 'agent' | 'workflow';
  name: string;
}

/** All rules, ready. Undefined: none is for this. */
export interface RuleSet {
  find(place: Place, side: Side): SideRules | undefined;
}

export const NO_RULES: RuleSet = { find: () => undefined };

export function createRuleSet(guardrails: readonly Guardrail[]): RuleSet {
  const enabled = guardrails.filter((rule) => rule.enabled);
  if (enabled.length === 0) return NO_RULES;
  const ready = enabled.map((guardrail) => ({ guardrail, rule: toRule(guardrail) }));
  const known = new Map<string, SideRules | undefined>();
  return {
    find(place, side) {
      const key = `${side} ${place.kind} ${place.name}`;
      if (known.has(key)) return known.get(key);
      const rules = ready
        .filter(({ guardrail }) => guardrail.sides.includes(side) && isAttached(guardrail.attachment, place))
        .map(({ rule }) => rule);
      const made = toSideRules(side, place, rules);
      // Names come from requests.
      if (known.size < MOST_PLACES) known.set(key, made);
      return made;
    },
  };
}

export function toSideRules(side: Side, { kind, name }: Place, all: readonly Rule[]): SideRules | undefined {
  if (all.length === 0) return undefined;
  return {
    side,
    place: `${kind} ${name}`,
    all,
    spans: all.filter((rule): rule is SpanRule => 'createFinder' in rule.how),
    wholes: all.filter((rule): rule is WholeRule => 'judge' in rule.how),
  };
}

/** One whose check cannot be made judges by failing. */
export function toRule({
  id,
  name,
  action,
  failClosed,
  check,
}: Pick<Guardrail, 'id' | 'name' | 'action' | 'failClosed' | 'check'>): Rule {
  try {
    return { id, name, action, failClosed, how: toHow(check) };
  } catch (error) {
    const judge = (): never => {
      throw error;
    };
    return { id, name, action, failClosed, how: { judge } };
  }
}

/** Whether a check finds places, which can be masked. */
export function findsPlaces({ kind }: Pick<Check, 'kind'>): boolean {
  return kind === 'regex' || kind === 'words' || kind === 'pii';
}

/** Throws an Error that says what is wrong with the check. */
export function toHow(check: Check): Rule['how'] {
  if (check.kind === 'regex') return { createFinder: createRegexFinder(check.pattern, check) };
  if (check.kind === 'words') return { createFinder: createWordsFinder(check) };
  if (check.kind === 'pii') return { createFinder: createPersonalDataFinder(check.kinds) };
  if (check.kind === 'injection') return { judge: ({ text }) => findInjection(text) };
  if (check.kind === 'length') return { judge: ({ text }) => findLength(text.length, check) };
  return { judge: createSchemaJudge(check.schema) };
}

// --- internal ---

const MOST_PLACES = 1_000;

function isAttached({ kind, name }: Attachment, place: Place): boolean {
  if (kind === 'workspace') return true;
  if (kind !== place.kind) return false;
  return name === '' || name === place.name || (kind === 'agent' && place.name.startsWith(`${name}/`));
}

function findLength(length: number, { max = Infinity, min = 0 }: { max?: number; min?: number }): string | undefined {
  if (length > max) return `${length} characters, of which there may be ${max}`;
  return length < min ? `${length} characters, of which there must be ${min}` : undefined;
}

function createSchemaJudge(schema: Record<string, unknown>): Judge {
  let made: ReturnType<typeof fromJsonSchema> | undefined;
  return async ({ text, value }) => {
    const parsed = value === undefined ? parseJson(text) : { value };
    if (!parsed) return 'It is no JSON';
    made ??= fromJsonSchema(schema);
    const result = await parseWith(await made, parsed.value);
    if (result.ok) return undefined;
    const [issue] = result.issues;
    return `${issue?.path.join('.') || 'The value'} does not fit the schema`;
  };
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
