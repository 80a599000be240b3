import type { OperationOutput } from '@svc/runtime/client';

export type Approval = OperationOutput<'approvals.get'>;
export type ListedApproval = OperationOutput<'approvals.list'>['items'][number];

/** What the list has of it, where that is all. An older box lists all of each. */
export function wholeOf(listed: ListedApproval | undefined): Approval | undefined {
  return listed && ((listed.cut as ListedApproval['cut'] | undefined) ?? []).length === 0 ? listed : undefined;
}

/** A call of a tool, as its approval shows it; undefined: something else is asked. */
export function toCall({ source, payload }: Approval): { tool: string; args: unknown } | undefined {
  const { tool, arguments: args } = (payload ?? {}) as { tool?: unknown; arguments?: unknown };
  return source !== 'workflow' && typeof tool === 'string' ? { tool, args } : undefined;
}

/** Words for who did what. */
export const ACTIONS: Readonly<Record<string, string>> = {
  asked: 'Asked',
  approve: 'Approved',
  edit: 'Approved with other arguments',
  reject: 'Rejected',
  expired: 'The time was up',
};
