import { parseDuration } from '../engine/duration.ts';
import { checkMembers, checkPart } from '../definition-checks.ts';
import { checkRulesOfAgent } from '../guardrails/define.ts';
import { checkLimits } from '../limits/limits.ts';
import { isSchema } from '../schema/schema.ts';
import type { AnySchema } from '../schema/schema.ts';
import { checkContext } from './context.ts';
import { checkMemory } from './memory.ts';
import { checkDeepParts, checkTimeout, OWN_MEMBERS, toolsOfParts } from './parts.ts';
import type { DeepAgentDefinition, InterruptPolicy, Tool, ToolDefinition } from './agent.ts';

const AGENT = Symbol.for('svc.deepAgent');
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Types a tool's input by its schema. Throws a sentence when a part is missing. */
export function defineTool<S extends AnySchema>(tool: ToolDefinition<S>): Tool {
  if (typeof tool.description !== 'string' || tool.description === '')
    throw new TypeError('A tool needs a description: one sentence the model reads.');
  if (!isSchema(tool.inputSchema))
    throw new TypeError('A tool needs an inputSchema made with zod; z.object({}) for none.');
  if (typeof tool.execute !== 'function') throw new TypeError('A tool needs an execute function.');
  checkTimeout(tool.timeout);
  checkMembers('a tool', tool, ['description', 'inputSchema', 'timeout', 'execute']);
  return tool as unknown as Tool;
}

/** Declares an agent. Throws a sentence when a part is wrong, so the file that holds it is named. */
export function defineDeepAgent<S extends AnySchema | undefined = undefined>(
  agent: DeepAgentDefinition<S>,
): DeepAgentDefinition<S> {
  const { tools = {}, interruptOn = {}, maxSteps } = agent;
  checkMembers('an agent', agent, MEMBERS);
  if (Array.isArray(tools)) throw new TypeError('tools is a list. Write tools: { name: defineTool({ ... }) }.');
  for (const [name, tool] of Object.entries(tools)) checkTool(name, tool);
  checkDeepParts(agent);
  checkContext(agent.context);
  checkMemory(agent.memory);
  checkLimits('limits', agent.limits ?? {});
  const builtIn = toolsOfParts(agent);
  for (const name of Object.keys(interruptOn))
    // What a server offers is known once it is asked.
    if (!Object.hasOwn(tools, name) && !builtIn.includes(name) && !agent.mcpServers)
      throw new TypeError(`interruptOn names "${name}", which is not a tool of this agent.`);
  for (const [name, policy] of Object.entries(interruptOn)) checkPolicy(name, policy);
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps > 0))
    throw new TypeError(`maxSteps is ${String(maxSteps)}; it must be a whole number from 1.`);
  if (agent.timeout !== undefined) parseDuration(agent.timeout);
  checkModelCalls(agent);
  if (agent.guardrails !== undefined) checkRulesOfAgent(agent.guardrails);
  return Object.freeze({ ...agent, [AGENT]: true });
}

export function isDeepAgent(value: unknown): value is DeepAgentDefinition {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[AGENT] === true;
}

export function toInterruptPolicy(policy: boolean | Partial<InterruptPolicy> = false): InterruptPolicy | undefined {
  if (policy === false) return undefined;
  return { allow: ['approve', 'edit', 'reject'], ...(policy === true ? {} : policy) };
}

// --- internal ---

const MEMBERS: (keyof DeepAgentDefinition)[] = [
  ...OWN_MEMBERS,
  ...(['context', 'limits'] as const),
  ...([
    'planning',
    'files',
    'browser',
    'subagents',
    'output',
    'streamOutput',
    'skills',
    'knowledge',
    'memory',
    'mcpServers',
    'guardrails',
  ] as const),
];
const MOST_RETRIES = 10;
/** The roles that decide at all. */
const DECIDERS = new Set(['owner', 'admin', 'approver']);

function checkModelCalls({ maxRetries = 0, fallbackModels = [] }: Partial<DeepAgentDefinition>): void {
  if (!(Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= MOST_RETRIES))
    throw new TypeError(`maxRetries is ${String(maxRetries)}; it must be a whole number from 0 to ${MOST_RETRIES}.`);
  const isList = Array.isArray(fallbackModels) && fallbackModels.every((id) => typeof id === 'string' && id !== '');
  if (!isList || fallbackModels.length > MOST_FALLBACKS)
    throw new TypeError(`fallbackModels must be a list of model ids, at most ${MOST_FALLBACKS}: ['<vendor>/<model>'].`);
}

const MOST_FALLBACKS = 10;
const DECISIONS = ['approve', 'edit', 'reject'];

function checkPolicy(name: string, policy: unknown): void {
  if (typeof policy === 'boolean') return;
  const place = `interruptOn.${name}`;
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy))
    throw new TypeError(`${place} is ${show(policy)}; it must be true, false or { by, allow, timeout, fallback }.`);
  checkMembers(place, policy, ['by', 'approvers', 'title', 'description', 'allow', 'timeout', 'fallback']);
  const { by, approvers, title, description, allow, timeout, fallback } = policy as Partial<
    Record<keyof InterruptPolicy, unknown>
  >;
  if (by !== undefined && by !== 'operator' && by !== 'user')
    throw new TypeError(`${place}.by is ${show(by)}; it must be "operator" or "user".`);
  checkApprovers(place, { by, approvers });
  if (title !== undefined && typeof title !== 'function' && !isText(title))
    throw new TypeError(`${place}.title is ${show(title)}; it must be a text, or a function that gives one.`);
  if (description !== undefined && !isText(description))
    throw new TypeError(`${place}.description is ${show(description)}; it must be a text.`);
  const isList = Array.isArray(allow) && allow.length > 0 && allow.every((one) => DECISIONS.includes(one));
  if (allow !== undefined && !isList)
    throw new TypeError(`${place}.allow is ${show(allow)}; it must be a list of "approve", "edit" and "reject".`);
  if (fallback !== undefined && fallback !== 'approve' && fallback !== 'reject')
    throw new TypeError(`${place}.fallback is ${show(fallback)}; it must be "approve" or "reject".`);
  if (timeout !== undefined) checkPart(`${place}.timeout`, () => parseDuration(timeout as number | string));
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function checkApprovers(place: string, { by, approvers }: { by: unknown; approvers: unknown }): void {
  if (approvers === undefined) return;
  if (by === 'user') throw new TypeError(`${place} has approvers, and is left to the user; take one of the two out.`);
  const isName = (name: unknown) =>
    typeof name === 'string' && (name.startsWith('role:') ? DECIDERS.has(name.slice('role:'.length)) : name !== '');
  if (Array.isArray(approvers) && approvers.length > 0 && approvers.every(isName)) return;
  const roles = [...DECIDERS].map((role) => `"role:${role}"`).join(', ');
  throw new TypeError(`${place}.approvers is ${show(approvers)}; it must be a list of ids of people, and of ${roles}.`);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

function checkTool(name: string, tool: Tool): void {
  if (!TOOL_NAME.test(name))
    throw new TypeError(`The tool name "${name}" is not usable. Use 1 to 64 letters, digits, "_" and "-".`);
  checkPart(`The tool "${name}"`, () => defineTool(tool));
}
