import { z } from 'zod';
import type { StateTool } from '../box-tool.ts';
import { createStateTool } from './state-tool.ts';

export const Todo = z.object({
  content: z.string().min(1).max(1_000).describe('What is to be done'),
  status: z.enum(['pending', 'in_progress', 'completed']),
});
export type Todo = z.infer<typeof Todo>;

const INPUT = z.object({ todos: z.array(Todo).max(200).describe('The whole plan, in order') });

/** The plan of an agent: state key `todos`. */
export async function createTodoTools(): Promise<StateTool[]> {
  return [
    await createStateTool(
      {
        name: 'write_todos',
        description:
          'Write down the plan for a task of several steps, and keep it true: the whole list replaces the one before. Have one item in_progress at a time, and complete an item as soon as it is done.',
        input: INPUT,
      },
      ({ todos }, state) => {
        const left = todos.filter(({ status }) => status !== 'completed').length;
        return { content: `The plan has ${todos.length} items, ${left} to do.`, state: { ...state, todos } };
      },
    ),
  ];
}
