import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import { createApprovals } from './approvals.ts';
import type { ApprovalsOptions } from './approvals.ts';
import type { DecisionGuardrails } from './user-decision.ts';
import { decideApproval, getApproval, listApprovals } from './operations.ts';

export interface Given {
  journal: Journal;
  engine: Engine;
  agents: Pick<ApprovalsOptions, 'checkArguments' | 'describeArguments' | 'hideArguments'>;
  guardrails: DecisionGuardrails;
}

export const approvalsRoom = defineRoom({
  name: 'approvals',
  operations: [listApprovals, getApproval, decideApproval],
  create: ({ journal, engine, agents, guardrails }: Given) => {
    const { checkArguments, describeArguments, hideArguments } = agents;
    return createApprovals({ journal, engine, checkArguments, describeArguments, hideArguments, guardrails });
  },
});
