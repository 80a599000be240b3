import { may } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { OPERATIONS } from './index.ts';

/** Whether a caller may read what an operation changes: whoever may read something of the same kind. */
export function mayReadChangesOf(caller: Caller, id: string): boolean {
  const tag = OPERATIONS.find((op) => op.id === id)?.tag;
  return OPERATIONS.some(
    (op) => op.tag === tag && op.kind === 'read' && op.permission !== 'none' && may(caller, op.permission),
  );
}
