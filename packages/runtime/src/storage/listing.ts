import { invalidCursor } from '../errors.ts';
import { checkPrefix, invalid, unquote } from './objects.ts';
import type { ListedObjects, ListOptions, StoredObject } from './objects.ts';
import { isRefusal, readXml } from './s3.ts';
import type { S3Bucket } from './s3.ts';
import { childText, listChildren } from './xml.ts';
import type { XmlElement } from './xml.ts';

/** A page of the objects whose keys begin with `own`, which is no part of the keys that are answered. */
export async function list(bucket: S3Bucket, own: string, options: ListOptions): Promise<ListedObjects> {
  const document = await ask(bucket, own, options).catch((error: unknown) => {
    if (options.cursor === undefined || !isInvalid(error)) throw error;
    throw invalidCursor(options.cursor);
  });
  const folders = listChildren(document, 'CommonPrefixes').map((entry) => toName(entry, 'Prefix'));
  return {
    items: listChildren(document, 'Contents')
      .map(toObject)
      .map((item) => ({ ...item, key: item.key.slice(own.length) })),
    folders: folders.map((folder) => folder.slice(own.length)),
    nextCursor: childText(document, 'NextContinuationToken') || null,
  };
}

// --- internal ---

const PAGE = 1_000;

async function ask(bucket: S3Bucket, own: string, options: ListOptions): Promise<XmlElement> {
  const { prefix = '', delimiter, limit = PAGE, cursor, startAfter } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE)
    throw invalid(`"limit" is ${limit}; it must be a whole number from 1 to ${PAGE}.`);
  const page = {
    ...(delimiter ? { delimiter: checkPrefix(delimiter, 'delimiter') } : {}),
    ...(startAfter ? { 'start-after': own + checkPrefix(startAfter, 'startAfter') } : {}),
    ...(cursor === undefined ? {} : { 'continuation-token': checkCursor(cursor) }),
  };
  // Names come escaped: XML has no way to write some of the characters a key may hold.
  const fixed = { 'list-type': '2', 'encoding-type': 'url', 'max-keys': String(limit) };
  return readXml(await bucket.send({ method: 'GET', query: { ...fixed, prefix: own + checkPrefix(prefix), ...page } }));
}

function checkCursor(cursor: string): string {
  if (typeof cursor !== 'string' || cursor === '' || !cursor.isWellFormed()) throw invalidCursor(String(cursor));
  return cursor;
}

function isInvalid(error: unknown): boolean {
  return isRefusal(error, 400) && ['InvalidArgument', 'InvalidToken'].includes(String(error.details?.['code']));
}

function toObject(entry: XmlElement): StoredObject {
  const text = (name: string): string => childText(entry, name) ?? '';
  return {
    key: toName(entry, 'Key'),
    size: Number(text('Size')),
    etag: unquote(text('ETag')),
    lastModified: text('LastModified'),
  };
}

function toName(entry: XmlElement, name: string): string {
  return decodeURIComponent((childText(entry, name) ?? '').replaceAll('+', ' '));
}
