import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import { createApprovals } from './approvals.ts';
import type { ApprovalsOptions } from './approvals.ts';
import { decideApproval, getApproval, listApprovals } from './operations.ts';

export interface Given {
  journal: Journal;
  engine: Engine;
  agents: Pick<ApprovalsOptions, 'checkArguments' | 'hideArguments'>;
}

export const approvalsRoom = defineRoom({
  name: 'approvals',
  operations: [listApprovals, getApproval, decideApproval],
  create: ({ journal, engine, agents }: Given) =>
    createApprovals({ journal, engine, checkArguments: agents.checkArguments, hideArguments: agents.hideArguments }),
});
