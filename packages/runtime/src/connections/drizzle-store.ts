import { and, asc, count, desc, eq, gt, sql } from 'drizzle-orm';
import type { MasterKey } from '../secrets/seal.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { SecretStore } from '../secrets/store.ts';
import { secrets } from '../secrets/table.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { clientName, createCredentialRows, SECRET_OWNER } from './credential-rows.ts';
import { createDelete } from './delete.ts';
import type { ConnectionStore, CredentialRow, ListedConnection, Owner } from './store.ts';
import { createSignIns } from './sign-in-rows.ts';
import { connectionCredentials, connections, connectionUses } from './table.ts';

export interface ConnectionStoreOptions {
  db: Drizzle;
  key: MasterKey;
  installation(): Promise<string>;
}

export function createConnectionStore({ db, key, installation }: ConnectionStoreOptions): ConnectionStore {
  let opened: Promise<SecretStore> | undefined;
  /** Asked for before a transaction begins: it may have to look for what it seals for. */
  const vault = (): Promise<SecretStore> =>
    (opened ??= installation().then(
      (id) => createSecretStore({ db, key, installation: id, owner: SECRET_OWNER }),
      (error: unknown) => {
        opened = undefined;
        throw error;
      },
    ));

  const select = () =>
    db
      .select({
        connection: connections,
        credential: connectionCredentials,
        hasClientSecret: sql<boolean>`${secrets.name} is not null`,
        users: sql<number>`(select count(*)::int from ${connectionCredentials} c
          where c.connection_id = ${connections.id} and c.owner <> '' and c.state = 'ready')`,
      })
      .from(connections)
      .leftJoin(
        connectionCredentials,
        and(eq(connectionCredentials.connectionId, connections.id), eq(connectionCredentials.owner, BOX)),
      )
      .leftJoin(
        secrets,
        and(eq(secrets.owner, SECRET_OWNER), eq(secrets.name, sql`'["' || ${connections.id} || '","client"]'`)),
      );

  return {
    ...createCredentialRows(db, vault),
    ...createSignIns(db),
    delete: createDelete(db, vault),
    async list(after, limit) {
      const rows = await select()
        .where(after === undefined ? undefined : gt(connections.id, after))
        .orderBy(asc(connections.id))
        .limit(limit);
      return rows.map(toListed);
    },
    async find(id) {
      const [row] = await select().where(eq(connections.id, id));
      return row && toListed(row);
    },
    async open(id, owner) {
      const [row] = await db
        .select({ connection: connections, credential: connectionCredentials })
        .from(connections)
        .leftJoin(
          connectionCredentials,
          and(eq(connectionCredentials.connectionId, connections.id), eq(connectionCredentials.owner, owner)),
        )
        .where(eq(connections.id, id));
      return row && { connection: row.connection, credential: row.credential ?? undefined };
    },
    async listUses(id) {
      const rows = await db
        .select()
        .from(connectionUses)
        .where(eq(connectionUses.connectionId, id))
        .orderBy(desc(connectionUses.lastUsedAt))
        .limit(MOST_USES);
      return rows.map(({ kind, name, lastUsedAt }) => ({ kind, name, lastUsedAt: lastUsedAt.toISOString() }));
    },
    create: (connection) =>
      db.transaction(async (tx) => {
        await tx.execute(sql`lock table ${connections} in share row exclusive mode`);
        const [all] = await tx.select({ value: count() }).from(connections);
        const [known] = await tx
          .select({ id: connections.id })
          .from(connections)
          .where(eq(connections.id, connection.id));
        if (known) return 'exists';
        if ((all?.value ?? 0) >= MOST_CONNECTIONS) return 'full';
        await tx.insert(connections).values(connection);
        return 'created';
      }),
    readClientSecret: async (id) => (await vault()).get(clientName(id)),
    async noteUse(id, { kind, name }) {
      const lastUsedAt = new Date();
      await db
        .insert(connectionUses)
        .select(
          db
            .select({
              connectionId: connections.id,
              kind: sql<'agent' | 'workflow'>`${kind}`.as('kind'),
              name: sql<string>`${name}`.as('name'),
              lastUsedAt: sql<Date>`${lastUsedAt.toISOString()}::timestamptz`.as('last_used_at'),
            })
            .from(connections)
            .where(eq(connections.id, id)),
        )
        .onConflictDoUpdate({
          target: [connectionUses.connectionId, connectionUses.kind, connectionUses.name],
          set: { lastUsedAt },
        });
    },
  };
}

/** The owner of what is the box's own. */
export const BOX: Owner = '';

// --- internal ---

const MOST_CONNECTIONS = 500;
const MOST_USES = 100;

function toListed(row: {
  connection: typeof connections.$inferSelect;
  credential: CredentialRow | null;
  hasClientSecret: boolean;
  users: number;
}): ListedConnection {
  return { ...row, credential: row.credential ?? undefined };
}
