import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';
import { SAMPLE_ID } from './samples.ts';

export const hitl = operationGroup({
  summary: 'Decide what runs ask a person.',
  page: 'operating',
  examples: ['svc hitl list --status pending', 'svc hitl approve <id> --note "Checked."'],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List approvals, pending first.',
      operation: 'approvals.list',
      examples: ['svc hitl list --status pending', 'svc hitl list --json'],
      columns: [
        'id=approvalId:id',
        'status:state',
        'title:name',
        'source',
        'asked=createdAt:ago',
        'expires=expiresAt:when',
        'by=decidedBy:text',
        'run=runId:id',
      ],
    },
    get: { summary: 'Show what is asked, by which run, and who decided.', operation: 'approvals.get' },
    approve: {
      summary: 'Approve; the run goes on at once.',
      operation: 'approvals.decide',
      // Who types it decides: no other person is to be asked.
      asks: false,
      fixed: { decision: 'approve' },
      done: 'Approved',
      subject: approvalOf,
    },
    reject: {
      summary: 'Reject; the run goes on at once.',
      operation: 'approvals.decide',
      // Who types it decides: no other person is to be asked.
      asks: false,
      fixed: { decision: 'reject' },
      done: 'Rejected',
      subject: approvalOf,
    },
  },
});

// --- internal ---

function approvalOf({ approvalId, title }: Row): string {
  return `${String(approvalId)}: ${String(title)}`;
}
