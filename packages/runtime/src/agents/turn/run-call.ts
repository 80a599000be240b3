import type { Attempt } from '../../engine/call.ts';
import { createDeadline } from '../../engine/run/attempt-deadline.ts';
import { contextOf } from '../../engine/started-by.ts';
import { parseWith } from '../../schema/schema.ts';
import type { ToolContext } from '../../definitions/agent.ts';
import type { ToolCall } from '../model/messages.ts';
import { runTask } from './run-task.ts';
import { answerCall, failed, notJson, parseArguments, withinLimit } from './tool-answer.ts';
import { recordAnswer } from './record-answer.ts';
import type { ToolAnswer } from './recorded-answer.ts';
import { toFailure, toResult } from './tool-result.ts';
import type { AuthorTool, ReadTool, StateTool } from '../../tools/box-tool.ts';
import type { ConversationMessage } from './input.ts';
import type { ToolTurn } from './tool-turn.ts';

/** Runs one tool call as a recorded step, and answers the message that carries its result. Never throws: what goes wrong is an answer the model can read. */
export async function runCall(turn: ToolTurn, call: ToolCall): Promise<ConversationMessage> {
  const tool = turn.options.toolset.find(call.name);
  if (tool?.kind === 'state') return runStateTool(turn, call, tool);
  if (tool?.kind === 'read') return runReadTool(turn, call, tool);
  if (tool?.kind === 'task') return runTask(turn, call, tool);
  return recordAnswer(turn, call, (attempt) => runTool(turn, { call, tool, attempt }));
}

// --- internal ---

async function runStateTool(turn: ToolTurn, call: ToolCall, tool: StateTool): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  if (!args.ok) return answerCall(turn, call, notJson(call, args.reason));
  // Before anything is awaited, so that the calls of one reply change the state in the order of the reply.
  const { content, isError = false, state } = tool.apply(args.value, turn.state);
  if (state) turn.state = state;
  return answerCall(turn, call, { content, isError });
}

async function runReadTool(turn: ToolTurn, call: ToolCall, tool: ReadTool): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  // As the calls before it in the reply have left it.
  const { state } = turn;
  return recordAnswer(turn, call, async () => {
    const read = args.ok ? await tool.read(args.value, state, turn.execution.run) : notJson(call, args.reason);
    return withinLimit(call.name, { content: read.content, isError: read.isError === true });
  });
}

interface ToolRun {
  call: ToolCall;
  tool: AuthorTool | undefined;
  attempt: Attempt;
}

async function runTool(turn: ToolTurn, { call, tool, attempt }: ToolRun): Promise<ToolAnswer> {
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
    // A check may take its time, and the turn be cancelled meanwhile.
    signal.throwIfAborted();
    const { runId, sessionId } = turn.execution.run;
    const session = sessionId === null ? null : { id: sessionId };
    const who = contextOf(turn.execution.run);
    const context = { signal, idempotencyKey, run: { id: runId }, session, ...who };
    const { value } = parsed;
    return toResult(call.name, await attempt.runPart(() => execute(tool, value, context)));
  } catch (error) {
    return toFailure(call.name, error);
  }
}

/** Runs the tool, within its time where it has one. */
async function execute(tool: AuthorTool, input: unknown, context: ToolContext): Promise<unknown> {
  const { timeout } = tool;
  if (timeout === undefined) return tool.execute(input, context);
  const { signal, race } = createDeadline(context.signal, { timeout });
  const run = async (): Promise<unknown> => tool.execute(input, { ...context, signal });
  try {
    return await race(run());
  } catch (error) {
    const isTooLong = signal.aborted && !context.signal.aborted && error === signal.reason;
    if (!isTooLong) throw error;
    const message = `It took longer than its timeout of ${timeout} ms, and may have had an effect all the same.`;
    throw new Error(message, { cause: error });
  }
}
