import type { Attempt } from '../engine/call.ts';
import { parseWith, toJsonSchema } from '../schema/schema.ts';
import { toJsonValue } from '../runs/json-value.ts';
import type { DeepAgentDefinition } from './definition.ts';
import type { ToolCall } from './messages.ts';
import type { ModelTool } from './model.ts';

/** What the model is told a tool answered. */
export interface ToolAnswer {
  content: string;
  isError: boolean;
}

/** The agent's tools as the model sees them. */
export async function toModelTools(agent: DeepAgentDefinition): Promise<ModelTool[]> {
  return Promise.all(
    Object.entries(agent.tools ?? {}).map(async ([name, tool]) => {
      const { $schema: _dropped, ...parameters } = await toJsonSchema(tool.inputSchema, 'input');
      return { name, description: tool.description, parameters };
    }),
  );
}

/** Runs one tool call. Never throws: what goes wrong is an answer the model can read. */
export async function runTool(
  agent: DeepAgentDefinition,
  call: ToolCall,
  attempt: Attempt,
  runId: string,
): Promise<ToolAnswer> {
  try {
    return await answer(agent, call, attempt, runId);
  } catch (error) {
    return failed(`The tool "${call.name}" failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

// --- internal ---

async function answer(
  agent: DeepAgentDefinition,
  call: ToolCall,
  attempt: Attempt,
  runId: string,
): Promise<ToolAnswer> {
  const tools = agent.tools ?? {};
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (!tool) return failed(`There is no tool "${call.name}". Tools: ${Object.keys(tools).join(', ') || 'none'}.`);
  if (agent.interruptOn?.[call.name])
    return failed(`The tool "${call.name}" needs a person's approval, which this box cannot ask for. It was not run.`);
  const args = parseArguments(call.arguments);
  if (!args.ok) return failed(`The arguments of "${call.name}" are not JSON: ${args.reason}`);
  const parsed = await parseWith(tool.inputSchema, args.value);
  if (!parsed.ok) {
    const issues = parsed.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
    return failed(`The arguments of "${call.name}" are not valid. ${issues.join('; ')}`);
  }
  const { signal, idempotencyKey } = attempt;
  const value = await tool.execute(parsed.value, { signal, idempotencyKey, run: { id: runId }, session: null });
  return { content: toContent(value), isError: false };
}

function failed(content: string): ToolAnswer {
  return { content, isError: true };
}

function parseArguments(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: text.trim() === '' ? {} : JSON.parse(text) };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}

function toContent(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(toJsonValue(value));
}
