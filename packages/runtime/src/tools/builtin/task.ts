import { z } from 'zod';
import type { DeepAgentDefinition } from '../../definitions/agent.ts';
import { joinName } from '../../definitions/subagents.ts';
import { toJsonSchema } from '../../schema/schema.ts';
import type { TaskTool } from '../box-tool.ts';

/** An agent that takes tasks. */
interface Subagent {
  name: string;
  description: string;
  /** The name its runs have: `<agent>`, or `<parent>/<name>` of one the parent declares. */
  runName: string;
}

const INPUT = z.object({
  description: z.string().min(1).describe('The whole task: the sub-agent sees nothing else of this conversation'),
  subagent_type: z.string().describe('Who is to do it'),
});

export const TASK = 'task';

/** The tool that hands a task on; undefined: the agent has no sub-agents. */
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

/** Hands a task to a sub-agent: a turn of its own, whose last text is the result. */
async function createTaskTool(subagents: readonly Subagent[]): Promise<TaskTool> {
  const { $schema: _dropped, ...parameters } = await toJsonSchema(INPUT, 'input');
  const list = subagents.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  const description = `Hand a task to a sub-agent, which works on its own and answers once. Several can work at the same time. The sub-agents:\n${list}`;
  return {
    kind: 'task',
    model: { name: TASK, description, parameters },
    parse(args) {
      const parsed = INPUT.safeParse(args);
      if (!parsed.success) {
        const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
        return { ok: false, reason: `The arguments of "task" are not valid. ${issues.join('; ')}` };
      }
      const found = subagents.find(({ name }) => name === parsed.data.subagent_type);
      if (found) return { ok: true, agent: found.runName, message: parsed.data.description };
      const names = subagents.map(({ name }) => name).join(', ');
      return { ok: false, reason: `There is no sub-agent "${parsed.data.subagent_type}". Sub-agents: ${names}.` };
    },
  };
}
