import type { Bootstrap } from '../app/bootstrap.ts';

/** Whether a person is one of those who decide, as the box sees it. Where it asks for no credential, all are. */
export function isAmong(
  approvers: readonly string[] | null,
  { place, caller }: Pick<Bootstrap, 'place' | 'caller'>,
): boolean {
  if (!approvers || place === 'dev') return true;
  // An id that is written like a role is none.
  const isNamed = !caller.id.startsWith(ROLE) && approvers.includes(caller.id);
  return isNamed || approvers.includes(`${ROLE}${caller.role}`);
}

/** Ids, and roles as `role:admin`, as a person reads them. */
export function nameApprovers(approvers: readonly string[]): string {
  return approvers.map((one) => (one.startsWith(ROLE) ? `anyone who is ${one.slice(ROLE.length)}` : one)).join(', ');
}

// --- internal ---

const ROLE = 'role:';
