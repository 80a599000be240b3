import { PlaneError } from '../errors.ts';
import type { Account, Call } from '../http/route.ts';
import { findMember } from '../organizations/members.ts';
import { listMemberships } from '../organizations/organizations.ts';
import { lowerOf } from '../roles.ts';
import { PREFIX } from '../secrets.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { findToken } from '../tokens/tokens.ts';
import type { Sessions } from './sessions.ts';

/** Whose an access token of `svc login` is. Undefined: it is none that is good. */
export interface AccessTokens {
  authenticate(token: string): Promise<{ userId: string; organizationId: string; familyId: string } | undefined>;
}

export interface AuthenticateOptions {
  db: Db;
  sessions: Sessions;
  accessTokens: AccessTokens;
}

/**
 * Who calls, and the role at this moment. A request with an `authorization` header is never answered as its cookie's: such
 * a header spares it the check of its origin.
 */
export function createAuthenticate(options: AuthenticateOptions): (call: Call) => Promise<Account | undefined> {
  return async (call) => {
    const header = call.request.headers.get('authorization');
    if (header === null) return fromCookie(options, call);
    const [, token] = /^Bearer ([\w.~+/=-]{1,512})$/i.exec(header) ?? [];
    const account = token === undefined ? undefined : await fromToken(options, token, call.now);
    if (account) return account;
    throw new PlaneError('unauthorized', 'The token is not valid, or no longer valid. Sign in again.', {
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
  };
}

// --- internal ---

async function fromCookie({ db, sessions }: AuthenticateOptions, call: Call): Promise<Account | undefined> {
  const session = await sessions.find(call);
  if (!session) return undefined;
  const { id: credentialId, userId, organizationId } = session;
  const user = await findUser(db, userId);
  if (!user) return undefined;
  const account = { ...user, userId, via: 'session', credentialId } as const;
  const role = organizationId === null ? undefined : await findMember(db, userId, organizationId);
  if (organizationId !== null && role !== undefined) return { ...account, organizationId, role };
  // Of the one it had chosen it is a member no longer.
  const [first] = await listMemberships(db, userId);
  return first ? { ...account, organizationId: first.id, role: first.role } : account;
}

async function fromToken(options: AuthenticateOptions, token: string, now: number): Promise<Account | undefined> {
  const { db, accessTokens } = options;
  if (token.startsWith(PREFIX.personal)) {
    const found = await findToken(db, token, now);
    const account = found && (await toMember(db, found));
    return account && { ...account, via: 'token', credentialId: found.id, role: lowerOf(found.role, account.role) };
  }
  const found = await accessTokens.authenticate(token);
  const account = found && (await toMember(db, found));
  return account && { ...account, via: 'cli', credentialId: found.familyId };
}

/** Undefined: the person is a member there no longer. */
async function toMember(db: Db, { userId, organizationId }: { userId: string; organizationId: string }) {
  const role = await findMember(db, userId, organizationId);
  const user = await findUser(db, userId);
  return user && role !== undefined ? { ...user, userId, organizationId, role } : undefined;
}

function findUser(db: Db, userId: string): Promise<{ email: string; name: string } | undefined> {
  return db.get(sql`select email, name from plane_users where id = ${userId}`);
}
