import { may } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { Permission } from '../auth/permissions.ts';
import { OPERATIONS } from './index.ts';

/** Whether a caller may read what an operation changes: whoever may read something of the same kind. */
export function mayReadChangesOf(caller: Caller, id: string): boolean {
  return listReadersOf(id).some((permission) => may(caller, permission));
}

/** The permissions by any of which what an operation changes may be read. */
export function listReadersOf(id: string): Permission[] {
  const tag = OPERATIONS.find((op) => op.id === id)?.tag;
  const reads = OPERATIONS.filter((op) => op.tag === tag && op.kind === 'read');
  return [...new Set(reads.flatMap(({ permission }) => (permission === 'none' ? [] : [permission])))];
}
