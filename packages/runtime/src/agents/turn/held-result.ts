import { askAboutText } from '../../approvals/held-text.ts';
import type { ToolCall } from '../model/messages.ts';
import { toWithheld } from '../judge-input.ts';
import { toTextInterrupt } from './interrupts.ts';
import type { ConversationMessage } from './input.ts';
import { answerCall, failed, parseArguments } from './tool-answer.ts';
import type { RecordedAnswer } from './recorded-answer.ts';
import type { ToolTurn } from './tool-turn.ts';

/** Waits for the decision about what a tool has answered, and records and emits what the model is to read. */
export async function passResult(
  turn: ToolTurn,
  call: ToolCall,
  { rule, ruleId, reason, content, isError }: NonNullable<RecordedAnswer['held']>,
): Promise<ConversationMessage> {
  const { name: tool, id: callId } = call;
  const { name: agent } = turn.options.agent;
  const parsed = parseArguments(call.arguments);
  const { token, answer, kept } = askAboutText(turn.execution, {
    side: 'tool-result',
    place: `agent ${agent}`,
    callId,
    title: `Let "${agent}" read what "${tool}" has answered?`,
    payload: { agent, call: { tool, arguments: parsed.ok ? parsed.value : call.arguments }, result: content },
    heldBy: { rule, ruleId, reason },
  });
  turn.interrupt(toTextInterrupt(token, kept));
  const { approved } = await answer;
  turn.decided(token);
  return answerCall(turn, call, approved ? { content, isError } : failed(toWithheld(rule)), 'decision');
}
