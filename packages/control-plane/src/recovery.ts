import { randomBytes } from 'node:crypto';
import { createAudit } from './audit/audit.ts';
import type { FullSettings } from './config.ts';
import { PlaneError } from './errors.ts';
import { createKeyStore } from './identity/key-store.ts';
import type { Rotation } from './identity/key-store.ts';
import { listMemberships } from './organizations/organizations.ts';
import { hashPassword } from './passwords/hash.ts';
import { Email } from './people/schemas.ts';
import { findUserByEmail, setPassword } from './people/users.ts';
import { openStore } from './plane.ts';
import { openSealer } from './sealer.ts';
import type { Db } from './store/db.ts';
import { sql } from './store/sql.ts';

type Place = Pick<FullSettings, 'databaseUrl' | 'dataDir'>;

/**
 * Gives a person a new random password, and ends every other way into the account: sessions of browsers and command lines,
 * personal tokens, and the link with a person of the provider, all of which may be someone else's. For whoever runs the
 * control plane: no route does it. Beside a control plane that runs on the store or not. Throws `not_found`.
 */
export async function resetPassword(place: Place, email: string): Promise<{ email: string; password: string }> {
  const { data: address } = Email.safeParse(email);
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const hash = await hashPassword(password, 'full');
  return onStore(place, async (db) => {
    const audit = createAudit({ db, now: Date.now });
    return db.transaction(async (tx) => {
      const user = address === undefined ? undefined : await findUserByEmail(tx, address);
      if (!user) throw new PlaneError('not_found', `There is no account of "${email}".`);
      await setPassword(tx, { userId: user.id, hash, now: Date.now() });
      await tx.run(sql`delete from plane_personal_tokens where user_id = ${user.id}`);
      await tx.run(sql`update plane_users set oidc_subject = null where id = ${user.id}`);
      const entry = { action: 'auth.password_reset', actor: OPERATOR, target: user.email };
      const memberships = await listMemberships(tx, user.id);
      for (const { id: organizationId } of memberships) await audit.record({ ...entry, organizationId }, tx);
      if (memberships.length === 0) await audit.record(entry, tx);
      return { email: user.email, password };
    });
  });
}

/**
 * Has another key sign identity tokens from here on; a control plane that runs on the store takes it up within a minute.
 * `revoke`: no key of the set is trusted any more. Throws `limit_reached`, `secret_key_wrong`.
 */
export async function rotateKeys(
  { secretKey, ...place }: Place & { secretKey: string },
  { revoke }: { revoke: boolean },
): Promise<Rotation> {
  return onStore(place, async (db) => {
    const audit = createAudit({ db, now: Date.now });
    const keys = createKeyStore({ db, sealer: await openSealer(db, secretKey) });
    const entry = { action: revoke ? 'keys.revoke' : 'keys.rotate', actor: OPERATOR, target: '' };
    return keys.rotateNow(Date.now(), { revoke }, (tx) => audit.record(entry, tx));
  });
}

// --- internal ---

const PASSWORD_BYTES = 18;
/** Who has the machine: no account of the control plane. */
const OPERATOR = 'operator';

async function onStore<T>(place: Place, work: (db: Db) => Promise<T>): Promise<T> {
  const db = await openStore(place, { beside: 'write' });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
