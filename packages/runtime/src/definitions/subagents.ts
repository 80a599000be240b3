import { createTaskTool } from '../tools/builtin/task.ts';
import type { Subagent } from '../tools/builtin/task.ts';
import type { DeepAgentDefinition } from './definition.ts';
import { defineDeepAgent } from './definition.ts';
import type { TaskTool } from '../tools/toolset.ts';

/** Between an agent and the sub-agent it declares, in the name of a run. No agent's folder has it in its name. */
const SEPARATOR = '/';

/** The agent of the workspace that a run's name is of, and the sub-agent it declares. */
export function splitName(runName: string): { agent: string; subagent?: string } {
  const [agent = '', subagent] = runName.split(SEPARATOR);
  return subagent === undefined ? { agent } : { agent, subagent };
}

/** The sub-agents that an agent declares, by name. One has the model of its parent unless it names its own. */
export function toSubagents(parent: DeepAgentDefinition): Map<string, DeepAgentDefinition> {
  const declared = (parent.subagents ?? []).filter((one) => typeof one !== 'string');
  const model = parent.model === undefined ? {} : { model: parent.model };
  return new Map(
    declared.map((one) => [one.name, defineDeepAgent({ ...model, ...one, name: joinName(parent, one.name) })]),
  );
}

/** The sub-agents that are no agents of the workspace. */
export function listUnknown(agent: DeepAgentDefinition, names: readonly string[]): string[] {
  return (agent.subagents ?? []).filter((one): one is never => typeof one === 'string' && !names.includes(one));
}

/** The tool that hands a task on; undefined: the agent has nobody to hand it to. */
export async function toTaskTool(
  agent: DeepAgentDefinition,
  describe: (name: string) => string | undefined,
): Promise<TaskTool | undefined> {
  const { subagents = [] } = agent;
  if (subagents.length === 0) return undefined;
  return createTaskTool(
    subagents.map((one): Subagent => {
      if (typeof one !== 'string')
        return { name: one.name, description: one.description, runName: joinName(agent, one.name) };
      return { name: one, description: describe(one) ?? `The agent "${one}".`, runName: one };
    }),
  );
}

// --- internal ---

function joinName(parent: DeepAgentDefinition, name: string): string {
  return `${parent.name}${SEPARATOR}${name}`;
}
