import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound, PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Account, Call, Route } from '../http/route.ts';
import { requireSignedIn } from '../organizations/access.ts';
import type { Access } from '../organizations/access.ts';
import { findMember } from '../organizations/members.ts';
import { Name, RoleName } from '../people/schemas.ts';
import { isAtMost, lowerOf } from '../roles.ts';
import type { Role } from '../roles.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { addToken, listTokens, MOST_DAYS } from './tokens.ts';
import type { PersonalToken } from './tokens.ts';

export interface TokenRoutes {
  db: Db;
  access: Access;
  audit: Audit;
}

/** A person's own: no role shows, or ends, those of another. */
export function tokenRoutes({ db, access, audit }: TokenRoutes): Route[] {
  const common = { tag: 'tokens', access: 'person', path: '/api/v1/tokens' } as const;
  return [
    route({
      ...common,
      id: 'tokens.list',
      method: 'GET',
      summary: 'List one’s personal access tokens',
      answer: z.object({ items: z.array(TokenAnswer) }),
      errors: ['forbidden'],
      async handle(call) {
        const account = call.account();
        requireSignedIn(account);
        const all = await listTokens(db, account.userId, call.now);
        const reached = ({ organizationId }: PersonalToken) =>
          account.via === 'session' || organizationId === account.organizationId;
        return { items: all.filter(reached).map(toAnswer) };
      },
    }),
    route({
      ...common,
      id: 'tokens.create',
      method: 'POST',
      summary: 'Make a personal access token; it is shown this once',
      status: 201,
      body: z.strictObject({
        name: Name,
        organization: z.string().max(64).optional().describe('Its id. Default: the one that is acted in.'),
        role: RoleName.optional().describe(
          'No higher than one’s own. Default: member, or one’s own where that is lower.',
        ),
        days: z.int().min(1).max(MOST_DAYS).default(30),
      }),
      answer: TokenAnswer.extend({ token: z.string() }),
      errors: ['forbidden', 'not_found', 'no_organization', 'limit_reached'],
      async handle(call, { body }) {
        const account = call.account();
        requireBrowser(account);
        const organizationId = body.organization ?? call.person().organizationId;
        const own = await access.require(account, organizationId, 'tokens:write');
        const role = body.role ?? lowerOf('member', own);
        requireAtMost(role, own);
        const expiresAt = call.now + body.days * DAY;
        const { userId } = account;
        const { token, secret } = await db.transaction(async (tx) => {
          // It may have been taken away meanwhile, and would come back with the person.
          const current = await findMember(tx, userId, organizationId);
          if (current === undefined) throw notFound(`organisation "${organizationId}"`);
          requireAtMost(role, current);
          const given = { userId, organizationId, name: body.name, role, createdAt: call.now, expiresAt };
          const made = await addToken(tx, given);
          await audit.record(toEntry(call, made.token, 'tokens.create'), tx);
          return made;
        });
        return { ...toAnswer(token), token: secret };
      },
    }),
    route({
      ...common,
      id: 'tokens.revoke',
      method: 'DELETE',
      path: '/api/v1/tokens/:id',
      summary: 'Revoke one of one’s personal access tokens',
      status: 204,
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '' } }) {
        const account = call.account();
        requireSignedIn(account);
        await db.transaction(async (tx) => {
          const token = (await listTokens(tx, account.userId, call.now)).find((one) => one.id === id);
          if (!token) throw notFound(`token "${id}"`);
          await tx.run(sql`delete from plane_personal_tokens where id = ${id}`);
          await audit.record(toEntry(call, token, 'tokens.revoke'), tx);
        });
      },
    }),
  ];
}

// --- internal ---

/** Throws `forbidden`: a credential of a program would make itself another one that outlasts it. */
function requireBrowser(account: Account): void {
  if (account.via === 'session') return;
  throw new PlaneError('forbidden', 'A token is made by a person in a browser. Sign in there.');
}

function requireAtMost(role: Role, own: Role): void {
  if (isAtMost(role, own)) return;
  throw new PlaneError('forbidden', `A token has no higher role than its maker, who is "${own}" here.`, {
    details: { role: own },
  });
}

const DAY = 24 * 3_600_000;

const TokenAnswer = z.object({
  id: z.string(),
  name: z.string(),
  organizationId: z.string(),
  role: RoleName,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  usedAt: z.iso.datetime().nullable(),
});

function toAnswer({ id, name, organizationId, role, createdAt, expiresAt, usedAt }: PersonalToken) {
  return {
    id,
    name,
    organizationId,
    role,
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
    usedAt: usedAt === null ? null : new Date(usedAt).toISOString(),
  };
}

function toEntry(call: Call, { organizationId, name, role }: PersonalToken, action: string) {
  return entryOf(call, { organizationId, action, target: `${name}: ${role}` });
}
