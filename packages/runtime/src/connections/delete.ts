import { and, asc, eq, like } from 'drizzle-orm';
import type { SecretStore } from '../secrets/store.ts';
import { secrets } from '../secrets/table.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { clientName, readAllParts, SECRET_OWNER } from './credential-rows.ts';
import type { ConnectionStore } from './store.ts';
import { connectionCredentials, connections } from './table.ts';

/** Deletes a connection with all that belongs to it, and answers what it consisted of. */
export function createDelete(db: Drizzle, vault: () => Promise<SecretStore>): ConnectionStore['delete'] {
  return async (id) => {
    const store = await vault();
    return db.transaction(async (tx) => {
      // Held until all is gone: no credential comes to it meanwhile that no one has seen.
      const [connection] = await tx.select().from(connections).where(eq(connections.id, id)).for('update');
      if (!connection) return undefined;
      const isReady = and(eq(connectionCredentials.connectionId, id), eq(connectionCredentials.state, 'ready'));
      const count = await tx.$count(connectionCredentials, isReady);
      const owners = await tx
        .select({ owner: connectionCredentials.owner })
        .from(connectionCredentials)
        .where(isReady)
        .orderBy(asc(connectionCredentials.owner))
        .limit(MOST_READ);
      const within = store.within(tx);
      const names = owners.map(({ owner }) => owner);
      // What does not open any more is deleted as well.
      const clientSecret = await within.get(clientName(id)).catch(() => undefined);
      const credentials = await readAllParts(within, id, names).catch(() => []);
      await tx.delete(connections).where(eq(connections.id, id));
      // An id holds no character that "like" reads as another.
      await tx.delete(secrets).where(and(eq(secrets.owner, SECRET_OWNER), like(secrets.name, `["${id}",%`)));
      return { connection, clientSecret, credentials, count };
    });
  };
}

// --- internal ---

const MOST_READ = 500;
