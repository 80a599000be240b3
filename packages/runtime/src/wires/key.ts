import type { Auth } from '../auth/auth.ts';
import { isGranted } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';

/**
 * Who sends a chat request: 401 without a key, or with one that is unknown, expired or revoked; 403 when it is not
 * granted the agent. Dev takes any key that is not empty.
 */
export type Authorize = Auth['authorize'];

/** The agents a caller is shown. */
export function grantedAgents(caller: Caller, names: readonly string[]): string[] {
  return names.filter((name) => isGranted(caller, 'agents', name));
}
