import { BoxError } from '../errors.ts';

/** An object, without what is in it. */
export interface StoredObject {
  key: string;
  /** In bytes. */
  size: number;
  etag: string;
  /** ISO 8601. */
  lastModified: string;
}

/** What is known of one object. */
export interface ObjectStat extends StoredObject {
  contentType: string;
  /** What it was put with, under names in lower case. */
  metadata: Record<string, string>;
}

/** A part of an object: from its first byte, which is 0, to its last, which is in it. */
export interface ByteRange {
  start: number;
  /** Default: the last byte there is. */
  end?: number;
}

export interface ListOptions {
  /** What the keys begin with. */
  prefix?: string;
  /** Keys that have it behind the prefix are answered as one of `folders`: `/` lists what lies directly in a folder. */
  delimiter?: string;
  /** Up to 1,000, which is the default; a folder counts as one. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
  /** Only keys behind this one, in the order of their bytes. */
  startAfter?: string;
}

export interface ListedObjects {
  /** In the order of their keys. */
  items: StoredObject[];
  /** With a `delimiter`: what keys begin with, up to and with the first delimiter behind the prefix. */
  folders: string[];
  /** Null: there are no more. */
  nextCursor: string | null;
}

/** What a client on the way would change, such as "..", must not be in a key. */
export function checkKey(key: string): string {
  if (typeof key !== 'string' || key === '' || !isStorable(key))
    throw invalid(`The key of an object is 1 to ${KEY_BYTES} bytes of text.`);
  if (key.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw invalid(`The key "${key}" has a part that is empty, "." or "..". Take it out.`);
  return key;
}

/** Of an object that is given another key. */
export function checkOther(from: string, to: string): void {
  if (checkKey(from) === checkKey(to)) throw invalid(`"${from}" is both the old key and the new one.`);
}

/** The beginning of keys, which may end anywhere in one. */
export function checkPrefix(prefix: string, name = 'prefix'): string {
  if (typeof prefix === 'string' && isStorable(prefix)) return prefix;
  throw invalid(`"${name}" is up to ${KEY_BYTES} bytes of text.`);
}

export interface Attributes {
  contentType?: string | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** The headers that an object is written with. Throws `invalid_request` for what none may carry. */
export function toHeaders({ contentType, metadata = {} }: Attributes): Record<string, string> {
  const headers: Record<string, string> = {};
  if (contentType !== undefined) headers['content-type'] = checkHeader('contentType', contentType, TYPE_BYTES);
  let bytes = 0;
  for (const [name, value] of Object.entries(metadata)) {
    if (!/^[a-z0-9][a-z0-9_.-]{0,127}$/i.test(name))
      throw invalid(`"${name}" cannot name metadata. Use letters, digits, "-", "_" and ".".`);
    bytes += name.length + value.length;
    headers[`${METADATA}${name.toLowerCase()}`] = checkHeader(`metadata.${name}`, value, METADATA_BYTES);
  }
  if (bytes > METADATA_BYTES) throw invalid(`The metadata of an object is up to ${METADATA_BYTES} bytes.`);
  return headers;
}

/** What the answer to a read says of the object. */
export function toStat(key: string, headers: Headers): ObjectStat {
  const modified = Date.parse(headers.get('last-modified') ?? '');
  const metadata = [...headers].filter(([name]) => name.startsWith(METADATA));
  return {
    key,
    size: toSize(headers),
    etag: unquote(headers.get('etag') ?? ''),
    lastModified: new Date(Number.isNaN(modified) ? 0 : modified).toISOString(),
    contentType: headers.get('content-type') ?? 'application/octet-stream',
    metadata: Object.fromEntries(metadata.map(([name, value]) => [name.slice(METADATA.length), value])),
  };
}

/** What a copy in parts is begun with, so that it is the same object. */
export function keptHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => KEPT.has(name) || name.startsWith(METADATA)));
}

export function toRangeHeader({ start, end }: ByteRange): string {
  const isGood = Number.isSafeInteger(start) && start >= 0;
  if (!isGood || (end !== undefined && !(Number.isSafeInteger(end) && end >= start)))
    throw invalid(`A range is from "start" to "end", whole numbers from 0; not ${start} to ${String(end)}.`);
  return `bytes=${start}-${end ?? ''}`;
}

export function unquote(etag: string): string {
  return etag.replaceAll('"', '');
}

export function invalid(message: string): BoxError {
  return new BoxError('invalid_request', message);
}

export function objectNotFound(key: string): BoxError {
  return new BoxError('object_not_found', `There is no object "${key}".`);
}

export function objectExists(key: string): BoxError {
  return new BoxError('object_exists', `There is an object "${key}" already. Choose another key, or delete it first.`);
}

export function storageMissing(): BoxError {
  const advice = 'Set SVC_S3_ENDPOINT, SVC_S3_ACCESS_KEY and SVC_S3_SECRET_KEY.';
  return new BoxError('storage_missing', `This box has no object storage. ${advice}`);
}

// --- internal ---

/** A backend takes 1024, of which the prefix needs some. */
const KEY_BYTES = 700;
const TYPE_BYTES = 255;
const METADATA = 'x-amz-meta-';
const METADATA_BYTES = 2_048;
const KEPT = new Set([
  'content-type',
  'content-language',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'expires',
]);

function isStorable(text: string): boolean {
  return text.isWellFormed() && Buffer.byteLength(text) <= KEY_BYTES;
}

function checkHeader(name: string, value: string, most: number): string {
  const isGood = typeof value === 'string' && value.length <= most && /^[\u0020-\u007E]*$/.test(value);
  if (isGood && value.trim() === value) return value;
  throw invalid(`"${name}" is up to ${most} printable ASCII characters, with no space at its ends.`);
}

/** The size of the whole object, also where a part of it is answered. */
function toSize(headers: Headers): number {
  const whole = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
  return Number(whole ?? headers.get('content-length') ?? 0);
}
