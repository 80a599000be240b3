import { readChild, startOrAnew, toStartCall, toWaitCall } from '../../engine/primitives/child-workflow.ts';
import type { StartedTurn } from '../../engine/handle.ts';
import type { ToolCall } from '../model/messages.ts';
import { answerCall, failed, notJson, parseArguments, toMessage, withinLimit } from './tool-answer.ts';
import { recordAnswer } from './record-answer.ts';
import { resultIdOf } from './ids.ts';
import type { ToolAnswer } from './recorded-answer.ts';
import type { TaskTool } from '../../tools/box-tool.ts';
import type { ConversationMessage } from './input.ts';
import type { TurnOutput } from './options.ts';
import type { ToolTurn } from './tool-turn.ts';

/**
 * Has a sub-agent do the task as a run below this one, and answers its last text. Three recorded calls: the start, the wait,
 * after which the turn may go on in another process, and the answer as the rules about results of tools let it pass.
 */
export async function runTask(turn: ToolTurn, call: ToolCall, tool: TaskTool): Promise<ConversationMessage> {
  const args = parseArguments(call.arguments);
  if (!args.ok) return answerCall(turn, call, notJson(call, args.reason));
  const task = tool.parse(args.value);
  if (!task.ok) return answerCall(turn, call, failed(task.reason));
  const { world } = turn.execution;
  const started = world.now();
  const ended = await waitForEnd(turn, call, task);
  const durationMs = world.now() - started;
  if (!('runId' in ended)) {
    const { isRecorded, ...answer } = ended;
    if (!isRecorded) return recordAnswer(turn, call, async () => answer, durationMs);
    turn.emit({ type: 'tool.result', callId: call.id, messageId: resultIdOf(call.id), ...answer, durationMs });
    return toMessage(call, answer);
  }
  return recordAnswer(turn, call, () => readAnswer(turn, call, ended.runId), durationMs);
}

/** What the start of a task is recorded with: an answer that is recorded apart. Of turns of boxes before, it is that of the wait. */
export function isAnsweredApart(started: unknown): started is StartedTask {
  return (started as Partial<StartedTask> | null)?.answer === 'apart';
}

// --- internal ---

interface Task {
  agent: string;
  message: string;
}

interface StartedTask extends StartedTurn {
  answer: 'apart';
}

/** A run that has completed, or what stands for its answer. `isRecorded`: it is read off what is recorded. */
type Ended = { runId: string } | (ToolAnswer & { isRecorded: boolean });

async function waitForEnd({ execution }: ToolTurn, call: ToolCall, task: Task): Promise<Ended> {
  const { ambient, run: parent } = execution;
  const name = `agent ${task.agent}`;
  const { agent, message } = task;
  const start = toStartCall(
    execution,
    { name, input: { message } },
    async ({ idempotencyKey }): Promise<StartedTask> => {
      const started = await startOrAnew(execution, idempotencyKey, (key) =>
        ambient.startTurn({ agent, message }, { parent, idempotencyKey: key, callId: call.id }),
      );
      return { ...started, answer: 'apart' };
    },
  );
  // What a start is refused for is said by the box.
  let isRecorded = true;
  try {
    const started = (await execution.invoke(start)) as StartedTurn;
    isRecorded = !isAnsweredApart(started);
    const { runId } = started;
    // What it said is judged before this run has it.
    const wait = toWaitCall(name, { runId }, isRecorded ? {} : { leavesOutput: true });
    const output = (await execution.invoke(wait)) as TurnOutput | undefined;
    // Where a box before has carried the turn on, the wait has the answer, whatever the start says.
    return output ? { content: output.content, isError: false, isRecorded: true } : { runId };
  } catch (error) {
    return { ...toFailure(error), isRecorded };
  }
}

async function readAnswer({ execution }: ToolTurn, call: ToolCall, runId: string): Promise<ToolAnswer> {
  try {
    const { content } = (await readChild(execution, runId)) as TurnOutput;
    return withinLimit(call.name, { content, isError: false });
  } catch (error) {
    // It has completed: of what else there may be, none is its answer.
    if ((error as { code?: unknown }).code !== 'child_gone') throw error;
    return toFailure(error);
  }
}

function toFailure(error: unknown): ToolAnswer {
  const { message: text, cause } = error as Error;
  return failed(`The sub-agent failed: ${cause instanceof Error ? cause.message : text}`);
}
