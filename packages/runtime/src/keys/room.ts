import { defineRoom } from '../operations/room.ts';
import type { MasterKey } from '../secrets/seal.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createApiKeys } from './api-keys.ts';
import { createKey, listKeys, revokeKey, rotateKey, updateKey } from './operations.ts';
import { createUserSecrets } from './user-secrets.ts';

export interface Given {
  db: Drizzle;
  kv: KeyValueStore | undefined;
  masterKey: MasterKey;
  /** Ends what is open under a key that has changed. */
  watch: { changed(id: string): void };
  settings: { keyDays(): Promise<number | undefined> };
}

export const keysRoom = defineRoom({
  name: 'keys',
  operations: [listKeys, createKey, updateKey, rotateKey, revokeKey],
  create: ({ db, kv, masterKey, watch, settings }: Given) =>
    createApiKeys({
      db,
      kv,
      userSecrets: createUserSecrets({ db, key: masterKey }),
      findDays: settings.keyDays,
      onChange: watch.changed,
    }),
  close: (keys) => keys.close(),
});
