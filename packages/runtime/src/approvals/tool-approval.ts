import type { InterruptPolicy } from '../definitions/agent.ts';
import type { RunRow } from '../engine/journal/run.ts';

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
  /** Absent: none holds it, or it has waited since the box was an older one. */
  ruleId?: string;
}

/**
 * The arguments of a call of the copilot's tools as they are recorded and shown: without what the question to the person
 * leaves out, which is sealed for that call of that person alone.
 */
export type HideArguments = (
  tool: string,
  args: string,
  run: Pick<RunRow, 'runId' | 'attributes' | 'startedBy'>,
) => Promise<string>;

/** Whether an approval is about a call of a tool. */
export function isOfCall<T extends object>(approval: T): approval is T & ToolApproval {
  return 'tool' in approval;
}
