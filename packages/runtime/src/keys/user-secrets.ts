import { randomBytes } from 'node:crypto';
import { createLru } from '../lru.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { SecretStore } from '../secrets/store.ts';
import { ensureInstallation } from '../stores/installation.ts';
import type { Drizzle } from '../stores/drizzle.ts';

/** What keys sign tokens of their users with, sealed among the secrets of the box. */
export interface UserSecrets {
  /** Answers what makes one in the transaction that makes its key: 32 bytes in base64. */
  open(): Promise<(tx: Drizzle, keyId: string) => Promise<string>>;
  /** Of a key there is. Undefined: it has none. */
  read(keyId: string): Promise<Uint8Array | undefined>;
}

export function createUserSecrets({ db, key }: { db: Drizzle; key: MasterKey }): UserSecrets {
  // A key has one from its beginning, or never.
  const known = createLru<Promise<Uint8Array | undefined>>(MAX_KNOWN);
  let opened: Promise<SecretStore> | undefined;

  const open = (): Promise<SecretStore> =>
    (opened ??= ensureInstallation(db).then(
      ({ id: installation }) => createSecretStore({ db, key, installation, owner: OWNER }),
      (error: unknown) => {
        opened = undefined;
        throw error;
      },
    ));
  const readNow = async (keyId: string): Promise<Uint8Array | undefined> => {
    const text = await (await open()).get(keyId);
    return text === undefined ? undefined : Buffer.from(text, 'base64');
  };

  return {
    async open() {
      const store = await open();
      return async (tx, keyId) => {
        const value = randomBytes(32).toString('base64');
        await store.within(tx).set(keyId, value);
        return value;
      };
    },
    read(keyId) {
      const found = known.get(keyId);
      if (found) return found;
      const reading = readNow(keyId);
      known.set(keyId, reading);
      reading.catch(() => known.delete(keyId));
      return reading;
    },
  };
}

// --- internal ---

const OWNER = 'keys';
const MAX_KNOWN = 10_000;
