import { randomUUID } from 'node:crypto';
import { PlaneError } from '../errors.ts';
import { endOtherSignIns } from '../sessions/sign-ins.ts';
import type { Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';

export interface User {
  id: string;
  email: string;
  name: string;
  /** As `passwords/hash.ts` stores it. Null: it signs in elsewhere. */
  password: string | null;
}

export function findUserByEmail(queries: Queries, email: string): Promise<User | undefined> {
  return queries.get<User>(sql`${USERS} where email = ${email}`);
}

export function findUser(queries: Queries, id: string): Promise<User | undefined> {
  return queries.get<User>(sql`${USERS} where id = ${id}`);
}

/** By what the provider of PLANE_OIDC_ISSUER calls a person. */
export function findUserBySubject(queries: Queries, oidcSubject: string): Promise<User | undefined> {
  return queries.get<User>(sql`${USERS} where oidc_subject = ${oidcSubject}`);
}

export async function hasUsers(queries: Queries): Promise<boolean> {
  return (await queries.get(sql`select id from plane_users limit 1`)) !== undefined;
}

/** Throws `account_exists` when there is an account with the address. */
export async function addUser(
  tx: Queries,
  { email, name, password, oidcSubject = null, now }: Omit<User, 'id'> & { oidcSubject?: string | null; now: number },
): Promise<User> {
  if (await findUserByEmail(tx, email)) throw accountExists(email);
  const id = randomUUID();
  await tx.run(
    sql`insert into plane_users (id, email, name, password, oidc_subject, created_at)
      values (${id}, ${email}, ${name}, ${password}, ${oidcSubject}, ${now})`,
  );
  return { id, email, name, password };
}

/** Other browsers and command lines of the person are signed out. `keep`: the session that it was changed in. */
export async function setPassword(
  tx: Queries,
  { userId, hash, keep = '', now }: { userId: string; hash: string; keep?: string; now: number },
): Promise<void> {
  await tx.run(sql`update plane_users set password = ${hash} where id = ${userId}`);
  await endOtherSignIns(tx, { userId, keep, now });
}

export function accountExists(email: string): PlaneError {
  return new PlaneError(
    'account_exists',
    `There is an account of "${email}". Sign in with it, then accept the invite.`,
  );
}

// --- internal ---

const USERS = sql`select id, email, name, password from plane_users`;
