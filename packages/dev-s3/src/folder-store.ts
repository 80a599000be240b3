import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { mapBatched } from './batch.ts';
import { createFolderUploads } from './folder-uploads.ts';
import { compareKeys, fromFileName, toFileName } from './key-name.ts';
import { openRecordFile, readRecordFile, writeRecordFile } from './record-file.ts';
import type { Bucket, Guard, ObjectRecord, ObjectStore, OpenObject, UploadStore } from './store.ts';

/**
 * Objects in a folder: `<bucket>/objects/<name>` holds data and record, `<bucket>/uploads/` the parts of multipart
 * uploads, `.tmp/` what is being written. One process at a time: opening clears what a killed one left in `.tmp/`.
 */
export async function openFolderStore(dir: string): Promise<{ objects: ObjectStore; uploads: UploadStore }> {
  const tempDir = join(dir, '.tmp');
  await rm(tempDir, { recursive: true, force: true });
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const newTempPath = () => join(tempDir, randomUUID());
  return { objects: createFolderObjects(dir, newTempPath), uploads: createFolderUploads(dir, newTempPath) };
}

// --- internal ---

function createFolderObjects(dir: string, newTempPath: () => string): ObjectStore {
  const lock = createLock();
  const bucketPath = (bucket: string) => join(dir, bucket, 'objects');
  const objectPath = (bucket: string, key: string) => join(bucketPath(bucket), toFileName(key));

  return {
    listBuckets: () => listBuckets(dir),
    hasBucket: (bucket) => isFolder(bucketPath(bucket)),
    createBucket: async (bucket) => {
      const created = await mkdir(bucketPath(bucket), { recursive: true, mode: 0o700 });
      return created !== undefined;
    },
    listKeys: (bucket, prefix) => listKeys(bucketPath(bucket), prefix),
    findObject: (bucket, key) => readRecordFile<ObjectRecord>(objectPath(bucket, key)),
    openObject: (bucket, key): Promise<OpenObject | undefined> => openRecordFile<ObjectRecord>(objectPath(bucket, key)),
    async writeObject(bucket, key, { body, describe, guard }) {
      const tempPath = newTempPath();
      try {
        const record = await writeRecordFile<ObjectRecord>(tempPath, body, ({ size, md5 }) => {
          const { etag, ...attributes } = describe();
          return { key, size, etag: etag ?? md5, lastModified: new Date().toISOString(), ...attributes };
        });
        const path = objectPath(bucket, key);
        // A crash before the rename leaves a temp file that the next start clears; after it, the whole object.
        await lock(path, async () => {
          await guardRecord(path, guard);
          await rename(tempPath, path);
        });
        return record;
      } catch (error) {
        await rm(tempPath, { force: true });
        throw error;
      }
    },
    deleteObject(bucket, key, guard) {
      const path = objectPath(bucket, key);
      return lock(path, async () => {
        await guardRecord(path, guard);
        await rm(path, { force: true });
      });
    },
  };
}

async function listBuckets(dir: string): Promise<Bucket[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const buckets = await mapBatched(names.sort(), async (name): Promise<Bucket | undefined> => {
    if (!(await isFolder(join(dir, name, 'objects')))) return undefined;
    const { birthtime, mtime } = await stat(join(dir, name));
    return { name, createdAt: (birthtime.getTime() > 0 ? birthtime : mtime).toISOString() };
  });
  return buckets.filter((bucket) => bucket !== undefined);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function listKeys(path: string, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for (const name of await readdir(path)) {
    const found = fromFileName(name);
    const key = found === 'unreadable' ? (await readRecordFile<ObjectRecord>(join(path, name)))?.key : found?.key;
    if (key?.startsWith(prefix)) keys.push(key);
  }
  return keys.sort(compareKeys);
}

async function guardRecord(path: string, guard: Guard | undefined): Promise<void> {
  if (guard) guard(await readRecordFile<ObjectRecord>(path));
}

/** Runs the work of one name one after the other. */
function createLock(): (name: string, work: () => Promise<void>) => Promise<void> {
  const tails = new Map<string, Promise<void>>();
  return async (name, work) => {
    const before = tails.get(name) ?? Promise.resolve();
    const mine = before.then(work);
    const tail = mine.catch(() => {});
    tails.set(name, tail);
    try {
      await mine;
    } finally {
      if (tails.get(name) === tail) tails.delete(name);
    }
  };
}
