import { compileJsonSchema } from '../schema/json-schema/compile.ts';
import type { OwnCheck } from './author-check.ts';
import type { CreateFinder } from './checks/finder.ts';
import { findInjection } from './checks/injection.ts';
import { createModelJudge } from './checks/model.ts';
import { createPersonalDataFinder } from './checks/personal-data.ts';
import { createRegexFinder } from './checks/regex.ts';
import type { AskModel, Judge } from './checks/whole.ts';
import { createWordsFinder } from './checks/words.ts';
import type { Action, Attachment, Check, Guardrail, Side, StoredGuardrail } from './store.ts';

/** A rule that is ready to judge: by places in a text, or by the whole of it. */
export interface Rule {
  id: string;
  name: string;
  action: Action;
  failClosed: boolean;
  /** For whom it judges what another turn says. Absent: it is of the side it is asked about. */
  for?: JudgedFor;
  /** Why its check cannot be made, so that it judges by failing. Absent: it can. */
  problem?: string;
  how: { createFinder: CreateFinder } | { judge: Judge; asksModel?: true } | Own;
}

/** The turn that an answer becomes a result of. */
export interface JudgedFor {
  side: Side;
  owner: Place;
  place: string;
  tool: string;
}

/** A check of the workspace's own, which is asked about the whole of it and may answer with places. */
export interface Own {
  check: OwnCheck;
  timeoutMs: number;
  /** Where it is. */
  file: string | null;
}

/** The rules of one side of one agent or workflow, in their order. */
export interface SideRules {
  side: Side;
  owner: Place;
  /** As the agent or the workflow is named in hits. */
  place: string;
  all: readonly Rule[];
  /** Those that find places. */
  spans: readonly SpanRule[];
  /** Those that need all of it. */
  wholes: readonly WholeRule[];
  /** Those whose check is the workspace's own. */
  own: readonly OwnRule[];
  /** How those about the whole of it ask a model. */
  askModel: AskModel | undefined;
  /** One of them asks a model, which costs money. */
  asksModel: boolean;
}

export type SpanRule = Rule & { how: { createFinder: CreateFinder } };
export type WholeRule = Rule & { how: { judge: Judge } };
export type OwnRule = Rule & { how: Own };

/** A rule with what it is about. */
export interface ReadyRule {
  guardrail: Guardrail;
  rule: Rule;
}

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

/** Those in code stand before those that are data. */
export function createRuleSet(
  guardrails: readonly StoredGuardrail[],
  code: readonly ReadyRule[] = [],
  askModel?: AskModel,
  make: (rule: StoredGuardrail) => Rule = toRule,
): RuleSet {
  const stored = guardrails.filter((rule) => rule.enabled).map((guardrail) => ({ guardrail, rule: make(guardrail) }));
  const ready = [...code.filter(({ guardrail }) => guardrail.enabled), ...stored];
  if (ready.length === 0) return NO_RULES;
  const known = new Map<string, SideRules | undefined>();
  return {
    find(place, side) {
      const key = `${side} ${place.kind} ${place.name}`;
      if (known.has(key)) return known.get(key);
      const rules = ready
        .filter(({ guardrail }) => guardrail.sides.includes(side) && isAttached(guardrail.attachment, place))
        .map(({ rule }) => rule);
      const made = toSideRules(side, place, rules, askModel);
      // Names come from requests.
      if (known.size < MOST_PLACES) known.set(key, made);
      return made;
    },
  };
}

/**
 * Those about what a turn says: its own, and behind them those that mask it as the result of a tool of the turn above, as the
 * runs of both have it.
 */
export function findOutputRules(
  rules: RuleSet,
  { name, resultOf }: { name: string; resultOf?: { agent: string; tool: string } | undefined },
): SideRules | undefined {
  const owner: Place = { kind: 'agent', name };
  const own = rules.find(owner, 'agent-output');
  const above = resultOf && rules.find({ kind: 'agent', name: resultOf.agent }, 'tool-result');
  if (!resultOf || !above) return own;
  const known = new Set(own?.all.map(({ id }) => id));
  const { side, owner: agent, place } = above;
  const masks = above.all
    .filter(({ id, action }) => action === 'mask' && !known.has(id))
    .map((rule) => ({ ...rule, for: { side, owner: agent, place, tool: resultOf.tool } }));
  return masks.length === 0
    ? own
    : toSideRules('agent-output', owner, [...(own?.all ?? []), ...masks], own?.askModel ?? above.askModel);
}

export function toSideRules(
  side: Side,
  owner: Place,
  all: readonly Rule[],
  askModel?: AskModel,
): SideRules | undefined {
  if (all.length === 0) return undefined;
  return {
    side,
    owner,
    place: `${owner.kind} ${owner.name}`,
    all,
    spans: all.filter((rule): rule is SpanRule => 'createFinder' in rule.how),
    wholes: all.filter((rule): rule is WholeRule => 'judge' in rule.how),
    own: all.filter((rule): rule is OwnRule => 'check' in rule.how),
    askModel,
    asksModel: all.some(({ how }) => 'asksModel' in how),
  };
}

/** One whose check cannot be made judges by failing. */
export function toRule({
  id,
  name,
  action,
  failClosed,
  check,
}: Pick<StoredGuardrail, 'id' | 'name' | 'action' | 'failClosed' | 'check'>): Rule {
  try {
    return { id, name, action, failClosed, how: toHow(check) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { id, name, action, failClosed, problem, how: failing(error) };
  }
}

/** Of a check that cannot be made. */
export function failing(error: unknown): Rule['how'] {
  return {
    judge() {
      throw error;
    },
  };
}

/** Without those about the whole of a text, but for those that mask it: what comes again has been judged. */
export function withoutWholes(rules: SideRules): SideRules {
  return { ...rules, wholes: [], own: rules.own.filter(({ action }) => action === 'mask') };
}

/** Without those that hold a text: what an operator has let pass would wait each time it comes again. */
export function withoutHolds(rules: SideRules): SideRules {
  return onlyWhere(rules, ({ action }) => action !== 'hold');
}

/** Those that mask a text, for a copy of it that others judge. */
export function onlyMasks(rules: SideRules): SideRules {
  return onlyWhere(rules, ({ action }) => action === 'mask');
}

/** For a place where nothing can wait: what they would hold, they block. */
export function asBlocking(rules: SideRules): SideRules {
  const block = <R extends Rule>(rule: R): R => (rule.action === 'hold' ? { ...rule, action: 'block' } : rule);
  const { all, spans, wholes, own } = rules;
  return { ...rules, all: all.map(block), spans: spans.map(block), wholes: wholes.map(block), own: own.map(block) };
}

/** Whether a check finds places, which can be masked. */
export function findsPlaces({ kind }: Pick<Guardrail['check'], 'kind'>): boolean {
  return kind === 'regex' || kind === 'words' || kind === 'pii' || kind === 'code';
}

/** Throws an Error that says what is wrong with the check. */
export function toHow(check: Check): Rule['how'] {
  if (check.kind === 'regex') return { createFinder: createRegexFinder(check.pattern, check) };
  if (check.kind === 'words') return { createFinder: createWordsFinder(check) };
  if (check.kind === 'pii') return { createFinder: createPersonalDataFinder(check.kinds) };
  if (check.kind === 'injection') return { judge: ({ text }) => findInjection(text) };
  if (check.kind === 'length') return { judge: ({ text }) => findLength(text.length, check) };
  if (check.kind === 'model') return { judge: createModelJudge(check), asksModel: true };
  return { judge: createSchemaJudge(check.schema) };
}

// --- internal ---

function onlyWhere(rules: SideRules, passes: (rule: Rule) => boolean): SideRules {
  const { all, spans, wholes, own } = rules;
  return {
    ...rules,
    all: all.filter(passes),
    spans: spans.filter(passes),
    wholes: wholes.filter(passes),
    own: own.filter(passes),
  };
}

const MOST_PLACES = 1_000;

function isAttached({ kind, name }: Attachment, place: Place): boolean {
  if (kind === 'workspace') return true;
  if (kind !== place.kind) return false;
  return name === '' || name === place.name || (kind === 'agent' && place.name.startsWith(`${name}/`));
}

function findLength(length: number, { max = Infinity, min = 0 }: { max?: number; min?: number }): string | undefined {
  if (length > max) return `${length} characters; at most ${max} are allowed`;
  return length < min ? `${length} characters; at least ${min} are required` : undefined;
}

/** Names in the reason are those of the schema: what is judged is not quoted. */
function createSchemaJudge(schema: Record<string, unknown>): Judge {
  const judge = compileJsonSchema(schema);
  return ({ text, value }) => {
    const parsed = value === undefined ? parseJson(text) : { value };
    if (!parsed) return 'It is no JSON';
    const found = judge(parsed.value);
    return found && `${found.path.join('.') || 'The value'} does not fit the schema`;
  };
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
