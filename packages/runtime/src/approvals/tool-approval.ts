import type { InterruptPolicy } from '../definitions/agent.ts';

/** What an approval keeps of a tool call that waits for it. */
export interface ToolApproval {
  /** `guardrail`: a rule holds it. */
  source: 'tool' | 'guardrail';
  agent: string;
  tool: string;
  callId: string;
  allow: InterruptPolicy['allow'];
  /** Absent: an operator. */
  by?: 'user';
  /** Absent: every operator. */
  approvers?: readonly string[];
  description?: string;
  /** The name of the guardrail that holds it. */
  rule?: string;
}

/** Whether an approval from there is about a call of a tool. */
export function isOfCall<T extends { source?: string }>(approval: T): approval is T & Pick<ToolApproval, 'source'> {
  return approval.source === 'tool' || approval.source === 'guardrail';
}
