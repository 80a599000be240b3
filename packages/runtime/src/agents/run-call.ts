import type { Attempt } from '../engine/call.ts';
import { parseWith } from '../schema/schema.ts';
import type { ToolCall } from './messages.ts';
import { runTask } from './run-task.ts';
import { answerCall, failed, notJson, parseArguments, tellResult, toMessage } from './tool-answer.ts';
import type { ToolAnswer } from './tool-answer.ts';
import { toFailure, toResult } from './tool-result.ts';
import type { AuthorTool, ReadTool, StateTool } from './toolset.ts';
import type { ConversationMessage } from './turn-input.ts';
import type { Turn } from './turn.ts';

/** Runs one tool call as a recorded step, and answers the message that carries its result. Never throws: what goes wrong is an answer the model can read. */
export async function runCall(turn: Turn, call: ToolCall): Promise<ConversationMessage> {
  const tool = turn.options.toolset.find(call.name);
  if (tool?.kind === 'state') return runStateTool(turn, call, tool);
  if (tool?.kind === 'read') return runReadTool(turn, call, tool);
  if (tool?.kind === 'task') return runTask(turn, call, tool);
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

// --- internal ---

async function runStateTool(turn: Turn, call: ToolCall, tool: StateTool): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  if (!args.ok) return answerCall(turn, call, notJson(call, args.reason));
  // Before anything is awaited, so that the calls of one reply change the state in the order of the reply.
  const { content, isError = false, state } = tool.apply(args.value, turn.state);
  if (state) turn.state = state;
  return answerCall(turn, call, { content, isError });
}

async function runReadTool(turn: Turn, call: ToolCall, tool: ReadTool): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  // As the calls before it in the reply have left it.
  const { state } = turn;
  const answer = (await turn.invoke('tool', `tool:${call.name}`, call, {
    name: call.name,
    run: (): ToolAnswer => {
      const started = performance.now();
      const { content, isError = false } = args.ok ? tool.read(args.value, state) : notJson(call, args.reason);
      tellResult(turn, call, { content, isError, durationMs: Math.round(performance.now() - started) });
      return { content, isError };
    },
  })) as ToolAnswer;
  return toMessage(call, answer);
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
    const parsed = tool.inputSchema ? await parseWith(tool.inputSchema, args.value) : args;
    if (!parsed.ok) {
      const issues = parsed.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
      return failed(`The arguments of "${call.name}" are not valid. ${issues.join('; ')}`);
    }
    const { signal, idempotencyKey } = attempt;
    const { runId, sessionId } = turn.execution.run;
    const session = sessionId === null ? null : { id: sessionId };
    const value = await tool.execute(parsed.value, { signal, idempotencyKey, run: { id: runId }, session });
    return toResult(call.name, value);
  } catch (error) {
    return toFailure(call.name, error);
  }
}
