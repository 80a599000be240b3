import { randomUUID } from 'node:crypto';
import { cookieName, formatCookie, readCookie } from '../http/cookies.ts';
import type { Call } from '../http/route.ts';
import { hashSecret, makeSecret } from '../secrets.ts';
import type { Db, Queries } from '../store/db.ts';
import { nameBrowser } from './browser-name.ts';
import { sql, taking } from '../store/sql.ts';

/** Who is signed in with a browser: a random cookie, of which the store has the hash. */
export interface Sessions {
  /** A new one, whatever cookie the request had; that one's session ends. Answers the value of the cookie. */
  open(call: Call, whose: { userId: string; organizationId: string | undefined }, tx: Queries): Promise<string>;
  /** Sets the cookie, once the session is committed. */
  give(call: Call, secret: string): void;
  /** Of the request's cookie, which is good for another 12 hours from here on. */
  find(call: Call): Promise<Session | undefined>;
  /** Ends that of the request's cookie, if it has one, and removes the cookie. */
  end(call: Call): Promise<Session | undefined>;
  chooseOrganization(id: string, organizationId: string): Promise<void>;
}

export interface Session {
  id: string;
  userId: string;
  organizationId: string | null;
}

export function createSessions({ db, publicUrl }: { db: Db; publicUrl(): string }): Sessions {
  const isSecure = () => publicUrl().startsWith('https:');
  const secretOf = ({ request }: Call) => readCookie(request.headers, cookieName(isSecure()));
  const setCookie = (call: Call, value: string, maxAge: number) =>
    call.setHeader('set-cookie', formatCookie(value, { isSecure: isSecure(), maxAge }));
  const findRow = async (call: Call): Promise<(Session & { createdAt: number; seenAt: number }) | undefined> => {
    const secret = secretOf(call);
    if (secret === undefined) return undefined;
    return db.get(
      sql`select id, user_id, organization_id, created_at, seen_at from plane_sessions
        where secret_hash = ${hashSecret(secret)} and expires_at > ${call.now}`,
    );
  };
  return {
    async open(call, { userId, organizationId = null }, tx) {
      const earlier = secretOf(call);
      if (earlier !== undefined)
        await tx.run(taking(sql`delete from plane_sessions where secret_hash = ${hashSecret(earlier)}`));
      const secret = makeSecret('session');
      await tx.run(
        sql`insert into plane_sessions
            (id, secret_hash, user_id, organization_id, name, address, created_at, seen_at, expires_at)
          values (${randomUUID()}, ${hashSecret(secret)}, ${userId}, ${organizationId},
            ${nameBrowser(call.request.headers.get('user-agent'))}, ${call.address ?? null},
            ${call.now}, ${call.now}, ${call.now + SLIDING})`,
      );
      return secret;
    },
    give: (call, secret) => setCookie(call, secret, SLIDING / 1_000),
    async find(call) {
      const row = await findRow(call);
      if (!row) return undefined;
      const { createdAt, seenAt, ...session } = row;
      if (call.now - seenAt < RESOLUTION) return session;
      const expiresAt = Math.min(call.now + SLIDING, createdAt + HARD);
      await db.run(
        sql`update plane_sessions set seen_at = ${call.now}, expires_at = ${expiresAt} where id = ${row.id}`,
      );
      setCookie(call, secretOf(call) ?? '', Math.ceil((expiresAt - call.now) / 1_000));
      return session;
    },
    async end(call) {
      const row = await findRow(call);
      if (row) await db.run(taking(sql`delete from plane_sessions where id = ${row.id}`));
      setCookie(call, '', 0);
      return row;
    },
    async chooseOrganization(id, organizationId) {
      await db.run(sql`update plane_sessions set organization_id = ${organizationId} where id = ${id}`);
    },
  };
}

// --- internal ---

const HOUR = 3_600_000;
const SLIDING = 12 * HOUR;
const HARD = 7 * 24 * HOUR;
/** How often a session that is in use is written. */
const RESOLUTION = 60_000;
