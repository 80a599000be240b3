import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { operation } from '../operations/define.ts';
import { Approval, ApprovalStatus, Decision } from './approvals.ts';

export const listApprovals = operation({
  id: 'approvals.list',
  summary: 'List approvals, pending first',
  route: 'GET /api/approvals',
  tag: 'approvals',
  kind: 'read',
  permission: 'hitl:read',
  copilot: 'yes',
  cli: 'hitl list',
  input: z.strictObject({
    status: ApprovalStatus.optional(),
    limit: z.coerce.number().int().min(1).max(200).default(50),
  }),
  output: z.object({ items: z.array(Approval), nextCursor: z.null() }),
  handle: async ({ approvals }, { status, limit }) => ({
    items: await approvals.list(status === undefined ? {} : { status }, limit),
    nextCursor: null,
  }),
});

export const getApproval = operation({
  id: 'approvals.get',
  summary: 'Get one approval: what is asked, its run, when, and the audit trail',
  route: 'GET /api/approvals/:id',
  tag: 'approvals',
  kind: 'read',
  permission: 'hitl:read',
  copilot: 'yes',
  cli: 'hitl get',
  input: z.strictObject({ id: z.string() }),
  output: Approval,
  async handle({ approvals }, { id }) {
    const approval = await approvals.find(id);
    if (!approval) throw new BoxError('approval_not_found', `There is no approval "${id}".`);
    return approval;
  },
});

export const decideApproval = operation({
  id: 'approvals.decide',
  summary: 'Approve or reject, with an optional note and edited input; the run goes on at once',
  route: 'POST /api/approvals/:id/decide',
  tag: 'approvals',
  kind: 'write',
  permission: 'hitl:decide',
  copilot: 'yes',
  cli: 'hitl approve',
  input: z.strictObject({ id: z.string(), ...Decision.shape }),
  output: Approval,
  handle: ({ approvals }, { id, ...decision }) => approvals.decide(id, decision, DEV_CALLER),
});

/** Dev has no identities: whoever calls is the owner. */
const DEV_CALLER = 'owner';
