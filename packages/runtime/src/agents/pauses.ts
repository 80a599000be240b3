import { askPerson } from '../engine/approval.ts';
import type { ApprovalAnswer } from '../engine/approval.ts';
import type { Interrupt } from '../wires/events.ts';
import type { InterruptPolicy } from './definition.ts';
import type { ToolCall } from './messages.ts';
import { answerCall, failed, parseArguments, runCall } from './run-call.ts';
import type { ConversationMessage } from './turn-input.ts';
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
  return turn.options.toolset.find(call.name)?.interrupt !== undefined && parseArguments(call.arguments).ok;
}

/** Asks a person, ends the answer to the client once every call of the reply has asked, and does what was decided. */
export async function askAndRun(turn: Turn, call: ToolCall, calls: readonly ToolCall[]): Promise<ConversationMessage> {
  const { execution, options } = turn;
  const policy: Partial<InterruptPolicy> = options.toolset.find(call.name)?.interrupt ?? {};
  const { allow = [], timeout, fallback } = policy;
  const parsed = parseArguments(call.arguments);
  const args = parsed.ok ? parsed.value : {};
  const title = `Run "${call.name}"?`;
  const detail: ToolPause = { source: 'tool', agent: options.agent.name, tool: call.name, callId: call.id, allow };
  const asked = askPerson(execution, {
    title,
    payload: { tool: call.name, arguments: args },
    detail,
    ...(timeout === undefined ? {} : { timeout }),
    ...(fallback === undefined ? {} : { fallback }),
  });
  const interrupt: Interrupt = {
    id: asked.token,
    callId: call.id,
    name: call.name,
    args,
    message: title,
    allow,
    responseSchema: toResponseSchema(allow),
    ...(asked.expiresAt === null ? {} : { expiresAt: asked.expiresAt }),
  };
  turn.interrupt(interrupt, calls.filter((other) => needsPerson(turn, other)).length);
  const answer = await asked.answer;
  if (!answer.approved) return answerCall(turn, call, failed(toRefusal(call, answer)));
  return runCall(turn, answer.input === null ? call : { ...call, arguments: JSON.stringify(answer.input) });
}

// --- internal ---

function toRefusal({ name }: ToolCall, { by, note, timedOut }: ApprovalAnswer): string {
  const why = note === null ? '' : ` They said: ${note}`;
  if (timedOut) return `The call of "${name}" was not run: nobody decided in time.`;
  return `The call of "${name}" was not run: ${by === null ? 'a person' : `"${by}"`} rejected it.${why}`;
}

/** A decision, as the approval takes it. */
function toResponseSchema(allow: InterruptPolicy['allow']): Record<string, unknown> {
  const decisions = ['approve', 'reject'].filter((decision) => allow.includes(decision as 'approve'));
  return {
    type: 'object',
    properties: {
      decision: { type: 'string', enum: decisions },
      note: { type: 'string' },
      ...(allow.includes('edit')
        ? { input: { type: 'object', description: 'Arguments to run the tool with instead' } }
        : {}),
    },
    required: ['decision'],
  };
}
