import { defineRoom } from '../operations/room.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { MasterKey } from '../secrets/seal.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createReader } from '../stores/reading/readable.ts';
import type { ReadableStore } from '../stores/reading/readable.ts';
import { createProjectDatabase } from './database.ts';
import { listTables, queryDatabase, readRows } from './operations.ts';

export interface Given {
  options: { db: Drizzle; readable?: ReadableStore };
  masterKey: MasterKey;
  installation(): Promise<string>;
}

export const databaseRoom = defineRoom({
  name: 'database',
  operations: [listTables, readRows, queryDatabase],
  create({ options: { db, readable }, masterKey: key, installation }: Given) {
    const secrets = async () => createSecretStore({ db, key, installation: await installation() });
    const reader =
      readable &&
      createReader(readable, {
        role: async () => `svc_query_${(await installation()).replaceAll('-', '').slice(0, 16)}`,
        password: {
          get: async () => (await secrets()).get(LOGIN),
          set: async (password) => (await secrets()).set(LOGIN, password),
        },
      });
    return createProjectDatabase({ db, reader });
  },
});

// --- internal ---

/** What the password of the login is sealed under. */
const LOGIN = 'query_login';
