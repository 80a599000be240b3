import { z } from 'zod';
import { parseDuration } from '../engine/duration.ts';
import type { AgentName, KnownWorkflow } from '../register.ts';
import type { OwnCheck } from './author-check.ts';
import { DEFAULTS, listClashes, MEMBERS, UsableCheck } from './inputs.ts';
import type { Action, Attachment, Check, Side } from './store.ts';

/** A rule about what may pass, in code. */
export interface GuardrailDefinition {
  /** What answers and hits call it. Default: its file's name. One beside an agent needs one, and is called `<agent>/<name>`. */
  name?: string;
  note?: string;
  /** Where it judges. */
  sides: readonly Side[];
  /** What is done about a hit. */
  action: Action;
  /** What is a hit: as data, like one that is made over the API, or a function that is asked. */
  check: z.input<typeof Check> | OwnCheck;
  /** Whose texts are judged. Default: all of the workspace. One beside an agent is that agent's. */
  attachment?: GuardrailAttachment;
  /** Default true. */
  enabled?: boolean;
  /** True: a check that fails blocks. Default true. */
  failClosed?: boolean;
  /** How long one answer of a function may take, at most a minute: milliseconds or a duration. Default 5 s. */
  timeout?: number | string;
}

/** Without a name: of all agents, or all workflows. */
export type GuardrailAttachment =
  | { kind: 'workspace' }
  | { kind: 'agent'; name?: [AgentName] extends [never] ? string : AgentName }
  | { kind: 'workflow'; name?: KnownWorkflow };

/** What a definition says, with its defaults. */
export interface DefinedRule {
  name?: string | undefined;
  note: string | null;
  sides: Side[];
  action: Action;
  attachment: Attachment;
  enabled: boolean;
  failClosed: boolean;
  check: Check | { check: OwnCheck; timeoutMs: number };
}

/** Declares a rule. Throws a sentence when a part is wrong, so the file that holds it is named. */
export function defineGuardrail(guardrail: GuardrailDefinition): GuardrailDefinition {
  parseDefinition(guardrail);
  return Object.freeze({ ...guardrail, [GUARDRAIL]: true });
}

export function isGuardrail(value: unknown): value is GuardrailDefinition {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[GUARDRAIL] === true;
}

/** Throws a sentence when a part is wrong. */
export function parseDefinition(definition: GuardrailDefinition): DefinedRule {
  const { check, timeout, ...rest } = parse(Definition, definition);
  const isOwn = typeof check === 'function';
  if (timeout !== undefined && !isOwn)
    throw new TypeError('"timeout" is for a check that is a function. Take it out: checks that are data need none.');
  const read = isOwn ? { check: check as OwnCheck, timeoutMs: toTimeout(timeout) } : parse(CheckAlone, { check }).check;
  const kind = 'kind' in read ? read.kind : 'code';
  const [clash] = listClashes({ ...rest, check: { kind } });
  if (clash !== undefined) throw new TypeError(`${clash}.`);
  return { ...rest, check: read };
}

/** Throws a sentence when one of the rules beside an agent is wrong. */
export function checkRulesOfAgent(guardrails: unknown): void {
  if (!Array.isArray(guardrails))
    throw new TypeError('guardrails is no list. Write guardrails: [defineGuardrail({ name, sides, action, check })].');
  if (guardrails.length > MOST_OF_AGENT) throw new TypeError(`An agent has ${MOST_OF_AGENT} guardrails at most.`);
  const names = new Set<string>();
  for (const [index, one] of (guardrails as GuardrailDefinition[]).entries()) {
    const place = `guardrails[${index}]`;
    const { name, sides } = parseOf(place, one);
    if (name === undefined) throw new TypeError(`${place} has no name, which answers and hits call it by.`);
    if (names.has(name)) throw new TypeError(`Two guardrails are named "${name}". Give one of them another name.`);
    names.add(name);
    if (one.attachment !== undefined)
      throw new TypeError(`${place} has an attachment. Take it out: a rule beside an agent is that agent's.`);
    if (sides.includes('workflow-input'))
      throw new TypeError(`${place} judges "workflow-input", which no agent has. Take it out of its sides.`);
  }
}

// --- internal ---

const GUARDRAIL = Symbol.for('svc.guardrail');
const MOST_OF_AGENT = 50;
const DEFAULT_TIMEOUT_MS = 5_000;
const MOST_TIMEOUT_MS = 60_000;

const { name, sides, action } = MEMBERS;
const Definition = z.strictObject({
  ...DEFAULTS,
  name: name.optional(),
  sides,
  action,
  check: z.custom<unknown>((check) => check !== undefined, { error: 'Say what is a hit' }),
  timeout: z.union([z.number(), z.string()]).optional(),
});
const CheckAlone = z.strictObject({ check: UsableCheck });

function parseOf(place: string, definition: GuardrailDefinition): DefinedRule {
  try {
    return parseDefinition(definition);
  } catch (error) {
    throw new TypeError(`${place}: ${(error as Error).message}`, { cause: error });
  }
}

function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.join('.') || 'A guardrail';
  throw new TypeError(`${place}: ${issue?.message ?? 'It is not usable'}.`);
}

function toTimeout(timeout: number | string = DEFAULT_TIMEOUT_MS): number {
  const ms = Math.round(parseDuration(timeout));
  if (ms < 1 || ms > MOST_TIMEOUT_MS)
    throw new TypeError(`timeout is ${JSON.stringify(timeout)}; it must be from 1 ms to a minute.`);
  return ms;
}
