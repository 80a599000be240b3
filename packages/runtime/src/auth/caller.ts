import type { EndUser, StartedBy } from '../engine/started-by.ts';
import { BoxError } from '../errors.ts';
import { toLimitedUser } from '../limits/limits.ts';
import type { Limited, Limits } from '../limits/limits.ts';
import { findRole, isHeld } from './permissions.ts';
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
  /** `person`: has a seat with a role, also whoever calls a box that checks nothing. `user`: an end user of a client. */
  kind: 'person' | 'key' | 'user';
  /** What let it in. `none`: the box checks nothing. */
  by: 'none' | 'operator token' | 'identity token' | 'key' | 'user token';
  /** What it may do. Null: a key or a user, which may do what it is granted and nothing else. */
  role: Role | null;
  /** The same for all requests of one caller: what limits are counted by. */
  id: string;
  /** How an audit names the caller. */
  name: string;
  /** Whose sessions are its own: every credential of the same owner answers the same. Never empty: that is the box. */
  owner: string;
  /** The application, of a key and its users. */
  client: string | null;
  user: EndUser | null;
  /** Of a key and its users. Everybody else goes by the role. */
  grants: Grants;
  /** What is counted for it, and its limits. Undefined: nothing. */
  limited?: readonly Limited[];
  /** The limits of each user it speaks for. */
  userLimits?: Limits;
  /** It calls over MCP, or the copilot calls for it: what it says may be what a model says. */
  via?: 'mcp' | 'copilot';
  /** It may speak for users. */
  hasUsers?: boolean;
  /** It reads and continues every session of its agents. */
  hasAllSessions?: boolean;
  /** Where its key may be used from: addresses and networks. Undefined: anywhere. */
  addresses?: readonly string[];
  /** The key that let it in, whose end is the end of its streams. */
  keyId?: string;
  /** When the credential ends, in milliseconds since 1970. Undefined: not by itself. */
  expiresAt?: number;
}

const ALL: Grants = { agents: 'all', workflows: 'all' };

/** Whoever calls a box that checks nothing. */
export const OWNER: Caller = {
  kind: 'person',
  by: 'none',
  role: 'owner',
  id: 'owner',
  name: 'owner',
  owner: 'dev',
  client: null,
  user: null,
  grants: ALL,
  hasUsers: true,
};

/** Whoever presents the one token of a self-hosted box. */
export const OPERATOR: Caller = {
  ...OWNER,
  by: 'operator token',
  id: 'operator',
  name: 'operator',
  owner: 'operator',
  hasUsers: false,
};

export function toPerson(person: { sub: string; name: string; role: Role; expiresAt: number }): Caller {
  const { sub, name, role, expiresAt } = person;
  const id = `${PERSON}${sub}`;
  const none = { client: null, user: null };
  return { kind: 'person', by: 'identity token', role, id, name, owner: id, ...none, grants: ALL, expiresAt };
}

/**
 * The person the copilot calls for, as a turn keeps them: `id` as its run has it, the rest as it was when the turn began.
 */
export function toAskingPerson(id: string, { name, role }: Pick<StartedBy, 'name' | 'role'>): Caller {
  const base = [OWNER, OPERATOR].find((one) => one.id === id);
  const person: Caller = base ?? { ...OPERATOR, by: 'identity token', id, owner: id };
  return { ...person, name, role: findRole(role) ?? null, hasUsers: false, via: 'copilot' };
}

export interface KeyFacts {
  id: string;
  name: string;
  client: string;
  grants: Grants;
  hasUsers: boolean;
  hasAllSessions: boolean;
  limited: readonly Limited[];
  userLimits: Limits;
  addresses?: readonly string[];
  expiresAt?: number;
}

export function toKeyCaller({ id, client, ...facts }: KeyFacts): Caller {
  const owner = toOwner(client, null);
  return { kind: 'key', by: 'key', role: null, id: `${KEY}${id}`, keyId: id, owner, client, user: null, ...facts };
}

/** An end user of the client that a key or a box in development is. */
export function toUser(of: Caller, user: EndUser): Caller {
  const client = of.client ?? DEV_CLIENT;
  const owner = toOwner(client, user);
  const name = `user "${user.id}" of ${of.name}`;
  // What the key reads besides its own is not for those it speaks for.
  return {
    ...of,
    kind: 'user',
    role: null,
    id: owner,
    name,
    owner,
    client,
    user,
    hasUsers: false,
    hasAllSessions: false,
    // First: what one of them is refused is not counted for all.
    ...(of.limited ? { limited: [toLimitedUser(client, user.id, of.userLimits ?? {}), ...of.limited] } : {}),
  };
}

/** Of what is granted, what is named; undefined: all of it. Never more. */
export function narrowGrants(grants: Grants, named: Record<keyof Grants, string[] | undefined>): Grants {
  return { agents: narrow(grants.agents, named.agents), workflows: narrow(grants.workflows, named.workflows) };
}

/** What a run keeps of who made it begin. */
export function toStartedBy({ kind, id, client, keyId, user, role, name, via }: Caller): StartedBy {
  const bare =
    user?.id ?? (id.startsWith(PERSON) ? id.slice(PERSON.length) : id.startsWith(KEY) ? id.slice(KEY.length) : id);
  return { kind, id: bare, client, key: keyId ?? null, user, role, name, ...(via === undefined ? {} : { via }) };
}

/**
 * Within which an idempotency key is the caller's: the same for all keys of a client. No two callers have the same, whatever
 * is put behind it: it has one space, or none.
 */
export function scopeOf({ kind, id, client, user }: Caller): string {
  if (user) return `user ${withoutSpaces(client ?? '')}/${withoutSpaces(user.id)}`;
  if (kind === 'key') return `${KEY}${withoutSpaces(client ?? '')}`;
  return id.startsWith(PERSON) ? PERSON + withoutSpaces(id.slice(PERSON.length)) : id;
}

/** Whether what the run does is the caller's: of a person, all that its role lets it see. */
export function isOwnRun({ role, client, user }: Caller, by: StartedBy | undefined): boolean {
  if (role !== null) return true;
  return client !== null && by?.client === client && (by.user?.id ?? null) === (user?.id ?? null);
}

/** Whether code that runs on behalf of `owner` meets what `by` has started. Of a person, and of the box itself, all there is. */
export function isOfOwner(owner: StartedBy | undefined, by: StartedBy | undefined): boolean {
  if (!owner || owner.client === null) return true;
  return by?.client === owner.client && (by.user?.id ?? null) === (owner.user?.id ?? null);
}

export function may({ role }: Caller, permission: Permission): boolean {
  return role !== null && isHeld(permission, role);
}

/** For whom the tokens count of what the caller starts. */
export function chargedBy({ limited = [] }: Caller): string[] {
  return limited.map(({ id }) => id);
}

/** Throws `forbidden`. */
export function requirePermission(caller: Caller, permission: Permission): void {
  if (may(caller, permission)) return;
  const { role } = caller;
  const message =
    role === null
      ? `${caller.kind === 'user' ? 'A user of a client' : 'An API key'} may not do this. It needs a person with "${permission}".`
      : `This needs the permission "${permission}", which the role "${role}" does not have.`;
  throw new BoxError('forbidden', message, { details: { permission, role } });
}

export function isGranted({ grants }: Pick<Caller, 'grants'>, what: keyof Grants, name: string): boolean {
  const granted = grants[what];
  return granted === 'all' || granted.includes(name);
}

/** Throws `forbidden`, whether there is anything of that name or not. */
export function requireGrant(caller: Caller, what: keyof Grants, name: string): void {
  if (isGranted(caller, what, name)) return;
  const one = what === 'agents' ? 'agent' : 'workflow';
  throw new BoxError('forbidden', `The ${caller.name} is not granted the ${one} "${name}".`);
}

/** Whose are the runs and sessions of a key, or of one of its users: as `Caller.owner` has it. */
export function toOwner(client: string, user: EndUser | null): string {
  return user ? `user ${JSON.stringify([client, user.id])}` : `client ${client}`;
}

/** Throws `forbidden` for a caller that is granted none of them. */
export function requireAnyGrant({ grants, name }: Caller, what: keyof Grants): void {
  if (grants[what] === 'all' || grants[what].length > 0) return;
  throw new BoxError('forbidden', `The ${name} is granted none of the ${what} of this box.`);
}

// --- internal ---

const PERSON = 'person ';
const KEY = 'key ';
function withoutSpaces(text: string): string {
  return text.replace(/[%/\s]/g, (one) => encodeURIComponent(one));
}

function narrow(granted: Granted, named: string[] | undefined): Granted {
  if (named === undefined) return granted;
  return granted === 'all' ? named : named.filter((name) => granted.includes(name));
}

/** What a box that checks nothing takes whoever speaks for users to be. */
const DEV_CLIENT = 'dev';
