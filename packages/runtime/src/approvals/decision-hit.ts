import type { HitWriter } from '../guardrails/hits.ts';
import type { HeldApproval } from './held-text.ts';
import type { ToolApproval } from './tool-approval.ts';

export type RecordHit = HitWriter['add'];

/** An approval, as it was decided. */
interface Decided {
  runId: string;
  decision: 'approve' | 'reject' | null;
  decidedBy: string | null;
}

/** What is recorded of a decision: who has let pass, or refused, what a rule holds. None where no rule does. */
export function toDecisionHit(asked: object, { runId, decision, decidedBy }: Decided): Parameters<RecordHit> {
  const { rule, ruleId, side, place, agent, askedBy } = asked as Partial<HeldApproval & ToolApproval> & {
    askedBy?: string;
  };
  const where = { side: side ?? ('tool-call' as const), place: place ?? `agent ${agent}`, runId, askedBy };
  if (rule === undefined || ruleId === undefined) return [[], where];
  const reason = `${decision === 'approve' ? 'approved' : 'rejected'} by "${decidedBy}"`;
  return [[{ rule: { id: ruleId, name: rule, action: 'hold' }, count: 1, reason, isApplied: true }], where];
}
