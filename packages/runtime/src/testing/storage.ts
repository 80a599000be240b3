import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BoxStorage } from '../storage/storage.ts';

/** The objects of a test box: the embedded server on a folder and a port of its own, started when something is kept. */
export interface LazyStorage {
  storage: BoxStorage;
  close(): Promise<void>;
}

export function createLazyStorage(): LazyStorage {
  let opened: ReturnType<typeof open> | undefined;
  const storage = async (): Promise<BoxStorage> => (await (opened ??= open())).storage;
  return {
    storage: {
      put: async (...args) => (await storage()).put(...args),
      get: async (...args) => (await storage()).get(...args),
      stream: async (...args) => (await storage()).stream(...args),
      stat: async (...args) => (await storage()).stat(...args),
      // Nothing is there until something is kept.
      list: async (...args) => (opened ? (await storage()).list(...args) : NOTHING),
      delete: async (...args) => (await storage()).delete(...args),
      deletePrefix: async (...args) => (await storage()).deletePrefix(...args),
      copy: async (...args) => (await storage()).copy(...args),
      move: async (...args) => (await storage()).move(...args),
      url: async (...args) => (await storage()).url(...args),
      check: async () => (await storage()).check(),
      place: async () => (await storage()).place(),
    },
    async close() {
      if (!opened) return;
      const { server, dir } = await opened;
      await server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

// --- internal ---

const KEYS = { accessKey: 'test', secretKey: 'test', region: 'us-east-1' };
const BUCKET = 'test-box';
const NOTHING = { items: [], folders: [], nextCursor: null };

async function open() {
  const [{ startObjectServer }, { createStorage }] = await Promise.all([
    import('@svc/dev-s3'),
    import('../storage/storage.ts'),
  ]);
  const dir = await mkdtemp(join(tmpdir(), 'svc-test-objects-'));
  const server = await startObjectServer({ dir, port: 0, ...KEYS, buckets: [BUCKET] });
  const at = { endpoint: server.url, bucket: BUCKET, forcePathStyle: true };
  return { dir, server, storage: createStorage({ ...KEYS, ...at, prefix: '' }) };
}
