import { z } from 'zod';
import type { ApprovalEvent } from '../engine/approval.ts';
import type { Engine } from '../engine/engine.ts';
import type { HookEvent, HookRow, Journal } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import { toIso, toJsonValue } from '../runs/json-value.ts';

export const ApprovalStatus = z.enum(['pending', 'approved', 'rejected', 'expired', 'cancelled']);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

export const Decision = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  note: z.string().max(10_000).optional(),
  input: z.unknown().describe('What the person changed or added; the workflow gets it').optional(),
});
export type Decision = z.infer<typeof Decision>;

export const Approval = z.object({
  approvalId: z.string(),
  source: z.enum(['workflow']),
  runId: z.uuid(),
  title: z.string(),
  payload: z.unknown(),
  status: ApprovalStatus,
  decision: z.enum(['approve', 'reject']).nullable(),
  note: z.string().nullable(),
  decidedBy: z.string().nullable().describe('Null: undecided, or the time was up'),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  audit: z.array(z.object({ at: z.iso.datetime(), action: z.string(), by: z.string().nullable() })),
});
export type Approval = z.infer<typeof Approval>;

/** The approvals of the journal: a hook of a run, and the one resume it gets. */
export interface Approvals {
  /** Pending first, then the newest. */
  list(filter: { status?: ApprovalStatus }, limit: number): Promise<Approval[]>;
  find(approvalId: string): Promise<Approval | undefined>;
  /** Throws `already_decided` with the first decision. */
  decide(approvalId: string, decision: Decision, by: string): Promise<Approval>;
}

const SCAN_LIMIT = 1_000;

export function createApprovals({ journal, engine }: { journal: Journal; engine: Engine }): Approvals {
  const read = async (hook: HookRow): Promise<Approval> => {
    const { events } = await journal.hooks.listEvents(hook.runId);
    return toApproval(
      hook,
      events.find(({ token }) => token === hook.token),
    );
  };
  const find = async (approvalId: string): Promise<HookRow | undefined> => {
    const hook = await journal.hooks.find(approvalId);
    return hook?.kind === 'approval' ? hook : undefined;
  };
  return {
    async list({ status }, limit) {
      const isOpen = status === 'pending' ? { isOpen: true } : {};
      const hooks = await journal.hooks.list({ kind: 'approval', ...isOpen }, { limit: SCAN_LIMIT });
      const approvals = await Promise.all(hooks.map(read));
      const rank = ({ status: is }: Approval) => (is === 'pending' ? 0 : 1);
      return approvals
        .filter((approval) => status === undefined || approval.status === status)
        .sort((a, b) => rank(a) - rank(b) || b.createdAt.localeCompare(a.createdAt))
        .slice(0, limit);
    },
    async find(approvalId) {
      const hook = await find(approvalId);
      return hook && read(hook);
    },
    async decide(approvalId, { decision, note = null, input = null }, by) {
      if (!(await find(approvalId))) throw new BoxError('approval_not_found', `There is no approval "${approvalId}".`);
      const event: ApprovalEvent = { decision, by, note, input, timedOut: false };
      const result = await engine.resumeHook(approvalId, event);
      if (result?.outcome === 'resumed') return toApproval(result.hook, result.event);
      if (result?.outcome === 'already') throw alreadyDecided(toApproval(result.hook, result.event));
      throw new BoxError('approval_closed', 'The run that asked has ended; nothing is left to decide.');
    },
  };
}

export function alreadyDecided(approval: Approval): BoxError {
  const { decision, decidedBy, note, status } = approval;
  const who = status === 'expired' ? 'its deadline' : `"${decidedBy}"`;
  return new BoxError('already_decided', `This was decided before, by ${who}: ${decision}.`, {
    details: { decision, decidedBy, note, status },
  });
}

// --- internal ---

function toApproval(hook: HookRow, event: HookEvent | undefined): Approval {
  const { title, payload, expiresAt } = decode(hook.detail ?? '1[{}]') as {
    title: string;
    payload?: unknown;
    expiresAt?: number | null;
  };
  const answer = event && (decode(event.payload) as ApprovalEvent);
  const decided =
    event && answer
      ? [{ at: toIso(event.at), action: answer.timedOut ? 'expired' : answer.decision, by: answer.by }]
      : [];
  return {
    approvalId: hook.token,
    source: 'workflow',
    runId: hook.runId,
    title,
    payload: toJsonValue(payload),
    status: statusOf(hook, answer),
    decision: answer?.decision ?? null,
    note: answer?.note ?? null,
    decidedBy: answer?.by ?? null,
    createdAt: toIso(hook.createdAt),
    expiresAt: expiresAt ? toIso(expiresAt) : null,
    audit: [{ at: toIso(hook.createdAt), action: 'asked', by: null }, ...decided],
  };
}

function statusOf(hook: HookRow, answer: ApprovalEvent | undefined): ApprovalStatus {
  if (answer?.timedOut) return 'expired';
  if (answer) return answer.decision === 'approve' ? 'approved' : 'rejected';
  return hook.isOpen ? 'pending' : 'cancelled';
}
