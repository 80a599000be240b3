import { isSchema } from '../schema/schema.ts';
import type { AnySchema, OutputOf } from '../schema/schema.ts';

/** What a tool may know about the call it answers. */
export interface ToolContext {
  /** Aborts when the turn is cancelled. */
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
  /** A failure goes to the model as the tool's result; it never ends the turn. */
  execute(input: OutputOf<S>, context: ToolContext): unknown;
}

/** A tool as the box keeps it: input already checked against its schema. */
export type Tool = Omit<ToolDefinition, 'execute'> & {
  execute(input: unknown, context: ToolContext): unknown;
};

export interface DeepAgentDefinition {
  /** Must equal the folder name; also the `model` value of a request. */
  name: string;
  /** A bare model id, `<vendor>/<model>`. Default: the workspace's default model. */
  model?: string;
  /** What the agent is told first: text, or a function of the turn. */
  instructions?: string | ((turn: { agent: string; now: Date }) => string | Promise<string>);
  /** Key = the name the model calls it by. */
  tools?: Record<string, Tool>;
  /** Tools that wait for a person before they run. True: may be approved, edited and rejected, and waits for ever. */
  interruptOn?: Record<string, boolean | Partial<InterruptPolicy>>;
  /** Model calls in one turn. Default 40. */
  maxSteps?: number;
}

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
  return tool as unknown as Tool;
}

/** Declares an agent. Throws a sentence when a part is wrong, so the file that holds it is named. */
export function defineDeepAgent(agent: DeepAgentDefinition): DeepAgentDefinition {
  const { tools = {}, interruptOn = {}, maxSteps } = agent;
  for (const [name, tool] of Object.entries(tools)) checkTool(name, tool);
  for (const name of Object.keys(interruptOn))
    if (!Object.hasOwn(tools, name))
      throw new TypeError(`interruptOn names "${name}", which is not a tool of this agent.`);
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps > 0))
    throw new TypeError(`maxSteps is ${String(maxSteps)}; it must be a whole number from 1.`);
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

function checkTool(name: string, tool: Tool): void {
  if (!TOOL_NAME.test(name))
    throw new TypeError(`The tool name "${name}" is not usable. Use 1 to 64 letters, digits, "_" and "-".`);
  try {
    defineTool(tool);
  } catch (error) {
    throw new TypeError(`The tool "${name}": ${(error as Error).message}`, { cause: error });
  }
}
