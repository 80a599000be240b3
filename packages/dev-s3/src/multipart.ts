import { createHash } from 'node:crypto';

import { answerEmpty, answerXml } from './answer.ts';
import type { Answer, Call } from './answer.ts';
import { formatChecksum, readAttributes } from './attributes.ts';
import { createDigester } from './checksum.ts';
import type { Checksum } from './checksum.ts';
import { readWriteGuard } from './conditions.ts';
import { openCopySource } from './copy.ts';
import { S3Error } from './errors.ts';
import { readLimit } from './listing.ts';
import { MAX_OBJECT_BYTES, openPayload, readChecksumHeader, readText } from './payload.ts';
import { findParam } from './request.ts';
import type { ByteRange, PartRecord, PartWrite, Upload } from './store.ts';
import { childText, parseXml } from './xml.ts';
import type { XmlNode } from './xml.ts';

export async function createUpload(call: Call): Promise<Answer> {
  const { bucket, key } = call.request;
  const { uploadId } = await call.uploads.createUpload(bucket, { key, ...readAttributes(call) });
  return answerXml([
    'InitiateMultipartUploadResult',
    [
      ['Bucket', bucket],
      ['Key', key],
      ['UploadId', uploadId],
    ],
  ]);
}

export async function uploadPart(call: Call): Promise<Answer> {
  const partNumber = readPartNumber(call);
  const { uploadId } = await getUpload(call);
  const payload = openPayload(call.request, call.authorized);
  const { body } = payload;
  const part = await writePart(call, uploadId, {
    partNumber,
    body,
    describe: () => ({ checksum: payload.checksum() }),
  });
  return answerEmpty(200, { etag: `"${part.etag}"`, ...formatChecksum(part.checksum) });
}

export async function copyPart(call: Call): Promise<Answer> {
  const partNumber = readPartNumber(call);
  const { uploadId } = await getUpload(call);
  const { object } = await openCopySource(call);
  try {
    const body = object.read(readSourceRange(call, object.record.size));
    const part = await writePart(call, uploadId, { partNumber, body, describe: () => ({}) });
    return answerXml([
      'CopyPartResult',
      [
        ['LastModified', part.lastModified],
        ['ETag', `"${part.etag}"`],
      ],
    ]);
  } finally {
    await object.close();
  }
}

export async function completeUpload(call: Call): Promise<Answer> {
  const { request, objects, uploads } = call;
  const guard = readWriteGuard(request);
  const whole = readWholeChecksum(call);
  const payload = openPayload(request, call.authorized, { maxBytes: MAX_BODY_BYTES, ignoresChecksum: true });
  const named = parseParts(await readText(payload));
  const { uploadId, headers, metadata } = await getUpload(call);
  const parts = checkParts(named, await uploads.listParts(request.bucket, uploadId));
  const record = await objects.writeObject(request.bucket, request.key, {
    body: joinParts(call, { uploadId, parts, whole }),
    describe: () => ({ headers, metadata, etag: formatJoinedTag(parts), checksum: whole }),
    guard,
  });
  // A crash before this line leaves the object whole and the upload open; completing it again gives the same object.
  await uploads.deleteUpload(request.bucket, uploadId);
  return answerXml([
    'CompleteMultipartUploadResult',
    [
      ['Location', `http://${request.headers['host']?.[0] ?? ''}${request.rawPath}`],
      ['Bucket', request.bucket],
      ['Key', request.key],
      ['ETag', `"${record.etag}"`],
    ],
  ]);
}

export async function abortUpload(call: Call): Promise<Answer> {
  const { uploadId } = await getUpload(call);
  await call.uploads.deleteUpload(call.request.bucket, uploadId);
  return answerEmpty(204);
}

export async function listParts(call: Call): Promise<Answer> {
  const { bucket, key } = call.request;
  const { uploadId } = await getUpload(call);
  const limit = readLimit(call, 'max-parts');
  const marker = Number(findParam(call.request, 'part-number-marker') ?? 0) || 0;
  const parts = (await call.uploads.listParts(bucket, uploadId)).filter(({ partNumber }) => partNumber > marker);
  const page = parts.slice(0, limit);
  return answerXml([
    'ListPartsResult',
    [
      ['Bucket', bucket],
      ['Key', key],
      ['UploadId', uploadId],
      ['PartNumberMarker', marker],
      ['NextPartNumberMarker', page.at(-1)?.partNumber ?? 0],
      ['MaxParts', limit],
      ['IsTruncated', parts.length > limit && limit > 0],
      ...page.map((part): XmlNode => [
        'Part',
        [
          ['PartNumber', part.partNumber],
          ['LastModified', part.lastModified],
          ['ETag', `"${part.etag}"`],
          ['Size', part.size],
        ],
      ]),
    ],
  ]);
}

// --- internal ---

interface NamedPart {
  partNumber: number;
  etag: string;
}

const MAX_PARTS = 10_000;
const MIN_PART_BYTES = 5 * 1024 * 1024;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

async function getUpload(call: Call): Promise<Upload> {
  const uploadId = findParam(call.request, 'uploadId') ?? '';
  const upload = await call.uploads.findUpload(call.request.bucket, uploadId);
  if (upload?.key !== call.request.key) throw noSuchUpload(uploadId);
  return upload;
}

function readPartNumber(call: Call): number {
  const text = findParam(call.request, 'partNumber') ?? '';
  if (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_PARTS) return Number(text);
  throw new S3Error('InvalidArgument', `partNumber must be a number from 1 to ${MAX_PARTS}.`);
}

function readSourceRange(call: Call, size: number): ByteRange | undefined {
  const text = call.settings.get('x-amz-copy-source-range');
  if (text === undefined) return undefined;
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(text) ?? [];
  if (start !== undefined && Number(start) <= Number(end) && Number(end) < size) {
    return { start: Number(start), end: Number(end) };
  }
  throw new S3Error('InvalidArgument', `The range "${text}" must read "bytes=first-last", inside ${size} bytes.`);
}

async function writePart(call: Call, uploadId: string, write: PartWrite): Promise<PartRecord> {
  const part = await call.uploads.writePart(call.request.bucket, uploadId, write);
  if (part) return part;
  throw noSuchUpload(uploadId);
}

function parseParts(text: string): NamedPart[] {
  const root = parseXml(text);
  const parts = root.children
    .filter(({ name }) => name === 'Part')
    .map((part) => ({
      partNumber: Number(childText(part, 'PartNumber') ?? 'none'),
      etag: (childText(part, 'ETag') ?? '').trim().replaceAll('"', ''),
    }));
  const areNumbered = parts.every(({ partNumber }) => Number.isInteger(partNumber));
  if (root.name === 'CompleteMultipartUpload' && parts.length > 0 && areNumbered) return parts;
  throw new S3Error('MalformedXML', 'The body must be a CompleteMultipartUpload with at least one part.');
}

/** The stored parts in the order the client names them. */
function checkParts(named: NamedPart[], stored: PartRecord[]): PartRecord[] {
  const byNumber = new Map(stored.map((part) => [part.partNumber, part]));
  const parts = named.map(({ partNumber, etag }, index) => {
    if (index > 0 && partNumber <= (named[index - 1]?.partNumber ?? 0)) {
      throw new S3Error('InvalidPartOrder', 'The parts must be named in ascending order, each once.');
    }
    const part = byNumber.get(partNumber);
    if (part?.etag !== etag) throw invalidPart(partNumber);
    return part;
  });
  const small = parts.slice(0, -1).find(({ size }) => size < MIN_PART_BYTES);
  if (small) {
    throw new S3Error('EntityTooSmall', `Part ${small.partNumber} is smaller than ${MIN_PART_BYTES} bytes.`);
  }
  if (parts.reduce((sum, { size }) => sum + size, 0) > MAX_OBJECT_BYTES * 1024) {
    throw new S3Error('EntityTooLarge', 'The parts together are larger than 5 TiB.');
  }
  return parts;
}

async function* joinParts(
  call: Call,
  { uploadId, parts, whole }: { uploadId: string; parts: PartRecord[]; whole: Checksum | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  const digester = whole && createDigester(whole.algorithm);
  for (const { partNumber, etag } of parts) {
    const part = await call.uploads.openPart(call.request.bucket, uploadId, partNumber);
    if (!part) throw noSuchUpload(uploadId);
    try {
      if (part.record.etag !== etag) throw invalidPart(partNumber);
      for await (const chunk of part.read()) {
        digester?.update(chunk);
        yield chunk;
      }
    } finally {
      await part.close();
    }
  }
  if (digester && digester.digest() !== whole.value) {
    throw new S3Error('BadDigest', 'The checksum of the whole object does not match its parts.');
  }
}

/** The checksum of the object to be. A composite one is a checksum of checksums, which this server does not keep. */
function readWholeChecksum(call: Call): Checksum | undefined {
  if (call.settings.get('x-amz-checksum-type')?.toUpperCase() !== 'FULL_OBJECT') return undefined;
  return readChecksumHeader(call.request);
}

function formatJoinedTag(parts: PartRecord[]): string {
  const hash = createHash('md5');
  for (const { etag } of parts) hash.update(etag, 'hex');
  return `${hash.digest('hex')}-${parts.length}`;
}

function invalidPart(partNumber: number): S3Error {
  return new S3Error('InvalidPart', `Part ${partNumber} was not uploaded, or its ETag is another one.`, {
    fields: { PartNumber: String(partNumber) },
  });
}

function noSuchUpload(uploadId: string): S3Error {
  return new S3Error('NoSuchUpload', `There is no upload "${uploadId}" for this key. It may have ended.`, {
    fields: { UploadId: uploadId },
  });
}
