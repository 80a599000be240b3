import { join } from 'node:path';
import { startObjectServer } from '@svc/dev-s3';
import type { StorageSettings } from '@svc/runtime/host';
import { createStorage, toBucketName } from '@svc/runtime/host';
import { readKeyPrefix, readStorage } from './environment.ts';
import { deriveSecret } from './secret-keys.ts';
import type { MasterKey } from './secret-keys.ts';

export interface Objects {
  settings: StorageSettings & { bucket: string };
  storage: ReturnType<typeof createStorage>;
  /** Whether the store is served from `.svc/objects`; else the environment names one. */
  isEmbedded: boolean;
  /** Opens the port of an embedded store. Answers how to close it. */
  startServer(): Promise<() => Promise<void>>;
}

export interface ObjectsOptions {
  /** `.svc` of the workspace. */
  dir: string;
  env: NodeJS.ProcessEnv;
  port: number;
  slug: string;
  key: MasterKey['key'];
}

/** The S3 backend the environment names, or the embedded one. */
export function openObjects({ dir, env, port, slug, key }: ObjectsOptions): Objects {
  const own = readStorage(env);
  const embedded = {
    endpoint: `http://127.0.0.1:${port}`,
    accessKey: 'svc-dev',
    secretKey: deriveSecret(key, 'objects'),
    region: 'us-east-1',
    forcePathStyle: true,
  };
  const settings = { ...(own ?? embedded), bucket: own?.bucket ?? toBucketName(slug) };
  return {
    settings,
    storage: createStorage({ ...settings, prefix: `${readKeyPrefix(env, slug).replace(':', '/')}/` }),
    isEmbedded: own === undefined,
    async startServer() {
      const { accessKey, secretKey, region, bucket } = settings;
      const store = { dir: join(dir, 'objects'), port, buckets: [bucket] };
      const server = await startObjectServer({ ...store, accessKey, secretKey, region });
      return () => server.close();
    },
  };
}

// --- internal ---
