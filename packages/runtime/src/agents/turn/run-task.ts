import { startOrAnew, toStartCall, toWaitCall } from '../../engine/primitives/child-workflow.ts';
import type { StartedTurn } from '../../engine/handle.ts';
import type { ToolCall } from '../model/messages.ts';
import { answerCall, failed, notJson, parseArguments, toMessage } from './tool-answer.ts';
import { resultIdOf } from './ids.ts';
import type { ToolAnswer } from './recorded-answer.ts';
import type { TaskTool } from '../../tools/box-tool.ts';
import type { ConversationMessage } from './input.ts';
import type { TurnOutput } from './options.ts';
import type { ToolTurn } from './tool-turn.ts';

/**
 * Has a sub-agent do the task as a run below this one, and answers its last text. Two recorded calls, the start and the
 * wait: the turn may be suspended in between, and goes on in another process.
 */
export async function runTask(turn: ToolTurn, call: ToolCall, tool: TaskTool): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  if (!args.ok) return answerCall(turn, call, notJson(call, args.reason));
  const task = tool.parse(args.value);
  if (!task.ok) return answerCall(turn, call, failed(task.reason));
  const { world } = turn.execution;
  const started = world.now();
  const answer = await waitForAnswer(turn, call, task);
  const durationMs = world.now() - started;
  turn.emit({ type: 'tool.result', callId: call.id, messageId: resultIdOf(call.id), ...answer, durationMs });
  return toMessage(call, answer);
}

// --- internal ---

interface Task {
  agent: string;
  message: string;
}

async function waitForAnswer({ execution }: ToolTurn, call: ToolCall, task: Task): Promise<ToolAnswer> {
  const { ambient, run: parent } = execution;
  const name = `agent ${task.agent}`;
  const { agent, message } = task;
  const start = toStartCall(name, { message }, ({ idempotencyKey }) =>
    startOrAnew(execution, idempotencyKey, (key) =>
      ambient.startTurn({ agent, message }, { parent, idempotencyKey: key, callId: call.id }),
    ),
  );
  try {
    const { runId } = (await execution.invoke(start)) as StartedTurn;
    const { content } = (await execution.invoke(toWaitCall(name, { runId }))) as TurnOutput;
    return { content, isError: false };
  } catch (error) {
    const { message: text, cause } = error as Error;
    return failed(`The sub-agent failed: ${cause instanceof Error ? cause.message : text}`);
  }
}
