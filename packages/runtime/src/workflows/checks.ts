import type { WorkflowDefinition } from '../catalog/catalog.ts';
import { runOutside } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import type { Issue, Parsed } from '../schema/schema.ts';
import { parseAtOnce, parseWith } from '../schema/schema.ts';

/** The input as the workflow gets it. Throws `workflow_input_invalid`. */
export async function checkInput(name: string, { inputSchema }: WorkflowDefinition, input: unknown): Promise<unknown> {
  if (!inputSchema) return input;
  const parsed = await parseWith(inputSchema, input);
  if (parsed.ok) return parsed.value;
  throw new BoxError('workflow_input_invalid', `The input does not match the schema of workflow "${name}".`, {
    details: { issues: parsed.issues },
  });
}

/** What the schema gives is the output of the run, as it is published. Throws `workflow_output_invalid`. */
export async function checkOutput(
  name: string,
  { outputSchema }: WorkflowDefinition,
  output: unknown,
): Promise<unknown> {
  if (!outputSchema) return output;
  // A schema may do what a body may not.
  const parsed = await runOutside(() => parseWith(outputSchema, output));
  if (parsed.ok) return parsed.value;
  const { issues } = parsed;
  const message = `The output does not match the outputSchema of workflow "${name}". ${sayFirst(issues)}`;
  throw Object.assign(new Error(message), { code: 'workflow_output_invalid', issues });
}

/** What the schema gives is what whoever looks at the run is shown. Throws `workflow_state_invalid`. */
export function checkState(name: string, { stateSchema }: WorkflowDefinition, state: unknown): unknown {
  if (!stateSchema) return state;
  const parsed = runOutside((): Parsed | undefined => parseAtOnce(stateSchema, state));
  if (parsed?.ok) return parsed.value;
  const issues = parsed?.issues ?? [];
  const message = parsed
    ? `The published state does not match the stateSchema of workflow "${name}". ${sayFirst(issues)}`
    : `The stateSchema of workflow "${name}" has a check or a transform that is async; what is published is checked at once. Make it synchronous.`;
  // The same state would not match it in another attempt of a step either.
  throw Object.assign(new Error(message), { code: 'workflow_state_invalid', fatal: true, issues });
}

// --- internal ---

function sayFirst([first]: Issue[]): string {
  const place = first && first.path.length > 0 ? `"${first.path.join('.')}": ` : '';
  return `${place}${first?.message ?? 'It is another value'}.`;
}
