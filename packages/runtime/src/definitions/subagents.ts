import { COPILOT_AGENT } from '../manifest.ts';
import type { DeepAgentDefinition, SubagentDefinition } from './agent.ts';
import { defineDeepAgent } from './definition.ts';
import { toolsOfParts } from './parts.ts';

/** Between an agent and the sub-agent it declares, in the name of a run. No agent's folder has it in its name. */
const SEPARATOR = '/';

/** The agent of the workspace that a run's name is of, and the sub-agent it declares. */
export function splitName(runName: string): { agent: string; subagent?: string } {
  const [agent = '', subagent] = runName.split(SEPARATOR);
  return subagent === undefined ? { agent } : { agent, subagent };
}

/** Whether a run's name is that of the copilot, or of a sub-agent of it: what it waits for is for the person who asked it. */
export function isOfCopilot(runName: string): boolean {
  return splitName(runName).agent === COPILOT_AGENT;
}

/** The sub-agents that an agent declares, by name. One has the models of its parent unless it names its own. */
export function toSubagents(parent: DeepAgentDefinition): Map<string, DeepAgentDefinition> {
  const declared = (parent.subagents ?? []).filter((one) => typeof one !== 'string');
  const { model, maxRetries, fallbackModels } = parent;
  const retried = maxRetries === undefined ? {} : { maxRetries };
  const models = {
    ...retried,
    ...(model === undefined ? {} : { model }),
    ...(fallbackModels ? { fallbackModels } : {}),
  };
  return new Map(
    declared.map((one) => [
      one.name,
      defineDeepAgent({
        ...(one.model === undefined ? models : retried),
        ...one,
        interruptOn: inherited(parent, one),
        name: joinName(parent, one.name),
      }),
    ]),
  );
}

/** What the parent asks a person about, a sub-agent asks about, too, unless it says itself what it does. */
function inherited(parent: DeepAgentDefinition, one: SubagentDefinition): DeepAgentDefinition['interruptOn'] {
  const { tools = {}, mcpServers } = one;
  const own = [...Object.keys(tools), ...toolsOfParts(one)];
  const fits = ([name]: [string, unknown]): boolean => mcpServers !== undefined || own.includes(name);
  return { ...Object.fromEntries(Object.entries(parent.interruptOn ?? {}).filter(fits)), ...one.interruptOn };
}

/** The sub-agents that are no agents of the workspace. */
export function listUnknown(agent: DeepAgentDefinition, names: readonly string[]): string[] {
  return (agent.subagents ?? []).filter((one): one is never => typeof one === 'string' && !names.includes(one));
}

/** The name that runs of a declared sub-agent have. */
export function joinName(parent: DeepAgentDefinition, name: string): string {
  return `${parent.name}${SEPARATOR}${name}`;
}
