import { randomUUID } from 'node:crypto';
import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import { findMember } from '../organizations/members.ts';
import { deriveSecret, hashSecret, makeSalt } from '../secrets.ts';
import type { AccessTokens } from '../sessions/authenticate.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql, taking } from '../store/sql.ts';

/** What a session of a command line holds. */
export interface Grant {
  accessToken: string;
  refreshToken: string;
  /** Seconds the access token is good for. */
  expiresIn: number;
}

/** The sessions of `svc login`: each a family of refresh tokens of which one is good, and its access tokens. */
export interface Families extends AccessTokens {
  start(tx: Queries, whose: Whose & Origin & { address: string | null }): Promise<Grant>;
  /** The tokens that were made of a secret and a salt. Undefined: the refresh token was used, or the session is over. */
  answerAgain(from: string, salt: string): Promise<Grant | undefined>;
  /** Throws `invalid_grant`; for a token that was used before, after the whole session has ended. */
  refresh(refreshToken: string, by: By): Promise<Grant>;
  /** Ends the session of a refresh token, or an access token; another is none of ours, and that is an answer, too. */
  revoke(token: string, by: By): Promise<void>;
}

interface By {
  clientId: string;
  address: string | undefined;
}

interface Whose {
  clientId: string;
  userId: string;
  organizationId: string;
  deviceName: string;
}

/** What the tokens are derived of. */
interface Origin {
  from: string;
  salt: string;
}

export function createFamilies({ db, now, audit }: { db: Db; now(): number; audit: Audit }): Families {
  const findFamily = (queries: Queries, refreshToken: string): Promise<Used | undefined> =>
    queries.get<Used>(
      sql`select r.used_at, r.salt, f.id, f.client_id, f.user_id, f.organization_id, f.device_name, f.ended_at, f.expires_at
        from plane_refresh_tokens r join plane_families f on f.id = r.family_id where r.token_hash = ${hashSecret(refreshToken)}`,
    );
  const isOver = ({ endedAt, expiresAt }: Used): boolean => endedAt !== null || expiresAt <= now();
  const record = async (tx: Queries, action: string, family: Used, address: string | undefined) => {
    const user = await tx.get<{ email: string }>(sql`select email from plane_users where id = ${family.userId}`);
    const { organizationId, deviceName: target } = family;
    await audit.record({ organizationId, action, actor: user?.email ?? family.userId, target, address }, tx);
  };
  /** False: it was over already. */
  const end = async (tx: Queries, id: string): Promise<boolean> => {
    const ended = await tx.run(
      taking(sql`update plane_families set ended_at = ${now()} where id = ${id} and ended_at is null`),
    );
    await tx.run(sql`delete from plane_access_tokens where family_id = ${id}`);
    return ended > 0;
  };
  const answer = async (queries: Queries, origin: Origin): Promise<Grant | undefined> => {
    const { accessToken, refreshToken } = derive(origin);
    const family = await findFamily(queries, refreshToken);
    const access = await queries.get<{ expiresAt: number }>(
      sql`select expires_at from plane_access_tokens where token_hash = ${hashSecret(accessToken)}`,
    );
    if (!family || family.usedAt !== null || isOver(family) || !access) return undefined;
    const expiresIn = Math.floor((access.expiresAt - now()) / 1_000);
    return expiresIn > 0 ? { accessToken, refreshToken, expiresIn } : undefined;
  };
  const issue = async (tx: Queries, familyId: string, origin: Origin): Promise<Grant> => {
    const { accessToken, refreshToken } = derive(origin);
    const time = now();
    await tx.run(
      sql`insert into plane_refresh_tokens (token_hash, family_id, created_at) values (${hashSecret(refreshToken)}, ${familyId}, ${time})`,
    );
    await tx.run(
      sql`insert into plane_access_tokens (token_hash, family_id, created_at, expires_at)
        values (${hashSecret(accessToken)}, ${familyId}, ${time}, ${time + ACCESS_MS})`,
    );
    return { accessToken, refreshToken, expiresIn: ACCESS_MS / 1_000 };
  };
  /** Undefined: the session is over, or has ended by this. What has to stay of that is committed before it is thrown. */
  const rotate = async (tx: Queries, refreshToken: string, { clientId, address }: By): Promise<Grant | undefined> => {
    const time = now();
    const salt = makeSalt();
    // Of several uses at once one claims it; the others wait here, and see below what that one has been given.
    const claimed = await tx.run(
      sql`update plane_refresh_tokens set used_at = ${time}, salt = ${salt}
        where token_hash = ${hashSecret(refreshToken)} and used_at is null
          and family_id in (select id from plane_families where client_id = ${clientId})`,
    );
    const family = await findFamily(tx, refreshToken);
    if (!family || family.clientId !== clientId || isOver(family)) return undefined;
    if (claimed === 0) {
      const mayAgain = time - (family.usedAt ?? 0) <= AGAIN_MS;
      const again = mayAgain ? await answer(tx, { from: refreshToken, salt: family.salt ?? '' }) : undefined;
      if (again) return again;
      // Two hold it, and no one can say which of them is the thief.
      if (await end(tx, family.id)) await record(tx, 'cli.reuse', family, address);
      return undefined;
    }
    if ((await findMember(tx, family.userId, family.organizationId)) === undefined) {
      await end(tx, family.id);
      return undefined;
    }
    const goesOn = await tx.run(
      sql`update plane_families set refreshed_at = ${time}, expires_at = ${time + SLIDING_MS}
        where id = ${family.id} and ended_at is null`,
    );
    return goesOn > 0 ? issue(tx, family.id, { from: refreshToken, salt }) : undefined;
  };
  return {
    async start(tx, { clientId, userId, organizationId, deviceName, address, ...origin }) {
      const id = randomUUID();
      const time = now();
      await tx.run(
        sql`insert into plane_families
            (id, client_id, user_id, organization_id, device_name, address, created_at, refreshed_at, expires_at)
          values (${id}, ${clientId}, ${userId}, ${organizationId}, ${deviceName}, ${address}, ${time}, ${time}, ${time + SLIDING_MS})`,
      );
      return issue(tx, id, origin);
    },
    answerAgain: (from, salt) => answer(db, { from, salt }),
    async refresh(refreshToken, by) {
      const grant = await db.transaction((tx) => rotate(tx, refreshToken, by), CLAIM);
      if (grant) return grant;
      throw new PlaneError('invalid_grant', 'The session has ended, or the refresh token is not valid. Sign in again.');
    },
    async revoke(token, { clientId, address }) {
      const hash = hashSecret(token);
      await db.transaction(async (tx) => {
        const access = await tx.get<{ familyId: string }>(
          sql`select a.family_id from plane_access_tokens a join plane_families f on f.id = a.family_id
            where a.token_hash = ${hash} and f.client_id = ${clientId}`,
        );
        if (access) await tx.run(sql`delete from plane_access_tokens where token_hash = ${hash}`);
        const family = await findFamily(tx, token);
        if (!family || family.clientId !== clientId || isOver(family)) return;
        if (await end(tx, family.id)) await record(tx, 'cli.logout', family, address);
      }, CLAIM);
    },
    async authenticate(token) {
      return db.get(
        sql`select f.user_id, f.organization_id, f.id as family_id from plane_access_tokens a
          join plane_families f on f.id = a.family_id
          where a.token_hash = ${hashSecret(token)} and a.expires_at > ${now()} and f.ended_at is null`,
      );
    },
  };
}

// --- internal ---

const CLAIM = { isClaim: true };
const ACCESS_MS = 300_000;
const SLIDING_MS = 30 * 24 * 3_600_000;
/** How long a lost answer is given again. */
const AGAIN_MS = 10_000;

interface Used extends Whose {
  /** Of the family. */
  id: string;
  usedAt: number | null;
  salt: string | null;
  endedAt: number | null;
  expiresAt: number;
}

function derive(origin: Origin): { accessToken: string; refreshToken: string } {
  return { accessToken: deriveSecret('access', origin), refreshToken: deriveSecret('refresh', origin) };
}
