import type { DeepAgentDefinition } from '../../definitions/agent.ts';
import { policyOf } from '../../definitions/interrupts.ts';
import type { BoxTool } from '../box-tool.ts';
import { createBrowserTools } from './browser.ts';
import { createFileTools } from './files.ts';
import { createKnowledgeTool } from './knowledge.ts';
import { createSkillTools } from './skills.ts';
import { createTodoTools } from './todos.ts';

/** The built-in tools that an agent has switched on and that need nothing but the agent. */
export async function listBuiltins(agent: DeepAgentDefinition): Promise<BoxTool[]> {
  const { planning, files, browser, skills = [], knowledge = [] } = agent;
  const tools: BoxTool[] = [
    ...(planning ? await createTodoTools() : []),
    ...(files ? await createFileTools() : []),
    ...(browser ? await createBrowserTools() : []),
    ...(skills.length > 0 ? await createSkillTools(skills) : []),
    ...(knowledge.length > 0 ? [await createKnowledgeTool(knowledge)] : []),
  ];
  return tools.map((tool) => withInterrupt(tool, agent));
}

/** The tool, waiting for a person where the agent says so, by its name or one of the others it has had. */
export function withInterrupt(tool: BoxTool, agent: DeepAgentDefinition, others: readonly string[] = []): BoxTool {
  return { ...tool, interrupt: policyOf(agent, tool.model.name, ...others) };
}
