import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { policyOf } from '../definitions/interrupts.ts';
import { parseDuration } from '../engine/duration.ts';
import { toJsonSchema } from '../schema/schema.ts';
import type { BoxTool } from './box-tool.ts';
import { listBuiltins } from './builtin/builtins.ts';

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
