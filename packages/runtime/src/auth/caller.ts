import { BoxError } from '../errors.ts';
import { isHeld } from './permissions.ts';
import type { Permission, Role } from './permissions.ts';

/** Names something is granted for, or all there are and will be. */
export type Granted = 'all' | string[];

/** What an API key is good for. */
export interface Grants {
  agents: Granted;
  workflows: Granted;
}

/** Who asks. */
export interface Caller {
  /** `dev`: whoever calls a box that checks nothing. `operator`: who holds its one token. `person`: of an identity token. */
  kind: 'dev' | 'operator' | 'person' | 'key';
  /** What it may do. Null: a key, which may do what it is granted and nothing else. */
  role: Role | null;
  /** The same for all requests of one caller: what limits are counted by. */
  id: string;
  /** How an audit names the caller. */
  name: string;
  /** Of a key. Everybody else goes by the role. */
  grants: Grants;
  /** When the credential ends, in milliseconds since 1970. Undefined: not by itself. */
  expiresAt?: number;
}

const ALL: Grants = { agents: 'all', workflows: 'all' };

/** Whoever calls a box that checks nothing. */
export const OWNER: Caller = { kind: 'dev', role: 'owner', id: 'owner', name: 'owner', grants: ALL };

/** Whoever presents the one token of a self-hosted box. */
export const OPERATOR: Caller = { kind: 'operator', role: 'owner', id: 'operator', name: 'operator', grants: ALL };

export function toPerson(person: { sub: string; name: string; role: Role; expiresAt: number }): Caller {
  const { sub, name, role, expiresAt } = person;
  return { kind: 'person', role, id: `person ${sub}`, name, grants: ALL, expiresAt };
}

export function may({ role }: Caller, permission: Permission): boolean {
  return role !== null && isHeld(permission, role);
}

/** Throws `forbidden`. */
export function requirePermission(caller: Caller, permission: Permission): void {
  if (may(caller, permission)) return;
  const { role } = caller;
  const message =
    role === null
      ? `An API key may not do this. It needs a person with "${permission}".`
      : `This needs the permission "${permission}", which the role "${role}" does not have.`;
  throw new BoxError('forbidden', message, { details: { permission, role } });
}

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
