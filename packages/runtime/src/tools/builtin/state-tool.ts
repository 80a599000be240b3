import type { z } from 'zod';
import { toJsonSchema } from '../../schema/schema.ts';
import type { ReadTool, StateAnswer, StateTool } from '../box-tool.ts';
import type { AgentState } from '../state.ts';

interface Described<S extends z.ZodType> {
  name: string;
  description: string;
  input: S;
}

/** A built-in tool that changes what the agent keeps. Arguments that do not fit are reported to the model. */
export async function createStateTool<S extends z.ZodType>(
  described: Described<S>,
  apply: (input: z.output<S>, state: AgentState) => StateAnswer,
): Promise<StateTool> {
  return {
    kind: 'state',
    model: await toModelTool(described),
    apply: (args, state) => checked(described, args, (input) => apply(input, state)),
  };
}

/** A built-in tool that looks at what the agent keeps. */
export async function createReadTool<S extends z.ZodType>(
  described: Described<S>,
  read: (input: z.output<S>, state: AgentState, turn: object) => StateAnswer | Promise<StateAnswer>,
): Promise<ReadTool> {
  return {
    kind: 'read',
    model: await toModelTool(described),
    read: async (args, state, turn) => checked(described, args, (input) => read(input, state, turn)),
  };
}

export function refused(content: string): StateAnswer {
  return { content, isError: true };
}

// --- internal ---

async function toModelTool({ name, description, input }: Described<z.ZodType>) {
  const { $schema: _dropped, ...parameters } = await toJsonSchema(input, 'input');
  return { name, description, parameters };
}

function checked<S extends z.ZodType, A>(
  { name, input }: Described<S>,
  args: unknown,
  use: (input: z.output<S>) => A,
): A | StateAnswer {
  const parsed = input.safeParse(args);
  if (parsed.success) return use(parsed.data);
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  return refused(`The arguments of "${name}" are not valid. ${issues.join('; ')}`);
}
