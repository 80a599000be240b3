import { z } from 'zod';
import type { Skill } from '../../definitions/agent.ts';
import type { ReadTool } from '../box-tool.ts';
import { createReadTool, refused } from './state-tool.ts';

/** What an agent can look up: the model sees the descriptions, and reads the text when it needs it. */
export async function createSkillTools(skills: readonly Skill[]): Promise<ReadTool[]> {
  const list = skills.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  return [
    await createReadTool(
      {
        name: 'read_skill',
        description: `Read how something is done, before you do it. The skills:\n${list}`,
        input: z.object({ name: z.string().describe('The name of the skill') }),
      },
      ({ name }) => {
        const skill = skills.find((one) => one.name === name);
        if (skill) return { content: skill.text };
        return refused(`There is no skill "${name}". Skills: ${skills.map((one) => one.name).join(', ')}.`);
      },
    ),
  ];
}
