import { BoxError } from '../errors.ts';
import { openBucket, readXml } from './s3.ts';
import type { S3Bucket, S3Settings } from './s3.ts';
import { childText, listChildren } from './xml.ts';
import type { XmlElement } from './xml.ts';

/** An object, without what is in it. */
export interface StoredObject {
  key: string;
  /** In bytes. */
  size: number;
  etag: string;
  /** ISO 8601. */
  lastModified: string;
}

export interface ListedObjects {
  /** In the order of their keys. */
  items: StoredObject[];
  /** Null: there are no more. */
  nextCursor: string | null;
}

/** The objects of this box: keys are its own, whatever else is in the bucket. */
export interface Storage {
  /** Replaces what is there. A text is sent as UTF-8; `contentType` wins over that of a Blob. */
  put(
    key: string,
    body: string | Uint8Array | ArrayBuffer | Blob,
    options?: { contentType?: string },
  ): Promise<{ key: string; size: number; etag: string }>;
  /** The whole object, with its content type as `type`. Throws `object_not_found`. */
  get(key: string): Promise<Blob>;
  list(options?: { prefix?: string; limit?: number; cursor?: string }): Promise<ListedObjects>;
  /** Deleting what is not there is fine. */
  delete(key: string): Promise<void>;
  /** An address that whoever has it may read (`PUT`: write) the object at. Default: for 15 minutes. */
  url(key: string, options?: { expiresIn?: number; method?: 'GET' | 'PUT' }): Promise<string>;
}

export interface BoxStorage extends Storage {
  /** Throws when the bucket cannot be read. */
  check(): Promise<void>;
}

/** @param settings `prefix` stands before every key, and none leads out of it */
export function createStorage({ prefix, ...settings }: S3Settings & { prefix: string }): BoxStorage {
  const bucket = openBucket(settings);
  const toKey = (key: string): string => prefix + checkKey(key);
  return {
    async put(key, body, { contentType } = {}) {
      const own = toKey(key);
      const bytes = await toBytes(body);
      const type = contentType ?? typeOf(body);
      const answer = await bucket.send({ method: 'PUT', key: own, body: bytes, headers: { 'content-type': type } });
      if (answer.status === 404) throw notFound(key);
      return { key, size: bytes.byteLength, etag: unquote(answer.headers.get('etag') ?? '') };
    },
    async get(key) {
      const answer = await bucket.send({ method: 'GET', key: toKey(key) });
      if (answer.status === 404) throw notFound(key);
      return answer.blob();
    },
    async list({ prefix: below = '', limit = PAGE, cursor } = {}) {
      const document = await list(bucket, { prefix: prefix + below, limit, cursor });
      const items = listChildren(document, 'Contents').map(toObject);
      return {
        items: items.map((item) => ({ ...item, key: item.key.slice(prefix.length) })),
        nextCursor: childText(document, 'NextContinuationToken') || null,
      };
    },
    async delete(key) {
      await bucket.send({ method: 'DELETE', key: toKey(key) });
    },
    async url(key, { expiresIn = URL_SECONDS, method = 'GET' } = {}) {
      const isGood = Number.isInteger(expiresIn) && expiresIn >= 1 && expiresIn <= WEEK_SECONDS;
      if (!isGood) throw invalid(`"expiresIn" is ${expiresIn}; it must be 1 to ${WEEK_SECONDS} whole seconds.`);
      return bucket.presign({ method, key: toKey(key), expiresIn });
    },
    check: async () => void (await list(bucket, { prefix, limit: 1 })),
  };
}

// --- internal ---

const PAGE = 1_000;
const URL_SECONDS = 900;
const WEEK_SECONDS = 7 * 24 * 3_600;
/** A backend takes 1024, of which the prefix needs some. */
const KEY_BYTES = 700;

/** What a client on the way would change, such as "..", must not be in a key. */
function checkKey(key: string): string {
  const isWhole = Buffer.from(key, 'utf8').toString('utf8') === key;
  if (key === '' || !isWhole || Buffer.byteLength(key) > KEY_BYTES)
    throw invalid(`The key of an object is 1 to ${KEY_BYTES} bytes of text.`);
  if (key.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw invalid(`The key "${key}" has a part that is empty, "." or "..". Take it out.`);
  return key;
}

async function toBytes(body: string | Uint8Array | ArrayBuffer | Blob): Promise<Uint8Array> {
  if (typeof body === 'string') return Buffer.from(body, 'utf8');
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(body instanceof Blob ? await body.arrayBuffer() : body);
}

function typeOf(body: unknown): string {
  if (typeof body === 'string') return 'text/plain; charset=utf-8';
  return (body instanceof Blob && body.type) || 'application/octet-stream';
}

interface Page {
  prefix: string;
  limit: number;
  cursor?: string | undefined;
}

async function list(bucket: S3Bucket, { prefix, limit, cursor }: Page): Promise<XmlElement> {
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE)
    throw invalid(`"limit" is ${limit}; it must be a whole number from 1 to ${PAGE}.`);
  const page: Record<string, string> = cursor === undefined ? {} : { 'continuation-token': cursor };
  // Names come escaped: XML has no way to write some of the characters a key may hold.
  const query = { 'list-type': '2', 'encoding-type': 'url', 'max-keys': String(limit), prefix, ...page };
  return readXml(await bucket.send({ method: 'GET', query }));
}

function toObject(entry: XmlElement): StoredObject {
  const text = (name: string): string => childText(entry, name) ?? '';
  return {
    key: decodeURIComponent(text('Key').replaceAll('+', ' ')),
    size: Number(text('Size')),
    etag: unquote(text('ETag')),
    lastModified: text('LastModified'),
  };
}

function unquote(etag: string): string {
  return etag.replaceAll('"', '');
}

function invalid(message: string): BoxError {
  return new BoxError('invalid_request', message);
}

function notFound(key: string): BoxError {
  return new BoxError('object_not_found', `There is no object "${key}".`);
}
