import { randomUUID } from 'node:crypto';
import { PlaneError } from '../errors.ts';
import type { Role } from '../roles.ts';
import { hashSecret, makeSecret } from '../secrets.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';

/** What a program, such as a CI job, signs in with. */
export interface PersonalToken {
  id: string;
  userId: string;
  organizationId: string;
  name: string;
  /** The most it allows; the member's own role at the moment may be lower. */
  role: Role;
  createdAt: number;
  expiresAt: number;
  usedAt: number | null;
}

export const MOST_DAYS = 90;
/** Of a person. */
export const MOST_TOKENS = 50;

/** Those that are good, of all organisations. */
export function listTokens(queries: Queries, userId: string, now: number): Promise<PersonalToken[]> {
  return queries.all<PersonalToken>(
    sql`${TOKENS} where user_id = ${userId} and expires_at > ${now} order by created_at, id`,
  );
}

/** Answers the secret, which is kept nowhere. Throws `limit_reached`. */
export async function addToken(
  tx: Queries,
  given: Omit<PersonalToken, 'id' | 'usedAt'>,
): Promise<{ token: PersonalToken; secret: string }> {
  const { userId, organizationId, name, role, createdAt, expiresAt } = given;
  if ((await listTokens(tx, userId, createdAt)).length >= MOST_TOKENS)
    throw new PlaneError('limit_reached', `A person has at most ${MOST_TOKENS} tokens. Revoke some first.`);
  const secret = makeSecret('personal');
  const id = randomUUID();
  await tx.run(
    sql`insert into plane_personal_tokens (id, token_hash, user_id, organization_id, name, role, created_at, expires_at)
      values (${id}, ${hashSecret(secret)}, ${userId}, ${organizationId}, ${name}, ${role}, ${createdAt}, ${expiresAt})`,
  );
  return { token: { ...given, id, usedAt: null }, secret };
}

/** Whose a secret is. Undefined: it is none, or none that is good any more. */
export async function findToken(db: Db, secret: string, now: number): Promise<PersonalToken | undefined> {
  const token = await db.get<PersonalToken>(
    sql`${TOKENS} where token_hash = ${hashSecret(secret)} and expires_at > ${now}`,
  );
  if (token && now - (token.usedAt ?? 0) >= RESOLUTION)
    await db.run(sql`update plane_personal_tokens set used_at = ${now} where id = ${token.id}`);
  return token;
}

// --- internal ---

/** How often a token that is in use is written. */
const RESOLUTION = 60_000;

const TOKENS = sql`select id, user_id, organization_id, name, role, created_at, expires_at, used_at
  from plane_personal_tokens`;
