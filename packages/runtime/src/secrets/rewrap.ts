import { and, eq, sql } from 'drizzle-orm';
import { ADVISORY_LOCKS } from '../stores/advisory-locks.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { secrets } from './table.ts';
import { rewrap } from './seal.ts';
import type { MasterKey } from './seal.ts';

export interface RewrapOptions {
  db: Drizzle;
  /** The key in force. */
  key: MasterKey;
  /** The one before it (`SVC_SECRET_KEY_PREVIOUS`). */
  previous: MasterKey;
  installation: string;
}

/**
 * Wraps the data key of every value that is under the previous master key again, the canary's with them: all or none. The
 * values themselves are not touched. Answers how many there were; throws `secret_unreadable` for one that does not open.
 */
export async function rewrapSecrets({ db, key, previous, installation }: RewrapOptions): Promise<number> {
  if (key.kid === previous.kid) return 0;
  return db.transaction(async (tx) => {
    // Boots at once wait for each other, and the second finds nothing left.
    await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.rewrap})`);
    const rows = await tx
      .select()
      .from(secrets)
      .where(eq(sql`${secrets.sealed} ->> 'kid'`, previous.kid))
      // A replica that still runs with the previous key may be about to rotate one.
      .for('update');
    for (const { owner, name, version, sealed } of rows) {
      const place = { table: 'secrets', installation, name: `${owner}/${name}`, version };
      await tx
        .update(secrets)
        .set({ sealed: rewrap({ from: previous, to: key }, place, sealed) })
        .where(and(eq(secrets.owner, owner), eq(secrets.name, name)));
    }
    return rows.length;
  });
}

// --- internal ---

/** Any number but those of the migrations and the identity; every version of the box must use this one. */
