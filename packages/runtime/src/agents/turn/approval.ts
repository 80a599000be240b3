import { askPerson } from '../../engine/primitives/approval.ts';
import type { ApprovalAnswer } from '../../engine/primitives/approval.ts';
import { digestArguments } from '../../approvals/approvers.ts';
import { toJsonValue } from '../../json-value.ts';
import type { ToolApproval } from '../../approvals/tool-approval.ts';
import type { InterruptPolicy } from '../../definitions/agent.ts';
import type { ToolCall } from '../model/messages.ts';
import type { HeldCall } from '../model/read-reply.ts';
import { CONFIRM_TOOL } from '../copilot.ts';
import { COPILOT_AGENT } from '../../manifest.ts';
import { toInterrupt } from './interrupts.ts';
import { runCall } from './run-call.ts';
import { answerCall, failed, parseArguments } from './tool-answer.ts';
import type { ConversationMessage } from './input.ts';
import type { ToolTurn } from './tool-turn.ts';

/**
 * Whether the call waits for an approval before it is run: its agent says so, or a guardrail holds it. Arguments that are no JSON
 * are answered at once.
 */
export function needsApproval(turn: ToolTurn, call: ToolCall, heldBy: HeldCall | undefined): boolean {
  const isAsked = heldBy !== undefined || turn.options.toolset.interruptOf(call.name) !== undefined;
  return isAsked && parseArguments(call.arguments).ok;
}

/** Waits for the approval, and does what was decided. The turn ends the answer to the client in between. */
export async function runApproved(
  turn: ToolTurn,
  call: ToolCall,
  { heldBy, title }: { heldBy: HeldCall | undefined; title: string },
): Promise<ConversationMessage> {
  const { execution, options } = turn;
  const policy: Partial<InterruptPolicy> = options.toolset.interruptOf(call.name) ?? {};
  const { allow = heldBy === undefined ? [] : EVERY_DECISION, approvers } = policy;
  // What a guardrail holds is for operators, and no fallback decides it.
  const { by, timeout, fallback } = heldBy === undefined ? policy : {};
  const description = toDescription(policy.description, heldBy?.rule);
  const parsed = parseArguments(call.arguments);
  const args = parsed.ok ? parsed.value : {};
  const detail: ToolApproval = {
    source: heldBy === undefined ? 'tool' : 'guardrail',
    agent: options.agent.name,
    tool: call.name,
    callId: call.id,
    allow,
    ...(by === 'user' ? { by } : {}),
    ...(approvers === undefined ? {} : { approvers }),
    ...(description === undefined ? {} : { description }),
    ...toRule(heldBy),
  };
  const request = { title, payload: { tool: call.name, arguments: args }, detail };
  const approval = askPerson(execution, {
    ...request,
    beside: () => ({ argsDigest: digestArguments(toJsonValue(args)) }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(fallback === undefined ? {} : { fallback }),
  });
  turn.interrupt(toInterrupt(approval.token, { ...request, ...detail, expiresAt: approval.expiresAt }));
  const answer = await approval.answer;
  turn.decided(approval.token);
  if (!answer.approved && call.name === CONFIRM_TOOL && options.agent.name === COPILOT_AGENT) turn.isRefused = true;
  if (!answer.approved) return answerCall(turn, call, { ...failed(toRefusal(call, answer)), rejected: approval.token });
  return runCall(turn, answer.input === null ? call : { ...call, arguments: JSON.stringify(answer.input) });
}

// --- internal ---

function toRule(heldBy: HeldCall | undefined): Pick<ToolApproval, 'rule' | 'ruleId'> {
  if (heldBy === undefined) return {};
  const { rule, ruleId } = heldBy;
  return { rule, ...(ruleId === undefined ? {} : { ruleId }) };
}

const EVERY_DECISION: InterruptPolicy['allow'] = ['approve', 'edit', 'reject'];

function toDescription(description: string | undefined, heldBy: string | undefined): string | undefined {
  if (heldBy === undefined) return description;
  const held = `The guardrail "${heldBy}" holds this call.`;
  return description === undefined ? held : `${held} ${description}`;
}

function toRefusal({ name }: ToolCall, { by, note, timedOut }: ApprovalAnswer): string {
  const why = note === null ? '' : ` They said: ${note}`;
  if (timedOut) return `The call of "${name}" was not run: it was not decided in time.`;
  return `The call of "${name}" was not run: ${by === null ? 'a person' : `"${by}"`} rejected it.${why}`;
}
