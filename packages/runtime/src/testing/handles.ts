import type { ConfigValueOf, KnownConfigKey } from '../register.ts';
import type { svc } from '../svc.ts';
import type { Life } from './life.ts';

/** What `svc.database` is in the code of the workspace. */
export type TestDatabase = (typeof svc)['database'];

/** The dynamic configuration of a test box. */
export interface TestConfig {
  /** What is in force: what was set, or the default. */
  get<K extends KnownConfigKey>(key: K): Promise<ConfigValueOf<K>>;
  /** Sets a key, for code that reads it from then on. Throws what its schema refuses. */
  set<K extends KnownConfigKey>(key: K, value: ConfigValueOf<K>): Promise<void>;
}

/** The secrets of a test box. */
export interface TestSecrets {
  /** Keeps a secret, in place of the one of that name. */
  set(name: string, value: string): Promise<void>;
}

export function createTestConfig(life: () => Life): TestConfig {
  return {
    async get(key) {
      const { value } = await life().call<{ value: unknown }>(`GET /api/config/${encodeURIComponent(key)}`);
      return value as never;
    },
    set: async (key, value) => void (await life().call(`PUT /api/config/${encodeURIComponent(key)}`, { value })),
  };
}

export function createTestSecrets(life: () => Life): TestSecrets {
  return {
    async set(name, value) {
      const path = `/api/secrets/${encodeURIComponent(name)}`;
      try {
        await life().call(`PUT ${path}`, { value });
      } catch (error) {
        if ((error as { code?: string }).code !== 'secret_exists') throw error;
        await life().call(`POST ${path}/rotate`, { value });
      }
    },
  };
}
