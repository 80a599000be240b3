import { HELD } from '../engine/box-marks.ts';
import { askPerson } from '../engine/primitives/approval.ts';
import type { AskedApproval } from '../engine/primitives/approval.ts';
import type { RunHandle } from '../engine/handle.ts';
import type { Found } from '../guardrails/text-stream.ts';
import type { Side } from '../guardrails/store.ts';
import type { ToolApproval } from './tool-approval.ts';

/** The rule that has a text wait. It may have changed since, or be gone. */
export interface HeldBy {
  rule: string;
  ruleId: string;
  reason: string | null;
}

/** What an approval keeps of a text that waits for it, besides the text, which is its payload. */
export interface HeldApproval extends HeldBy {
  source: 'guardrail';
  side: Exclude<Side, 'tool-call'>;
  /** Whose text it is: `agent <name>` or `workflow <name>`. */
  place: string;
  allow: ToolApproval['allow'];
  description: string;
  /** The call of the turn whose result it is. Absent: it is of none. */
  callId?: string;
  /** Of a turn: it waits behind this call of the model; 0: before the first. */
  step?: number;
}

export interface HeldText extends Pick<HeldApproval, 'side' | 'place' | 'callId' | 'step'> {
  /** What is to be decided, one sentence. */
  title: string;
  /** The text, with what it takes to judge it. */
  payload: Record<string, unknown>;
  heldBy: HeldBy;
}

export interface AskedAboutText extends AskedApproval {
  /** What is kept with the approval. */
  kept: HeldApproval & { title: string };
}

/** Asks the operators about a text that a rule holds, in the body of its run. It waits for ever. */
export function askAboutText(execution: RunHandle, { title, payload, heldBy, ...text }: HeldText): AskedAboutText {
  const description = `The guardrail "${heldBy.rule}" holds this${heldBy.reason === null ? '' : `: ${heldBy.reason}`}.`;
  const detail: HeldApproval = { source: 'guardrail', ...text, ...heldBy, allow: ['approve', 'reject'], description };
  return { ...askPerson(execution, { title, payload, detail }), kept: { title, ...detail } };
}

export function toHeldBy({ rule, reason }: Found): HeldBy {
  return { rule: rule.name, ruleId: rule.id, reason };
}

/** The mark of a run whose input a rule holds. */
export function toHeldMark(heldBy: HeldBy | undefined): Record<string, string> {
  return heldBy ? { [HELD]: JSON.stringify({ rule: heldBy.rule, ruleId: heldBy.ruleId, reason: heldBy.reason }) } : {};
}

/** Whether an approval is about a text that a rule holds. */
export function isOfText<T extends object>(approval: T): approval is T & HeldApproval {
  return 'side' in approval;
}
