import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { mapBatched } from './batch.ts';
import { openRecordFile, readRecordFile, writeRecordFile } from './record-file.ts';
import type { PartRecord, Upload, UploadStore } from './store.ts';

/** Multipart uploads in `<bucket>/uploads/<upload id>/`: `upload.json`, and a file for each part. */
export function createFolderUploads(dir: string, newTempPath: () => string): UploadStore {
  const uploadPath = (bucket: string, uploadId: string) => join(dir, bucket, 'uploads', uploadId);
  const partPath = (bucket: string, uploadId: string, partNumber: number) =>
    join(uploadPath(bucket, uploadId), `part-${String(partNumber).padStart(5, '0')}`);

  return {
    async createUpload(bucket, start) {
      const upload: Upload = {
        ...start,
        uploadId: randomBytes(16).toString('hex'),
        startedAt: new Date().toISOString(),
      };
      const tempPath = newTempPath();
      await mkdir(tempPath, { mode: 0o700 });
      await writeFile(join(tempPath, UPLOAD_FILE), JSON.stringify(upload), { mode: 0o600 });
      await mkdir(join(dir, bucket, 'uploads'), { recursive: true, mode: 0o700 });
      await rename(tempPath, uploadPath(bucket, upload.uploadId));
      return upload;
    },
    async findUpload(bucket, uploadId) {
      if (!UPLOAD_ID.test(uploadId)) return undefined;
      const text = await orUndefined(readFile(join(uploadPath(bucket, uploadId), UPLOAD_FILE), 'utf8'));
      return text === undefined ? undefined : (JSON.parse(text) as Upload);
    },
    async writePart(bucket, uploadId, { partNumber, body, describe }) {
      const tempPath = newTempPath();
      try {
        const record = await writeRecordFile<PartRecord>(tempPath, body, ({ size, md5 }) => {
          return { partNumber, size, etag: md5, lastModified: new Date().toISOString(), ...describe() };
        });
        const renamed = await orUndefined(rename(tempPath, partPath(bucket, uploadId, partNumber)).then(() => true));
        return renamed ? record : undefined;
      } finally {
        await rm(tempPath, { force: true });
      }
    },
    async listParts(bucket, uploadId) {
      const names = (await orUndefined(readdir(uploadPath(bucket, uploadId)))) ?? [];
      const paths = names.filter((name) => name.startsWith('part-')).sort();
      const parts = await mapBatched(paths, (name) =>
        readRecordFile<PartRecord>(join(uploadPath(bucket, uploadId), name)),
      );
      return parts.filter((part) => part !== undefined);
    },
    openPart: (bucket, uploadId, partNumber) => openRecordFile<PartRecord>(partPath(bucket, uploadId, partNumber)),
    async deleteUpload(bucket, uploadId) {
      // Out of sight first: a crash in the middle of the removal must not leave an upload with some of its parts.
      const tempPath = newTempPath();
      const moved = await orUndefined(rename(uploadPath(bucket, uploadId), tempPath).then(() => true));
      if (moved) await rm(tempPath, { recursive: true, force: true });
    },
  };
}

// --- internal ---

const UPLOAD_FILE = 'upload.json';
const UPLOAD_ID = /^[0-9a-f]{32}$/;

/** Undefined when the file or folder is not there. */
async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
