import type { InterruptPolicy } from '../definitions/agent.ts';

/** What an approval keeps of a tool call that waits for it. */
export interface ToolApproval {
  source: 'tool';
  agent: string;
  tool: string;
  callId: string;
  allow: InterruptPolicy['allow'];
  /** Absent: an operator. */
  by?: 'user';
  /** Absent: every operator. */
  approvers?: readonly string[];
  description?: string;
}
