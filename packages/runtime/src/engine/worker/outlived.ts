import { codeOfError } from '../run/outcome.ts';
import type { ClosePolicy, RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';

/**
 * Whether a run has outlived the one above it against its policy: it was started as that one ended, and it was not
 * notified. @param parent undefined: it has been deleted
 */
export function hasOutlived(policy: ClosePolicy | null, parent: RunRow | undefined): boolean {
  if (policy === 'abandon') return false;
  if (policy !== null) return !parent || (isFinal(parent.status) && parent.continuedTo === null);
  // One without a policy goes on when its parent, having completed or failed, is deleted.
  return parent?.status === 'cancelled' || codeOfError(parent?.error) === 'run_timeout';
}
