import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, Page, withoutUndefined } from '../operations/inputs.ts';
import { toDecider } from './approvers.ts';
import { Approval, ApprovalDetail, ApprovalSource, ApprovalStatus, ListedApproval } from './approval.ts';
import { Decision } from './decision.ts';
import type { Approvals } from './approvals.ts';

const operation = operationsOf<{ approvals: Approvals }>();

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
    source: ApprovalSource.optional().describe('Who asks'),
    run: z.string().optional().describe('Run id'),
    client: z.string().optional().describe('The application that had the run started, and those of its users'),
    user: z.string().optional().describe('What a client calls its user'),
    ...Page,
  }),
  output: z.object({ items: z.array(ListedApproval), nextCursor: z.string().nullable() }),
  handle: ({ approvals }, { status, source, run, client, user, limit, cursor }) =>
    approvals.list(
      withoutUndefined({ status, source, runId: run, client, user, isInbox: true as const }),
      withoutUndefined({ limit, cursor }),
    ),
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
  errors: ['approval_not_found'],
  input: z.strictObject({ id: z.string() }),
  output: ApprovalDetail,
  async handle({ approvals }, { id }) {
    const approval = await approvals.findDetail(id);
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
  confirm: true,
  copilot: 'yes',
  cli: 'hitl approve',
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'approval_not_found',
    'approval_closed',
    'already_decided',
    'decision_not_yours',
    'not_an_approver',
    'arguments_changed',
  ],
  input: z.strictObject({ id: z.string(), ...Decision.shape, idempotencyKey: IdempotencyKey }),
  output: Approval,
  settles: 'again',
  // The approval has it, for who may read it there.
  secret: ['payload'],
  handle: ({ approvals }, { id, idempotencyKey, ...decision }, { caller }) =>
    approvals.decide(id, decision, toDecider(caller, idempotencyKey)),
});
