import { createHash } from 'node:crypto';
import { toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { StartedBy } from '../engine/started-by.ts';
import { BoxError } from '../errors.ts';
import { toCanonicalText } from '../json-value.ts';
import { withoutUndefined } from '../operations/inputs.ts';

/** Who decides, and the key under which they may send the same decision again. */
export interface Decider {
  by: string;
  /** Of whom some may be asked for by name. */
  who: Caller;
  idempotencyKey?: string;
  /** A model may be deciding, for this caller: not about what it has caused itself. */
  byModel?: StartedBy;
}

/** How a caller decides, over whichever surface. */
export function toDecider(caller: Caller, idempotencyKey?: string): Decider {
  return withoutUndefined({
    by: caller.name,
    who: caller,
    idempotencyKey,
    byModel: caller.via === undefined ? undefined : toStartedBy(caller),
  });
}

/** Throws `not_an_approver`. Where the box asks for no credential, it knows no one from another. */
export function requireApprover(approvers: readonly string[] | null | undefined, who: Caller): void {
  if (!approvers || who.by === 'none') return;
  const { id, role } = toStartedBy(who);
  // An id that is written like a role is none.
  const isNamed = !id.startsWith(ROLE_PREFIX) && approvers.includes(id);
  if (role !== null && (isNamed || approvers.includes(`${ROLE_PREFIX}${role}`))) return;
  const message = `The ${who.name} is not one of those who decide about this call: ${approvers.join(', ')}.`;
  throw new BoxError('not_an_approver', message, { details: { approvers } });
}

/** What the arguments of a tool call are compared by: whoever decides says which they have seen. */
export function digestArguments(args: unknown): string {
  return createHash('sha256').update(toCanonicalText(args)).digest('hex');
}

/** Throws `arguments_changed`. */
export function requireShown(shown: string | undefined, now: string | null): void {
  if (shown === undefined || shown === now) return;
  const message =
    'The arguments are not the ones this decision is about. Read the approval again, and decide about what it shows.';
  throw new BoxError('arguments_changed', message, { details: { argsDigest: now } });
}

// --- internal ---

/** What a role begins with among those who decide. */
const ROLE_PREFIX = 'role:';
