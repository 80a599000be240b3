import type { OperationOutput } from '@svc/runtime/client';

export type Approval = OperationOutput<'approvals.get'>;

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
