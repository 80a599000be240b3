import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { BUCKET, KEYS } from '../../dev-s3/src/_setup.ts';
import { startObjectServer } from '../../dev-s3/src/server.ts';
import type { ObjectServer } from '../../dev-s3/src/server.ts';
import { createStorage } from '../../runtime/src/storage/storage.ts';
import type { BoxStorage } from '../../runtime/src/storage/storage.ts';

export interface Objects {
  url(): string;
  /** Of the box, in the bucket that is there. */
  storage(): BoxStorage;
  /** A storage in a bucket that may not be there. */
  openBucket(bucket: string): BoxStorage;
}

/** The embedded object server, for as long as the tests of the block run. */
export function serveObjects(): Objects {
  let dir: string;
  let server: ObjectServer;
  let storage: BoxStorage;
  const openBucket = (bucket: string): BoxStorage => {
    const at = { endpoint: server.url, bucket, region: 'us-east-1', forcePathStyle: true, ...KEYS };
    return createStorage({ ...at, prefix: 'acme/support/' });
  };
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'objects-'));
    server = await startObjectServer({ dir, port: 0, ...KEYS, buckets: [BUCKET] });
    storage = openBucket(BUCKET);
  });
  afterAll(async () => {
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });
  return { url: () => server.url, storage: () => storage, openBucket };
}
