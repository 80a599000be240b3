import { BoxError } from '../errors.ts';
import { invalid, keptHeaders, unquote } from './objects.ts';
import { readResult } from './s3.ts';
import type { S3Bucket } from './s3.ts';
import { encodePath } from './sign.ts';
import { childText } from './xml.ts';

/** A piece of an object, by its number from 1. */
export interface Part {
  number: number;
  bytes: Uint8Array;
  /** It is sent: its memory is that of a later one. */
  release(): void;
}

/** The least a backend takes for a part that is not the last. */
export const PART_BYTES = 8 * 1_048_576;

/**
 * The bytes in parts, each of which is held as a whole. Parts grow as they become many, so that a backend's 10,000 hold some
 * 490 GiB. Throws `invalid_request` for what is no bytes.
 */
export async function* toParts(chunks: AsyncIterable<unknown>): AsyncGenerator<Part, void, undefined> {
  let number = 1;
  const spare: Buffer[] = [];
  const take = (): Buffer => {
    const found = spare.pop();
    return found?.byteLength === sizeOf(number) ? found : Buffer.allocUnsafe(sizeOf(number));
  };
  const toPart = (whole: Buffer, bytes: Buffer): Part => ({ number, bytes, release: () => void spare.push(whole) });
  let part = take();
  let filled = 0;
  for await (const chunk of chunks) {
    for (let bytes = toBytes(chunk); bytes.byteLength > 0;) {
      const taken = bytes.subarray(0, part.byteLength - filled);
      part.set(taken, filled);
      filled += taken.byteLength;
      bytes = bytes.subarray(taken.byteLength);
      if (filled < part.byteLength) continue;
      yield toPart(part, part);
      number += 1;
      if (number > MOST_PARTS) throw invalid('The object is too large: it has more than 10,000 parts.');
      part = take();
      filled = 0;
    }
  }
  if (filled > 0 || number === 1) yield toPart(part, part.subarray(0, filled));
}

export interface PartsWrite {
  key: string;
  headers: Record<string, string>;
  /** Must hold when the object would appear. */
  conditions: Record<string, string>;
}

/** Writes an object in parts, some at a time. It appears as a whole; of one that fails, nothing is left. */
export async function putParts(
  bucket: S3Bucket,
  write: PartsWrite,
  parts: AsyncGenerator<Part, void, undefined>,
): Promise<{ etag: string; size: number }> {
  let size = 0;
  const etag = await upload(bucket, write, async (uploadId) => {
    const etags = new Map<number, string>();
    let hasThrown = false;
    const work = async (): Promise<void> => {
      for (;;) {
        const next = await parts.next();
        if (next.done || hasThrown) return;
        const { number, bytes, release } = next.value;
        size += bytes.byteLength;
        etags.set(number, await putPart(bucket, { key: write.key, uploadId, number, bytes }));
        release();
      }
    };
    const stopping = async (error: unknown): Promise<never> => {
      hasThrown = true;
      throw error;
    };
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => work().catch(stopping)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return etags;
  });
  return { etag, size };
}

export interface Copy {
  /** As the backend has them. */
  from: string;
  to: string;
  /** What the source answered when it was looked at. */
  source: { size: number; etag: string; headers: Headers };
  conditions: Record<string, string>;
  /** The most that is copied in one request. Default: what backends take. */
  mostBytes?: number;
  partBytes?: number;
}

/** Copies the object that was looked at: one that has changed meanwhile is refused by the backend, with 412. */
export async function copyObject(bucket: S3Bucket, copy: Copy): Promise<string> {
  const { from, to, source, conditions, mostBytes = COPY_BYTES, partBytes = COPY_PART_BYTES } = copy;
  const headers = {
    'x-amz-copy-source': encodePath(`/${bucket.name}/${from}`),
    'x-amz-copy-source-if-match': `"${source.etag}"`,
  };
  if (source.size <= mostBytes) {
    const request = { method: 'PUT', key: to, headers, waitMs: COPY_MS } as const;
    const answer = await bucket.sendIf(request, conditions);
    if (!answer.ok) throw gone();
    return unquote(childText(await readResult(answer, bucket), 'ETag') ?? '');
  }
  return upload(bucket, { key: to, headers: keptHeaders(source.headers), conditions }, async (uploadId) => {
    const etags = new Map<number, string>();
    for (let start = 0; start < source.size; start += partBytes) {
      const number = etags.size + 1;
      const range = `bytes=${start}-${Math.min(start + partBytes, source.size) - 1}`;
      const answer = await bucket.send({
        method: 'PUT',
        key: to,
        query: { partNumber: String(number), uploadId },
        headers: { ...headers, 'x-amz-copy-source-range': range },
        waitMs: COPY_MS,
      });
      if (!answer.ok) throw gone();
      etags.set(number, childText(await readResult(answer, bucket), 'ETag') ?? '');
    }
    return etags;
  });
}

// --- internal ---

const AT_ONCE = 3;
const MOST_PARTS = 10_000;
const TRIES = 3;
/** What S3 copies in one request, and so much in each of several. */
const COPY_BYTES = 5 * 1_024 ** 3;
const COPY_PART_BYTES = 1_024 ** 3;
const COPY_MS = 600_000;

function sizeOf(number: number): number {
  return PART_BYTES * 2 ** Math.min(3, Math.floor((number - 1) / 1_000));
}

function toBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === 'string') return Buffer.from(chunk, 'utf8');
  throw invalid('A stream that is kept gives bytes or texts, and nothing else.');
}

/** Begins an upload, has its parts written, and ends it. */
async function upload(
  bucket: S3Bucket,
  { key, headers, conditions }: PartsWrite,
  writeAll: (uploadId: string) => Promise<Map<number, string>>,
): Promise<string> {
  const begun = await bucket.send({ method: 'POST', key, query: { uploads: '' }, headers });
  if (!begun.ok) throw gone();
  const uploadId = childText(await readResult(begun, bucket), 'UploadId') ?? '';
  try {
    const etags = [...(await writeAll(uploadId))].sort(([a], [b]) => a - b);
    const parts = etags.map(
      ([number, etag]) => `<Part><PartNumber>${number}</PartNumber><ETag>&quot;${unquote(etag)}&quot;</ETag></Part>`,
    );
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const end = { method: 'POST', key, query: { uploadId }, body, waitMs: COPY_MS } as const;
    const answer = await bucket.sendIf({ ...end, headers: { 'content-type': 'application/xml' } }, conditions);
    if (!answer.ok) throw gone();
    return unquote(childText(await readResult(answer, bucket), 'ETag') ?? '');
  } catch (error) {
    // Parts of an upload that is neither ended nor aborted are paid for, and in no list.
    await bucket.send({ method: 'DELETE', key, query: { uploadId } }).catch(() => {});
    throw error;
  }
}

interface PartWrite extends Pick<Part, 'number' | 'bytes'> {
  key: string;
  uploadId: string;
}

async function putPart(bucket: S3Bucket, { key, uploadId, number, bytes }: PartWrite): Promise<string> {
  for (let tried = 1; ; tried += 1) {
    try {
      const query = { partNumber: String(number), uploadId };
      const answer = await bucket.send({ method: 'PUT', key, query, body: bytes });
      if (!answer.ok) throw gone();
      return answer.headers.get('etag') ?? '';
    } catch (error) {
      if (tried === TRIES || !(error instanceof BoxError) || error.code !== 'store_unavailable') throw error;
      await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** tried));
    }
  }
}

function gone(): BoxError {
  const message = 'The object storage has no such upload or source any more: it was deleted meanwhile.';
  return new BoxError('storage_refused', message, { details: { status: 404, code: null } });
}
