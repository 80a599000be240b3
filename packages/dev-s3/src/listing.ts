import { answerXml } from './answer.ts';
import type { Answer, Call } from './answer.ts';
import { mapBatched } from './batch.ts';
import { S3Error } from './errors.ts';
import { compareKeys } from './key-name.ts';
import { encodeUri, findParam } from './request.ts';
import type { ObjectRecord } from './store.ts';
import type { XmlNode } from './xml.ts';

export interface PageQuery {
  prefix: string;
  delimiter: string;
  /** A key or a common prefix; the page begins behind it. */
  after: string;
  limit: number;
}

export interface Page {
  keys: string[];
  commonPrefixes: string[];
  /** What to continue behind; undefined on the last page. */
  next: string | undefined;
}

/** Cuts one page out of keys that are sorted and begin with the prefix. */
export function pageKeys(keys: readonly string[], query: PageQuery): Page {
  const page: Page = { keys: [], commonPrefixes: [], next: undefined };
  let last = query.after;
  for (const key of keys) {
    const common = findCommonPrefix(key, query);
    // A common prefix that was listed stands for every key below it.
    if (common === last || compareKeys(key, last) <= 0) continue;
    if (page.keys.length + page.commonPrefixes.length === query.limit) {
      if (query.limit > 0) page.next = last;
      break;
    }
    if (common === undefined) page.keys.push(key);
    else page.commonPrefixes.push(common);
    last = common ?? key;
  }
  return page;
}

export async function listObjectsV2(call: Call): Promise<Answer> {
  if (findParam(call.request, 'list-type') !== '2') {
    throw new S3Error('InvalidArgument', 'list-type must be "2". Leave it out for version 1.');
  }
  const token = findParam(call.request, 'continuation-token');
  const startAfter = findParam(call.request, 'start-after');
  const list = await readList(call, token === undefined ? (startAfter ?? '') : parseToken(token));
  const { page, encode } = list;
  return answerXml([
    'ListBucketResult',
    [
      ...formatQuery(call, list),
      ...optional('StartAfter', startAfter === undefined ? undefined : encode(startAfter)),
      ...optional('ContinuationToken', token),
      ...optional('NextContinuationToken', page.next === undefined ? undefined : formatToken(page.next)),
      ['KeyCount', list.records.length + page.commonPrefixes.length],
      ...formatItems(list),
    ],
  ]);
}

export async function listObjectsV1(call: Call): Promise<Answer> {
  const marker = findParam(call.request, 'marker') ?? '';
  const list = await readList(call, marker);
  const { page, encode } = list;
  return answerXml([
    'ListBucketResult',
    [
      ...formatQuery(call, list),
      ['Marker', encode(marker)],
      ...optional('NextMarker', page.next === undefined ? undefined : encode(page.next)),
      ...formatItems(list),
    ],
  ]);
}

/** `max-keys` and the like: 1000 at most, and when missing. */
export function readLimit(call: Call, name: string): number {
  const text = findParam(call.request, name) ?? '1000';
  if (!/^\d{1,9}$/.test(text)) throw new S3Error('InvalidArgument', `"${name}" must be a whole number.`);
  return Math.min(Number(text), 1000);
}

// --- internal ---

interface List {
  query: PageQuery;
  page: Page;
  records: ObjectRecord[];
  encode(text: string): string;
}

const TOKEN_MARK = '1';

async function readList(call: Call, after: string): Promise<List> {
  const { request, objects } = call;
  const encoding = findParam(request, 'encoding-type');
  if (encoding !== undefined && encoding !== 'url') {
    throw new S3Error('InvalidArgument', `encoding-type must be "url", not "${encoding}".`);
  }
  const query: PageQuery = {
    prefix: findParam(request, 'prefix') ?? '',
    delimiter: findParam(request, 'delimiter') ?? '',
    after,
    limit: readLimit(call, 'max-keys'),
  };
  const page = pageKeys(await objects.listKeys(request.bucket, query.prefix), query);
  const records = await mapBatched(page.keys, (key) => objects.findObject(request.bucket, key));
  return {
    query,
    page,
    // A key may have gone since the keys were read.
    records: records.filter((record) => record !== undefined),
    encode: encoding === 'url' ? (text) => encodeUri(text).replaceAll('%2F', '/') : (text) => text,
  };
}

function findCommonPrefix(key: string, { prefix, delimiter }: PageQuery): string | undefined {
  if (delimiter === '') return undefined;
  const index = key.indexOf(delimiter, prefix.length);
  return index === -1 ? undefined : key.slice(0, index + delimiter.length);
}

function formatQuery(call: Call, { query, page, encode }: List): XmlNode[] {
  return [
    ['Name', call.request.bucket],
    ['Prefix', encode(query.prefix)],
    ...optional('Delimiter', query.delimiter === '' ? undefined : encode(query.delimiter)),
    ['MaxKeys', query.limit],
    ...optional('EncodingType', findParam(call.request, 'encoding-type')),
    ['IsTruncated', page.next !== undefined],
  ];
}

function formatItems({ page, records, encode }: List): XmlNode[] {
  return [
    ...records.map((record): XmlNode => [
      'Contents',
      [
        ['Key', encode(record.key)],
        ['LastModified', record.lastModified],
        ['ETag', `"${record.etag}"`],
        ...optional('ChecksumAlgorithm', record.checksum?.algorithm.toUpperCase()),
        ['Size', record.size],
        ['StorageClass', 'STANDARD'],
      ],
    ]),
    ...page.commonPrefixes.map((prefix): XmlNode => ['CommonPrefixes', [['Prefix', encode(prefix)]]]),
  ];
}

function optional(name: string, value: string | undefined): XmlNode[] {
  return value === undefined ? [] : [[name, value]];
}

function formatToken(after: string): string {
  return Buffer.from(TOKEN_MARK + after, 'utf8').toString('base64url');
}

function parseToken(token: string): string {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  if (text.startsWith(TOKEN_MARK) && formatToken(text.slice(1)) === token) return text.slice(1);
  throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect.');
}
