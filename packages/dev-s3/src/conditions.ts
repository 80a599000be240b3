import { S3Error } from './errors.ts';
import { findHeader } from './request.ts';
import type { S3Request } from './request.ts';
import type { ByteRange, Guard, ObjectRecord } from './store.ts';

type Headers = Pick<S3Request, 'headers'>;

/** The four conditions of a read, in the order of RFC 9110; a copy's source has the same under a `prefix`. */
export function checkReadConditions(record: ObjectRecord, read: (name: string) => string | undefined): void {
  const modified = Math.floor(Date.parse(record.lastModified) / 1000) * 1000;
  const match = read('if-match');
  const noneMatch = read('if-none-match');
  if (match !== undefined) {
    if (!hasTag(match, record)) throw failed('If-Match');
  } else if (modified > toDate(read('if-unmodified-since'))) throw failed('If-Unmodified-Since');
  if (noneMatch !== undefined) {
    if (hasTag(noneMatch, record)) throw notModified(record);
  } else if (modified <= toDate(read('if-modified-since'))) throw notModified(record);
}

/** The condition of a write, checked at the moment the object would change. */
export function readWriteGuard(request: Headers & Pick<S3Request, 'key'>): Guard | undefined {
  const match = findHeader(request, 'if-match');
  const noneMatch = findHeader(request, 'if-none-match');
  if (noneMatch !== undefined && noneMatch !== '*') {
    throw new S3Error('NotImplemented', 'A write takes no If-None-Match but "*".');
  }
  if (match === undefined && noneMatch === undefined) return undefined;
  return (current) => {
    if (noneMatch !== undefined && current) throw failed('If-None-Match');
    if (match === undefined) return;
    if (!current) throw new S3Error('NoSuchKey', `There is no object "${request.key}".`);
    if (!hasTag(match, current)) throw failed('If-Match');
  };
}

/** The bytes a read asks for; undefined means all. S3 reads one range and ignores what it cannot read. */
export function readRange(request: Headers, record: ObjectRecord): ByteRange | undefined {
  const header = findHeader(request, 'range');
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.replaceAll(' ', '') ?? '');
  if (!header || !match || !isSameObject(findHeader(request, 'if-range'), record)) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, record.size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? record.size - 1 : Math.min(Number(last), record.size - 1);
  if (start <= end && (first !== '' || Number(last) > 0)) return { start, end };
  throw new S3Error('InvalidRange', `The range "${header}" is outside the object's ${record.size} bytes.`, {
    fields: { RangeRequested: header, ActualObjectSize: String(record.size) },
    headers: { 'content-range': `bytes */${record.size}` },
  });
}

// --- internal ---

function hasTag(list: string, record: ObjectRecord): boolean {
  return list
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, '').replaceAll('"', ''))
    .some((tag) => tag === '*' || tag === record.etag);
}

function isSameObject(ifRange: string | undefined, record: ObjectRecord): boolean {
  if (ifRange === undefined || hasTag(ifRange, record)) return true;
  return new Date(record.lastModified).toUTCString() === ifRange;
}

/** NaN, which compares false to everything, when the header is missing or no date. */
function toDate(header: string | undefined): number {
  return Date.parse(header ?? '');
}

function failed(condition: string): S3Error {
  return new S3Error('PreconditionFailed', `The condition ${condition} does not hold.`, {
    fields: { Condition: condition },
  });
}

function notModified(record: ObjectRecord): S3Error {
  return new S3Error('NotModified', 'The object did not change.', {
    headers: { etag: `"${record.etag}"`, 'last-modified': new Date(record.lastModified).toUTCString() },
  });
}
