import type { Checksum } from './checksum.ts';

export interface Bucket {
  name: string;
  createdAt: string;
}

/** What the client says about an object. */
export interface ObjectAttributes {
  /** `content-type`, `cache-control` and the like, given back on every read. */
  headers: Record<string, string>;
  /** `x-amz-meta-` names without that prefix. */
  metadata: Record<string, string>;
  checksum?: Checksum | undefined;
}

export interface ObjectRecord extends ObjectAttributes {
  key: string;
  size: number;
  /** Without quotes: the MD5 in hex, or the MD5 of the parts' MD5s and `-<parts>`. */
  etag: string;
  /** ISO 8601. */
  lastModified: string;
}

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An object as it was when opened: a write or a delete in between changes nothing. Close it in every case. */
export interface OpenObject<Record = ObjectRecord> {
  record: Record;
  read(range?: ByteRange): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export interface ObjectWrite {
  body: AsyncIterable<Uint8Array>;
  /** Asked once, when the whole body was read without an error. An `etag` here replaces the MD5 of the bytes. */
  describe(): ObjectAttributes & { etag?: string | undefined };
  guard?: Guard | undefined;
}

/** Sees the object that is about to be replaced or deleted, with no other writer in between. Throws to keep it. */
export type Guard = (current: ObjectRecord | undefined) => void;

/**
 * Buckets and whole objects. Bucket names are valid names and keys are not empty; the caller has checked both. An
 * object appears, changes and goes as a whole; of concurrent writers the last to finish wins.
 */
export interface ObjectStore {
  listBuckets(): Promise<Bucket[]>;
  /** False when the bucket was there before. */
  createBucket(bucket: string): Promise<boolean>;
  hasBucket(bucket: string): Promise<boolean>;
  /** The keys that begin with `prefix`, in the order of their UTF-8 bytes. */
  listKeys(bucket: string, prefix: string): Promise<string[]>;
  findObject(bucket: string, key: string): Promise<ObjectRecord | undefined>;
  openObject(bucket: string, key: string): Promise<OpenObject | undefined>;
  /** Keeps nothing when the body or the guard throws. */
  writeObject(bucket: string, key: string, write: ObjectWrite): Promise<ObjectRecord>;
  /** Deleting what is not there is fine. */
  deleteObject(bucket: string, key: string, guard?: Guard): Promise<void>;
}

/** A multipart upload that is under way. */
export interface Upload extends ObjectAttributes {
  uploadId: string;
  key: string;
  startedAt: string;
}

export interface PartRecord {
  partNumber: number;
  size: number;
  etag: string;
  lastModified: string;
  checksum?: Checksum | undefined;
}

export interface PartWrite {
  partNumber: number;
  body: AsyncIterable<Uint8Array>;
  describe(): { checksum?: Checksum | undefined };
}

/** The parts of objects that are still being put together. */
export interface UploadStore {
  createUpload(bucket: string, upload: ObjectAttributes & { key: string }): Promise<Upload>;
  findUpload(bucket: string, uploadId: string): Promise<Upload | undefined>;
  /** Undefined when the upload ended in the meantime; a part of the same number is replaced as a whole. */
  writePart(bucket: string, uploadId: string, part: PartWrite): Promise<PartRecord | undefined>;
  /** By part number. */
  listParts(bucket: string, uploadId: string): Promise<PartRecord[]>;
  openPart(bucket: string, uploadId: string, partNumber: number): Promise<OpenObject<PartRecord> | undefined>;
  deleteUpload(bucket: string, uploadId: string): Promise<void>;
}
