import { BoxError } from '../../errors.ts';
import { fromJsonSchema } from '../../schema/given-schema.ts';
import { parseWith, toJsonSchema } from '../../schema/schema.ts';
import type { DeepAgentDefinition } from '../../definitions/agent.ts';
import type { TurnInput } from './input.ts';
import type { AnySchema, Issue, JsonSchema, Parsed } from '../../schema/schema.ts';

/** What every answer of a turn has to be. */
export interface OutputRule {
  /** As the provider is sent it. */
  schema: JsonSchema;
  /** It is emitted while it is written, and not asked for again. */
  isStreamed?: boolean;
  check(content: string): Promise<CheckedOutput>;
}

/** `text`: the JSON alone. */
export type CheckedOutput = { ok: true; value: unknown; text: string } | { ok: false; issues: string };

/** Whether a turn has a rule for its answers. Of an agent that is gone, what the request says is known. */
export function hasOutputRule(
  agent: Pick<DeepAgentDefinition, 'output'> | undefined,
  { outputSchema, parameters }: Pick<TurnInput, 'outputSchema' | 'parameters'>,
): boolean {
  return outputSchema !== undefined || (agent?.output !== undefined && !('response_format' in parameters));
}

/** Undefined: any text will do. What a client sends the provider itself is left as it is. */
export async function outputRuleOf(
  agent: DeepAgentDefinition,
  input: Pick<TurnInput, 'outputSchema' | 'parameters'>,
): Promise<OutputRule | undefined> {
  if (input.outputSchema) return toOutputRule(input.outputSchema);
  if (!agent.output || !hasOutputRule(agent, input)) return undefined;
  return { ...(await createOutputRule(agent.output)), isStreamed: agent.streamOutput === true };
}

/** The rule of a schema an author wrote. */
export async function createOutputRule(schema: AnySchema): Promise<OutputRule> {
  return { schema: await toJsonSchema(schema, 'input'), check: (content) => check(content, schema) };
}

/** What the model is sent about an answer that does not fit. */
export function toRepair(issues: string): string {
  return `Your answer does not fit the schema it must have. ${issues} Answer again, with the JSON and nothing else.`;
}

export function outputInvalid(agent: string, issues: string, { isRepaired }: { isRepaired: boolean }): BoxError {
  const when = isRepaired ? ', also when asked again' : '';
  return new BoxError(
    'agent_output_invalid',
    `The answer of agent "${agent}" does not fit its schema${when}. ${issues}`,
  );
}

export const FENCE = '```';
export const FENCE_OPENING = /^```(?:json)?[^\S\n]*\n/;

// --- internal ---

/** The rule of a JSON Schema a caller sent. */
function toOutputRule(schema: JsonSchema): OutputRule {
  // What cannot be checked here, the provider has been sent all the same.
  return { schema, check: async (content) => check(content, await fromJsonSchema(schema)) };
}

async function check(content: string, schema: AnySchema): Promise<CheckedOutput> {
  const text = withoutFence(content);
  const json = parseJson(text);
  if (!json.ok) return { ok: false, issues: `It is not JSON: ${json.reason}.` };
  const parsed: Parsed = await parseWith(schema, json.value);
  if (parsed.ok) return { ok: true, value: parsed.value, text };
  return { ok: false, issues: parsed.issues.map(toSentence).join(' ') };
}

function toSentence({ path, message }: Issue): string {
  return `${path.length > 0 ? `"${path.join('.')}"` : 'The answer'}: ${message}.`;
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}

/** Some models put JSON in a code block, whatever they are instructed. */
function withoutFence(content: string): string {
  const text = content.trim();
  const [opening] = FENCE_OPENING.exec(text) ?? [];
  const isFenced = opening !== undefined && text.length >= opening.length + FENCE.length && text.endsWith(FENCE);
  return isFenced ? text.slice(opening.length, -FENCE.length).trim() : text;
}
