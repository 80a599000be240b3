import type { HeldApproval } from '../../approvals/held-text.ts';
import type { ToolApproval } from '../../approvals/tool-approval.ts';
import type { InterruptPolicy } from '../../definitions/agent.ts';
import type { Interrupt } from '../events/turn-events.ts';

/** What an approval keeps of a text that a rule holds, as an event of the turn. The text is for whoever decides. */
export function toTextInterrupt(
  id: string,
  { title, allow, callId, step }: Pick<HeldApproval, 'allow' | 'callId' | 'step'> & { title: string },
): Interrupt {
  return {
    id,
    message: title,
    allow,
    responseSchema: toResponseSchema(allow),
    ...(callId === undefined ? {} : { callId }),
    ...(step === undefined ? {} : { step }),
  };
}

/** What an approval keeps of a tool call, as an event of the turn. */
export function toInterrupt(id: string, { title, payload, callId, tool, allow, expiresAt }: KeptApproval): Interrupt {
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

export interface KeptApproval extends ToolApproval {
  title: string;
  payload: { tool: string; arguments: unknown };
  expiresAt?: number | null;
}

// --- internal ---

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
