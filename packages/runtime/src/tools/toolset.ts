import { parseDuration } from '../engine/duration.ts';
import { BoxError } from '../errors.ts';
import { toJsonSchema } from '../schema/schema.ts';
import type { Executor } from '../agents/events/turn-events.ts';
import { listBuiltins } from './builtin/builtins.ts';
import type { DeepAgentDefinition, InterruptPolicy, Tool, ToolContext } from '../definitions/definition.ts';
import { policyOf, policyOfMissing } from '../definitions/interrupts.ts';
import type { ModelTool } from '../agents/model/client.ts';
import type { ClientTool } from '../agents/turn/input.ts';
import type { TurnState } from './state.ts';

/** A tool of the box, by how it is run. */
export type BoxTool = AuthorTool | StateTool | ReadTool | TaskTool;

/** Runs as a recorded step. */
export interface AuthorTool {
  kind: 'tool';
  model: ModelTool;
  /** Absent: whoever runs it checks the arguments. */
  inputSchema?: Tool['inputSchema'];
  execute(input: unknown, context: ToolContext): unknown;
  /** Milliseconds a call may take. Undefined: no limit. */
  timeout?: number | undefined;
  interrupt?: InterruptPolicy | undefined;
}

/** Reads and changes what the agent keeps. Runs in the body: the same state and arguments give the same answer. */
export interface StateTool {
  kind: 'state';
  model: ModelTool;
  apply(args: unknown, state: TurnState): StateAnswer;
  interrupt?: InterruptPolicy | undefined;
}

/** Looks at what the agent keeps. Runs as a recorded step, so it may take its time and need not answer the same again. */
export interface ReadTool {
  kind: 'read';
  model: ModelTool;
  read(args: unknown, state: TurnState): StateAnswer;
  interrupt?: InterruptPolicy | undefined;
}

/** Has another agent do something, as a run below this one. */
export interface TaskTool {
  kind: 'task';
  model: ModelTool;
  parse(args: unknown): { ok: true; agent: string; message: string } | { ok: false; reason: string };
  interrupt?: InterruptPolicy | undefined;
}

export interface StateAnswer {
  content: string;
  isError?: boolean;
  /** Absent: unchanged. */
  state?: TurnState;
}

/** The tools of one turn. */
export interface Toolset {
  /** As the model sees them. */
  model: ModelTool[];
  find(name: string): BoxTool | undefined;
  executorOf(name: string): Executor;
  /** How a person decides about a call of that name, whether its tool is there or not; undefined: nobody is asked. */
  interruptOf(name: string): InterruptPolicy | undefined;
}

/** The tools an agent brings to every turn. */
export async function toBoxTools(agent: DeepAgentDefinition): Promise<BoxTool[]> {
  const own = await Promise.all(
    Object.entries(agent.tools ?? {}).map(async ([name, tool]): Promise<BoxTool> => {
      const { $schema: _dropped, ...parameters } = await toJsonSchema(tool.inputSchema, 'input');
      return {
        kind: 'tool',
        model: { name, description: tool.description, parameters },
        inputSchema: tool.inputSchema,
        execute: tool.execute,
        timeout: tool.timeout === undefined ? undefined : parseDuration(tool.timeout),
        interrupt: policyOf(agent, name),
      };
    }),
  );
  return [...own, ...(await listBuiltins(agent))];
}

/** Throws `invalid_request` when a tool of the client has the name of one of the box. */
export function createToolset(
  agent: DeepAgentDefinition,
  own: readonly BoxTool[],
  client: readonly ClientTool[],
): Toolset {
  const byName = new Map(own.map((tool) => [tool.model.name, tool]));
  for (const { name } of client)
    if (byName.has(name))
      throw new BoxError('invalid_request', `The agent has a tool "${name}" of its own. Give yours another name.`, {
        details: { param: 'tools', tool: name },
      });
  const clientNames = new Set(client.map(({ name }) => name));
  return {
    model: [...own.map(({ model }) => model), ...client],
    find: (name) => byName.get(name),
    executorOf: (name) => (clientNames.has(name) ? 'client' : 'box'),
    interruptOf: (name) => (byName.has(name) ? byName.get(name)?.interrupt : policyOfMissing(agent, name)),
  };
}
