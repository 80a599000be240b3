import type { OperationOutput } from '@svc/runtime/client';

export type ApprovalDetail = OperationOutput<'approvals.get'>;
/** What the list has of it too. */
export type Approval = Omit<ApprovalDetail, 'inputSchema' | 'input'>;
export type ListedApproval = OperationOutput<'approvals.list'>['items'][number];

/** What the list has of it, where that is all. An older box lists all of each. */
export function wholeOf(listed: ListedApproval | undefined): Approval | undefined {
  return listed && ((listed.cut as ListedApproval['cut'] | undefined) ?? []).length === 0 ? listed : undefined;
}

/** What is asked about: the arguments of a call of a tool, or a payload. */
export function askedOf({ source, payload }: Approval): { call: { tool: string } | undefined; args: unknown } {
  const { tool, arguments: args } = (payload ?? {}) as { tool?: unknown; arguments?: unknown };
  return source !== 'workflow' && typeof tool === 'string'
    ? { call: { tool }, args }
    : { call: undefined, args: payload };
}

/** Words for who did what. */
export const ACTIONS: Readonly<Record<string, string>> = {
  asked: 'Asked',
  approve: 'Approved',
  edit: 'Approved with other arguments',
  reject: 'Rejected',
  expired: 'The time was up',
};
