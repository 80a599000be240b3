import type { Attempt } from '../engine/call.ts';
import { toJsonValue } from '../runs/json-value.ts';
import { parseWith } from '../schema/schema.ts';
import type { ToolCall } from './messages.ts';
import type { AuthorTool, BoxTool } from './toolset.ts';
import type { ConversationMessage } from './turn-input.ts';
import type { Turn } from './turn.ts';

/** What the model is told a tool answered. */
export interface ToolAnswer {
  content: string;
  isError: boolean;
}

/** Runs one tool call as a recorded step, and answers the message that carries its result. Never throws: what goes wrong is an answer the model can read. */
export async function runCall(turn: Turn, call: ToolCall): Promise<ConversationMessage> {
  const tool = turn.options.toolset.find(call.name);
  if (tool?.kind === 'state') return runStateTool(turn, call, tool);
  const answer = (await turn.invoke('tool', `tool:${call.name}`, call, {
    name: call.name,
    run: async (attempt) => {
      const started = performance.now();
      const told = await runTool(turn, { call, tool, attempt });
      tellResult(turn, call, { ...told, durationMs: Math.round(performance.now() - started) });
      return told;
    },
  })) as ToolAnswer;
  return toMessage(call, answer);
}

/** Records an answer that no tool gave, and tells it. */
export async function answerCall(turn: Turn, call: ToolCall, answer: ToolAnswer): Promise<ConversationMessage> {
  await turn.invoke('tool', `tool:${call.name}`, call, {
    name: call.name,
    run: () => {
      tellResult(turn, call, { ...answer, durationMs: 0 });
      return answer;
    },
  });
  return toMessage(call, answer);
}

export function failed(content: string): ToolAnswer {
  return { content, isError: true };
}

/** The arguments as the model wrote them, parsed. */
export function parseArguments(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: text.trim() === '' ? {} : JSON.parse(text) };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}

/** The id of the tool message that carries the result of a call. */
export function resultIdOf(callId: string): string {
  return `${callId}-result`;
}

// --- internal ---

async function runStateTool(
  turn: Turn,
  call: ToolCall,
  tool: Extract<BoxTool, { kind: 'state' }>,
): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  if (!args.ok) return answerCall(turn, call, notJson(call, args.reason));
  // Before anything is awaited, so that the calls of one reply change the state in the order of the reply.
  const { content, isError = false, state } = tool.apply(args.value, turn.state);
  if (state) turn.state = state;
  return answerCall(turn, call, { content, isError });
}

interface ToolRun {
  call: ToolCall;
  tool: AuthorTool | undefined;
  attempt: Attempt;
}

async function runTool(turn: Turn, { call, tool, attempt }: ToolRun): Promise<ToolAnswer> {
  if (!tool) {
    const names = turn.options.toolset.model.map(({ name }) => name).join(', ') || 'none';
    return failed(`There is no tool "${call.name}". Tools: ${names}.`);
  }
  try {
    const args = parseArguments(call.arguments);
    if (!args.ok) return notJson(call, args.reason);
    const parsed = await parseWith(tool.inputSchema, args.value);
    if (!parsed.ok) {
      const issues = parsed.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
      return failed(`The arguments of "${call.name}" are not valid. ${issues.join('; ')}`);
    }
    const { signal, idempotencyKey } = attempt;
    const { runId, sessionId } = turn.execution.run;
    const session = sessionId === null ? null : { id: sessionId };
    const value = await tool.execute(parsed.value, { signal, idempotencyKey, run: { id: runId }, session });
    return { content: toContent(value), isError: false };
  } catch (error) {
    return failed(`The tool "${call.name}" failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function tellResult(turn: Turn, call: ToolCall, told: ToolAnswer & { durationMs: number }): void {
  turn.options.emit({ type: 'tool.result', callId: call.id, messageId: resultIdOf(call.id), ...told });
}

function toMessage(call: ToolCall, { content }: ToolAnswer): ConversationMessage {
  return { id: resultIdOf(call.id), role: 'tool', content, tool_call_id: call.id };
}

function notJson(call: ToolCall, reason: string): ToolAnswer {
  return failed(`The arguments of "${call.name}" are not JSON: ${reason}`);
}

function toContent(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(toJsonValue(value));
}
