import { BoxError } from '../errors.ts';

/** Names something is granted for, or all there are and will be. */
export type Granted = 'all' | string[];

/** What an API key is good for. */
export interface Grants {
  agents: Granted;
  workflows: Granted;
}

/** Who asks. */
export interface Caller {
  /** An owner may do everything; a key what it is granted, and nothing else. */
  kind: 'owner' | 'key';
  /** The same for all requests of one caller: what limits are counted by. */
  id: string;
  /** How an audit names the caller. */
  name: string;
  grants: Grants;
}

/** Whoever calls a box that checks nothing. */
export const OWNER: Caller = {
  kind: 'owner',
  id: 'owner',
  name: 'owner',
  grants: { agents: 'all', workflows: 'all' },
};

export function isGranted({ grants }: Caller, what: keyof Grants, name: string): boolean {
  const granted = grants[what];
  return granted === 'all' || granted.includes(name);
}

/** Throws `forbidden`, whether there is anything of that name or not. */
export function requireGrant(caller: Caller, what: keyof Grants, name: string): void {
  if (isGranted(caller, what, name)) return;
  const one = what === 'agents' ? 'agent' : 'workflow';
  throw new BoxError('forbidden', `The ${caller.name} is not granted the ${one} "${name}".`);
}
