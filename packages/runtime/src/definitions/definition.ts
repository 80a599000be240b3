import type { AgentName } from '../register.ts';
import { parseDuration } from '../engine/duration.ts';
import { checkMembers, checkPart } from '../definition-checks.ts';
import { isSchema } from '../schema/schema.ts';
import type { AnySchema, OutputOf } from '../schema/schema.ts';
import { checkContext } from '../agents/turn/context-size.ts';
import type { ContextOptions } from '../agents/turn/context-size.ts';
import { checkDeepParts, checkTimeout, toolsOfParts } from './parts.ts';
import type { McpServer, Skill, SubagentDefinition } from './parts.ts';

/** What a tool may know about the call it answers. */
export interface ToolContext {
  /** Aborts when the turn is cancelled, and when the tool has had its time. */
  signal: AbortSignal;
  /** The same however often the call is repeated after a crash: hand it to whatever the tool has an effect on. */
  idempotencyKey: string;
  run: { id: string };
  /** Null in a stateless turn. */
  session: { id: string } | null;
}

export interface ToolDefinition<S extends AnySchema = AnySchema> {
  /** One sentence the model reads. */
  description: string;
  inputSchema: S;
  /** The most one call may take: milliseconds or a duration. Then `signal` aborts, and the model is told. Default: no limit. */
  timeout?: number | string;
  /** A failure goes to the model as the tool's result; it never ends the turn. */
  // `any`: what it answers is not looked at then, so that agents whose tools ask each other are no circle of types.
  // oxlint-disable-next-line typescript/no-explicit-any
  execute(input: OutputOf<S>, context: ToolContext): any;
}

/** A tool as the box keeps it: input already checked against its schema. */
export type Tool = Omit<ToolDefinition, 'execute'> & {
  execute(input: unknown, context: ToolContext): unknown;
};

export interface DeepAgentDefinition<S extends AnySchema | undefined = AnySchema | undefined> {
  /** Must equal the folder name; also the `model` value of a request. */
  name: string;
  /** What it is for, one sentence: told to agents that may hand it a task. */
  description?: string;
  /** A bare model id, `<vendor>/<model>`. Default: the workspace's default model. */
  model?: string;
  /** What the agent is told first: text, or a function of the turn. It stands behind `instructions.md`, where there is one. */
  instructions?: string | ((turn: { agent: string; now: Date }) => string | Promise<string>);
  /** Key = the name the model calls it by. */
  tools?: Record<string, Tool>;
  /** Tools that wait for a person before they run. True: may be approved, edited and rejected, and waits for ever. */
  interruptOn?: Record<string, boolean | Partial<InterruptPolicy>>;
  /** Model calls in one turn. Default 40. */
  maxSteps?: number;
  /** The most one model call may take: milliseconds or a duration. Default 10 minutes. */
  timeout?: number | string;
  /** When the older messages of a session are summarised. */
  context?: ContextOptions;
  /** True: the model keeps a plan with the session, by `write_todos`. */
  planning?: boolean;
  /** True: the model keeps texts with the session, by `ls`, `read_file`, `write_file`, `edit_file`, `glob` and `grep`. */
  files?: boolean;
  /** Whom the model may hand a task, by `task`: agents of this workspace by name, or some of its own. */
  subagents?: readonly (KnownAgent | SubagentDefinition)[];
  /** What every answer is: the model writes JSON that this schema takes. */
  output?: S;
  /** What the model may read when it needs it, by `read_skill`; with those of `skills/*.md`. */
  skills?: readonly Skill[];
  /** Servers of the Model Context Protocol whose tools the model may call. Key = the server's name. */
  mcpServers?: Record<string, McpServer>;
}

/** A name of this workspace once its types are generated; any text before. */
export type KnownAgent = [AgentName] extends [never] ? string : AgentName;

/** How a person decides about a tool. */
export interface InterruptPolicy {
  /** What the person may do. Default: all three. */
  allow: readonly ('approve' | 'edit' | 'reject')[];
  /** After this time `fallback` decides. Default: it waits for ever. */
  timeout?: number | string;
  /** Default `reject`. */
  fallback?: 'approve' | 'reject';
}

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
  const builtIn = toolsOfParts(agent);
  for (const name of Object.keys(interruptOn))
    // What a server offers is known once it is asked.
    if (!Object.hasOwn(tools, name) && !builtIn.includes(name) && !agent.mcpServers)
      throw new TypeError(`interruptOn names "${name}", which is not a tool of this agent.`);
  for (const [name, policy] of Object.entries(interruptOn)) checkPolicy(name, policy);
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps > 0))
    throw new TypeError(`maxSteps is ${String(maxSteps)}; it must be a whole number from 1.`);
  if (agent.timeout !== undefined) parseDuration(agent.timeout);
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
  ...([
    'name',
    'description',
    'model',
    'instructions',
    'tools',
    'interruptOn',
    'maxSteps',
    'timeout',
    'context',
  ] as const),
  ...(['planning', 'files', 'subagents', 'output', 'skills', 'mcpServers'] as const),
];
const DECISIONS = ['approve', 'edit', 'reject'];

function checkPolicy(name: string, policy: unknown): void {
  if (typeof policy === 'boolean') return;
  const place = `interruptOn.${name}`;
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy))
    throw new TypeError(`${place} is ${show(policy)}; it must be true, false or { allow, timeout, fallback }.`);
  checkMembers(place, policy, ['allow', 'timeout', 'fallback']);
  const { allow, timeout, fallback } = policy as Partial<Record<keyof InterruptPolicy, unknown>>;
  const isList = Array.isArray(allow) && allow.length > 0 && allow.every((one) => DECISIONS.includes(one));
  if (allow !== undefined && !isList)
    throw new TypeError(`${place}.allow is ${show(allow)}; it must be a list of "approve", "edit" and "reject".`);
  if (fallback !== undefined && fallback !== 'approve' && fallback !== 'reject')
    throw new TypeError(`${place}.fallback is ${show(fallback)}; it must be "approve" or "reject".`);
  if (timeout !== undefined) checkPart(`${place}.timeout`, () => parseDuration(timeout as number | string));
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

function checkTool(name: string, tool: Tool): void {
  if (!TOOL_NAME.test(name))
    throw new TypeError(`The tool name "${name}" is not usable. Use 1 to 64 letters, digits, "_" and "-".`);
  checkPart(`The tool "${name}"`, () => defineTool(tool));
}
