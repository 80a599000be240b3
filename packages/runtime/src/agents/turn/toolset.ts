import type { DeepAgentDefinition, InterruptPolicy } from '../../definitions/agent.ts';
import { policyOfMissing } from '../../definitions/interrupts.ts';
import { BoxError } from '../../errors.ts';
import type { BoxTool, ModelTool } from '../../tools/box-tool.ts';
import type { Executor } from '../events/turn-events.ts';
import type { ClientTool } from './input.ts';

/** The tools of one turn. */
export interface Toolset {
  /** As the model sees them. */
  model: ModelTool[];
  find(name: string): BoxTool | undefined;
  executorOf(name: string): Executor;
  /** How a person decides about a call of that name, whether its tool is there or not; undefined: no approval. */
  interruptOf(name: string): InterruptPolicy | undefined;
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
