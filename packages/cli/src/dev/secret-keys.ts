import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { Database } from '@svc/runtime/host';
import { checkCanary, ensureInstallation, loadMasterKey, readVariable, rewrapSecrets } from '@svc/runtime/host';

export type MasterKey = Awaited<ReturnType<typeof loadMasterKey>>;

export interface SecretKeys {
  /** SVC_SECRET_KEY, or what is used in its place. */
  master: MasterKey;
  /** SVC_SECRET_KEY_PREVIOUS; undefined: it is not set. */
  previous: MasterKey | undefined;
}

export async function loadSecretKeys(env: NodeJS.ProcessEnv, dir: string): Promise<SecretKeys> {
  const value = readVariable(env, 'SVC_SECRET_KEY');
  const previous = readVariable(env, 'SVC_SECRET_KEY_PREVIOUS');
  return {
    master: await loadMasterKey({ value, file: join(dir, 'secret.key') }),
    previous:
      previous === undefined
        ? undefined
        : await loadMasterKey({ value: previous, file: undefined, variable: 'SVC_SECRET_KEY_PREVIOUS' }),
  };
}

/** Seals what is stored with the key of now, once the database is open, and checks that it fits. Answers the installation id. */
export async function unlockDatabase(database: Database, { master, previous }: SecretKeys): Promise<string> {
  await database.ready;
  const { id } = await ensureInstallation(database.db);
  if (previous) await rewrapSecrets({ db: database.db, key: master, previous, installation: id });
  await checkCanary(database.db, master, id, previous);
  return id;
}

/** It follows from the secret key, so that it stays the same and is in no second file to lose. */
export function deriveSecret(key: MasterKey['key'], purpose: 'objects' | 'database'): string {
  return createHmac('sha256', key).update(purpose).digest('base64url');
}
