import { toolsOfParts } from './parts.ts';
import type { DeepAgentDefinition, InterruptPolicy } from './agent.ts';
import { toInterruptPolicy } from './definition.ts';

/**
 * How a person decides about the calls of a tool; undefined: no approval.
 * @param names what the tool may be called in `interruptOn`; the first that is named there counts
 */
export function policyOf({ interruptOn = {} }: DeepAgentDefinition, ...names: string[]): InterruptPolicy | undefined {
  const name = names.find((one) => Object.hasOwn(interruptOn, one));
  return name === undefined ? undefined : toInterruptPolicy(interruptOn[name]);
}

/**
 * The same of a tool that is not there, by its name alone: one of a server that is down now may have been asked about
 * before, under the name it has besides those of the other servers.
 */
export function policyOfMissing(agent: DeepAgentDefinition, name: string): InterruptPolicy | undefined {
  const { tools = {}, mcpServers } = agent;
  if (!mcpServers || Object.hasOwn(tools, name) || toolsOfParts(agent).includes(name)) return undefined;
  const others = Object.keys(mcpServers).flatMap((server) => {
    const prefix = `${server}_`;
    return [`${prefix}${name}`, ...(name.startsWith(prefix) ? [name.slice(prefix.length)] : [])];
  });
  return policyOf(agent, name, ...others);
}
