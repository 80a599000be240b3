import { askPerson } from '../../engine/primitives/approval.ts';
import type { ApprovalAnswer } from '../../engine/primitives/approval.ts';
import type { Interrupt } from '../events/turn-events.ts';
import type { InterruptPolicy } from '../../definitions/definition.ts';
import type { ToolCall } from '../model/messages.ts';
import { runCall } from './run-call.ts';
import { answerCall, failed, parseArguments } from './tool-answer.ts';
import type { ConversationMessage } from './input.ts';
import type { Turn } from './turn.ts';

/** What an approval keeps of a tool that waits. */
export interface ToolPause {
  source: 'tool';
  agent: string;
  tool: string;
  callId: string;
  allow: InterruptPolicy['allow'];
}

/** Whether a person decides before the call is run. Arguments that are no JSON are answered, not asked about. */
export function needsPerson(turn: Turn, call: ToolCall): boolean {
  return turn.options.toolset.interruptOf(call.name) !== undefined && parseArguments(call.arguments).ok;
}

/** Asks a person, and does what was decided. The turn ends the answer to the client in between. */
export async function askAndRun(turn: Turn, call: ToolCall): Promise<ConversationMessage> {
  const { execution, options } = turn;
  const policy: Partial<InterruptPolicy> = options.toolset.interruptOf(call.name) ?? {};
  const { allow = [], timeout, fallback } = policy;
  const parsed = parseArguments(call.arguments);
  const args = parsed.ok ? parsed.value : {};
  const detail: ToolPause = { source: 'tool', agent: options.agent.name, tool: call.name, callId: call.id, allow };
  const request = { title: `Run "${call.name}"?`, payload: { tool: call.name, arguments: args }, detail };
  const asked = askPerson(execution, {
    ...request,
    ...(timeout === undefined ? {} : { timeout }),
    ...(fallback === undefined ? {} : { fallback }),
  });
  turn.interrupt(toInterrupt(asked.token, { ...request, ...detail, expiresAt: asked.expiresAt }));
  const answer = await asked.answer;
  turn.decided();
  if (!answer.approved) return answerCall(turn, call, failed(toRefusal(call, answer)));
  return runCall(turn, answer.input === null ? call : { ...call, arguments: JSON.stringify(answer.input) });
}

/** What an approval keeps of a tool that waits, as the client is told. */
export function toInterrupt(id: string, { title, payload, callId, tool, allow, expiresAt }: KeptPause): Interrupt {
  return {
    id,
    callId,
    name: tool,
    args: payload.arguments,
    message: title,
    allow,
    responseSchema: toResponseSchema(allow),
    ...(expiresAt == null ? {} : { expiresAt }),
  };
}

export interface KeptPause extends ToolPause {
  title: string;
  payload: { tool: string; arguments: unknown };
  expiresAt?: number | null;
}

// --- internal ---

function toRefusal({ name }: ToolCall, { by, note, timedOut }: ApprovalAnswer): string {
  const why = note === null ? '' : ` They said: ${note}`;
  if (timedOut) return `The call of "${name}" was not run: nobody decided in time.`;
  return `The call of "${name}" was not run: ${by === null ? 'a person' : `"${by}"`} rejected it.${why}`;
}

/** A decision, as the approval takes it. */
function toResponseSchema(allow: InterruptPolicy['allow']): Record<string, unknown> {
  return {
    type: 'object',
    properties: {
      decision: { type: 'string', enum: [...allow] },
      note: { type: 'string' },
      ...(allow.includes('edit')
        ? {
            input: {
              type: 'object',
              description: 'Arguments to run the tool with instead, where the decision is "edit"',
            },
          }
        : {}),
    },
    required: ['decision'],
  };
}
