import { deleteMany } from './delete-many.ts';
import { list } from './listing.ts';
import {
  checkKey,
  checkOther,
  invalid,
  objectExists,
  objectNotFound,
  toHeaders,
  toRangeHeader,
  toStat,
  unquote,
} from './objects.ts';
import type { ByteRange, ListedObjects, ListOptions, ObjectStat } from './objects.ts';
import { copyObject, PART_BYTES, putParts, toParts } from './parts.ts';
import type { Part } from './parts.ts';
import { isRefusal, openBucket } from './s3.ts';
import type { PresignRequest, S3Bucket, S3Settings } from './s3.ts';

export type { ByteRange, ListedObjects, ListOptions, ObjectStat, StoredObject } from './objects.ts';

/** What can be kept. A stream is read piece by piece, and gives bytes or texts. */
export type ObjectBody = string | Uint8Array | ArrayBuffer | Blob | ReadableStream | AsyncIterable<Uint8Array | string>;

export interface PutOptions {
  /** Wins over that of a Blob. */
  contentType?: string;
  /** Up to 2 KB of ASCII, answered by `stat`. */
  metadata?: Readonly<Record<string, string>>;
  /** False: what is there is not replaced, and `object_exists` is thrown. Default: true. */
  overwrite?: boolean;
}

export interface GetOptions {
  /** Only these bytes. Throws `invalid_request` where the object has none of them. */
  range?: ByteRange;
}

/** An object whose bytes come piece by piece. */
export interface StreamedObject extends ObjectStat {
  /** Of the range, where one was asked for; `size` is that of the whole object. */
  body: ReadableStream<Uint8Array>;
}

export interface UrlOptions {
  /** Seconds, up to a week. Default: 15 minutes. */
  expiresIn?: number;
  /** `PUT`: an address to write the object at. Default: `GET`. */
  method?: 'GET' | 'PUT';
  /** Of a `PUT`: whoever writes must send this `content-type`, or is refused. */
  contentType?: string;
  /** Of a `PUT`: whoever writes must send so many bytes, or is refused. */
  size?: number;
  /** Of a `PUT`: must be sent as `x-amz-meta-<name>`. */
  metadata?: Readonly<Record<string, string>>;
  /** Of a `PUT`: false has the backend refuse what is there already. `if-none-match: *` must be sent. Default: true. */
  overwrite?: boolean;
  /** Of a `GET`: browsers save the object under this name, and do not show it. */
  download?: string;
}

/** The objects of this box: keys are its own, whatever else is in the bucket. */
export interface Storage {
  /**
   * Keeps it under the key, in place of what is there. A text is sent as UTF-8. A stream, or what is larger than 64 MiB, is
   * sent in parts of 8 MiB, three of which lie in memory; the object appears as a whole, or not at all.
   */
  put(key: string, body: ObjectBody, options?: PutOptions): Promise<{ key: string; size: number; etag: string }>;
  /** The whole object in memory, up to 256 MiB, with its content type as `type`. Throws `object_not_found`. */
  get(key: string, options?: GetOptions): Promise<Blob>;
  /** The object piece by piece, however large it is. Read `body` to its end, or cancel it. Throws `object_not_found`. */
  stream(key: string, options?: GetOptions): Promise<StreamedObject>;
  /** Size, type, etag and metadata. Throws `object_not_found`. */
  stat(key: string): Promise<ObjectStat>;
  list(options?: ListOptions): Promise<ListedObjects>;
  /** Deletes one object, or up to 1,000. What is not there is fine. */
  delete(key: string | readonly string[]): Promise<void>;
  /**
   * Deletes what begins with the prefix: all, or as many as `limit` says. `isMore`: some may be left. A delete that is cut off
   * is asked for again.
   */
  deletePrefix(prefix: string, options?: { limit?: number }): Promise<{ deleted: number; isMore: boolean }>;
  /** Copies the object within the storage, of any size. Refuses an existing target with `object_exists`, unless `overwrite` is set. */
  copy(from: string, to: string, options?: { overwrite?: boolean }): Promise<{ key: string; etag: string }>;
  /**
   * Copies, then deletes under the old key. Refuses an existing target with `object_exists`, unless `overwrite` is set. One that
   * was cut off in between leaves both, and goes on where it is asked for again.
   */
  move(from: string, to: string, options?: { overwrite?: boolean }): Promise<{ key: string; etag: string }>;
  /** An address that whoever has it may read the object at, or write it. */
  url(key: string, options?: UrlOptions): Promise<string>;
}

/** Where objects are. */
export interface StoragePlace {
  bucket: string;
  /** What comes before every key of this box. */
  prefix: string;
  endpoint: string;
  region: string;
  forcePathStyle: boolean;
}

export interface BoxStorage extends Storage {
  /** Throws when the bucket cannot be read. */
  check(): Promise<void>;
  place(): Promise<StoragePlace>;
}

/** @param settings `prefix` stands before every key, and none leads out of it */
export function createStorage({ prefix, ...settings }: S3Settings & { prefix: string }): BoxStorage {
  const bucket = openBucket(settings);
  const toKey = (key: string): string => prefix + checkKey(key);
  const check = async (): Promise<void> => void (await list(bucket, prefix, { limit: 1 }));
  const find = (key: string): Promise<Seen | undefined> => look(bucket, { key, own: toKey(key), check });
  const getSeen = async (key: string): Promise<Seen> => {
    const seen = await find(key);
    if (!seen) throw objectNotFound(key);
    return seen;
  };
  const read = async (key: string, { range }: GetOptions = {}, streams?: true): Promise<Response> => {
    const headers: Record<string, string> = range ? { range: toRangeHeader(range) } : {};
    try {
      const answer = await bucket.send({ method: 'GET', key: toKey(key), headers, ...(streams && { streams }) });
      if (answer.status === 404) throw objectNotFound(key);
      return answer;
    } catch (error) {
      if (!isRefusal(error, 416)) throw error;
      throw invalid(`The object "${key}" has no bytes in the range from ${range?.start}.`);
    }
  };
  const copySeen = async (seen: Seen, to: string, overwrite: boolean): Promise<string> => {
    if (!overwrite && (await find(to))) throw objectExists(to);
    const source = { size: seen.stat.size, etag: seen.stat.etag, headers: seen.headers };
    const conditions = toConditions(overwrite);
    const copying = copyObject(bucket, { from: toKey(seen.stat.key), to: toKey(to), source, conditions });
    return copying.catch(async (error: unknown) => {
      if (isRefusal(error, 409, 412) && !overwrite && (await find(to))) throw objectExists(to);
      throw error;
    });
  };
  const storage: BoxStorage = {
    async put(key, body, options = {}) {
      const own = toKey(key);
      const { overwrite = true, contentType = typeOf(body), metadata } = options;
      const write = { key: own, headers: toHeaders({ contentType, metadata }), conditions: toConditions(overwrite) };
      try {
        const { size, etag } = await putBody(bucket, write, body);
        return { key, size, etag };
      } catch (error) {
        if (!overwrite && isRefusal(error, 409, 412)) throw objectExists(key);
        throw error;
      }
    },
    get: async (key, options) => (await read(key, options)).blob(),
    async stream(key, options) {
      const answer = await read(key, options, true);
      return { ...toStat(key, answer.headers), body: answer.body ?? new Blob([]).stream() };
    },
    stat: async (key) => (await getSeen(key)).stat,
    list: (options = {}) => list(bucket, prefix, options),
    async delete(keys) {
      const own = typeof keys === 'string' ? [toKey(keys)] : [...new Set(keys)].map(toKey);
      if (own.length > MOST_KEYS) throw invalid(`Up to ${MOST_KEYS} objects are deleted at a time.`);
      if (own.length > 0) await deleteMany(bucket, own);
    },
    deletePrefix: (below, options) => deleteBelow(storage, below, options),
    async copy(from, to, { overwrite = false } = {}) {
      checkOther(from, to);
      return { key: to, etag: await copySeen(await getSeen(from), to, overwrite) };
    },
    async move(from, to, { overwrite = false } = {}) {
      checkOther(from, to);
      const seen = await getSeen(from);
      const target = overwrite ? undefined : await find(to);
      // A copy of the same bytes under the new key is what a move leaves that was cut off before its delete.
      if (target && !isSame(seen.stat, target.stat)) throw objectExists(to);
      const etag = target ? target.stat.etag : await copySeen(seen, to, overwrite);
      // What was put there after the copy stays.
      await bucket.sendIf({ method: 'DELETE', key: toKey(from) }, { 'if-match': `"${seen.stat.etag}"` });
      return { key: to, etag };
    },
    url: async (key, options = {}) => bucket.presign({ key: toKey(key), ...toPresigned(options) }),
    check,
    place: async () => {
      const { bucket: name, endpoint, region, forcePathStyle } = settings;
      return { bucket: name, prefix, endpoint, region, forcePathStyle };
    },
  };
  return storage;
}

/** Deletes page by page what a list of the storage answers. */
export async function deleteBelow(
  storage: Pick<Storage, 'list' | 'delete'>,
  prefix: string,
  { limit = Infinity }: { limit?: number } = {},
): Promise<{ deleted: number; isMore: boolean }> {
  if (prefix === '') throw invalid('Give the prefix of what is to be deleted: an empty one means every object.');
  if (!(limit >= 1)) throw invalid(`"limit" is ${limit}; it must be at least 1.`);
  let deleted = 0;
  for (let cursor: string | undefined; ;) {
    const most = Math.min(MOST_KEYS, limit - deleted);
    const page = await storage.list({ prefix, limit: most, ...(cursor === undefined ? {} : { cursor }) });
    await storage.delete(page.items.map(({ key }) => key));
    deleted += page.items.length;
    if (page.nextCursor === null || deleted >= limit) return { deleted, isMore: page.nextCursor !== null };
    cursor = page.nextCursor;
  }
}

// --- internal ---

const MOST_KEYS = 1_000;
const URL_SECONDS = 900;
const WEEK_SECONDS = 7 * 24 * 3_600;
/** What lies in memory as a whole is sent as a whole up to here. */
const WHOLE_BYTES = 64 * 1_048_576;
const MOST_BYTES = 5 * 1_024 ** 3;
const DISPOSITION = 'response-content-disposition';

interface Seen {
  stat: ObjectStat;
  headers: Headers;
}

interface Looked {
  key: string;
  own: string;
  check(): Promise<void>;
}

/** An answer to HEAD has no body that says what is wrong: a list has. */
async function look(bucket: S3Bucket, { key, own, check }: Looked): Promise<Seen | undefined> {
  try {
    const { ok, headers } = await bucket.send({ method: 'HEAD', key: own });
    if (ok) return { stat: toStat(key, headers), headers };
  } catch (error) {
    if (isRefusal(error, 301, 400, 403)) await check();
    throw error;
  }
  await check();
  return undefined;
}

interface Write {
  key: string;
  headers: Record<string, string>;
  conditions: Record<string, string>;
}

async function putBody(bucket: S3Bucket, write: Write, body: ObjectBody): Promise<{ size: number; etag: string }> {
  const whole = await toWhole(body);
  if (whole) return putWhole(bucket, write, whole);
  const parts = toParts(toChunks(body));
  const first = await parts.next();
  const second = first.done ? first : await parts.next();
  if (first.done || second.done) return putWhole(bucket, write, first.value?.bytes ?? new Uint8Array());
  const all = withFirst([first.value, second.value], parts);
  try {
    return await putParts(bucket, write, all);
  } finally {
    await parts.return();
  }
}

async function putWhole(bucket: S3Bucket, { key, headers, conditions }: Write, body: Uint8Array) {
  const waitMs = body.byteLength > PART_BYTES ? 600_000 : 60_000;
  const answer = await bucket.sendIf({ method: 'PUT', key, headers, body, waitMs }, conditions);
  if (answer.status === 404) throw objectNotFound(key);
  return { size: body.byteLength, etag: unquote(answer.headers.get('etag') ?? '') };
}

/** Undefined: it comes piece by piece. */
async function toWhole(body: ObjectBody): Promise<Uint8Array | undefined> {
  if (typeof body === 'string') return toWhole(Buffer.from(body, 'utf8'));
  if (body instanceof Blob) return body.size > WHOLE_BYTES ? undefined : new Uint8Array(await body.arrayBuffer());
  if (body instanceof ArrayBuffer) return toWhole(new Uint8Array(body));
  return body instanceof Uint8Array && body.byteLength <= WHOLE_BYTES ? body : undefined;
}

function toChunks(body: ObjectBody): AsyncIterable<unknown> {
  if (body instanceof Blob) return body.stream();
  if (typeof body === 'string' || body instanceof ArrayBuffer || body instanceof Uint8Array) return toSlices(body);
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body) return body;
  throw invalid('What is put is a text, bytes, a Blob or a stream of bytes.');
}

async function* toSlices(body: string | ArrayBuffer | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof body === 'string' ? Buffer.from(body, 'utf8') : body instanceof Uint8Array ? body : new Uint8Array(body);
}

async function* withFirst(first: Part[], parts: AsyncGenerator<Part>): AsyncGenerator<Part, void, undefined> {
  // Released one by one: each is as large as a part.
  for (let part = first.shift(); part; part = first.shift()) yield part;
  yield* parts;
}

function typeOf(body: unknown): string {
  if (typeof body === 'string') return 'text/plain; charset=utf-8';
  return (body instanceof Blob && body.type) || 'application/octet-stream';
}

function toConditions(overwrite: boolean): Record<string, string> {
  return overwrite ? {} : { 'if-none-match': '*' };
}

function isSame(one: ObjectStat, other: ObjectStat): boolean {
  const toText = ({ size, etag, contentType, metadata }: ObjectStat) =>
    JSON.stringify([size, etag, contentType, Object.entries(metadata).sort()]);
  return toText(one) === toText(other);
}

/** What an address is signed for. */
export function toPresigned(options: UrlOptions): Omit<PresignRequest, 'key'> & { headers: Record<string, string> } {
  const { expiresIn = URL_SECONDS, method = 'GET', download, size, overwrite = true, ...attributes } = options;
  const isGood = Number.isInteger(expiresIn) && expiresIn >= 1 && expiresIn <= WEEK_SECONDS;
  if (!isGood) throw invalid(`"expiresIn" is ${expiresIn}; it must be 1 to ${WEEK_SECONDS} whole seconds.`);
  if (method === 'GET') {
    const saved: Record<string, string> = download === undefined ? {} : { [DISPOSITION]: toDisposition(download) };
    return { method, expiresIn, query: saved, headers: {} };
  }
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0 && size <= MOST_BYTES))
    throw invalid(`"size" is ${size}; one request writes up to ${MOST_BYTES} bytes.`);
  const length: Record<string, string> = size === undefined ? {} : { 'content-length': String(size) };
  return {
    method,
    expiresIn,
    headers: { ...toHeaders(attributes), ...length, ...toConditions(overwrite) },
  };
}

function toDisposition(name: string): string {
  const plain = name.replace(/[^\u0020-\u007E]|["\\%]/g, '_');
  const whole = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}
