import { createHash } from 'node:crypto';

import { createDigester, toChecksumAlgorithm } from './checksum.ts';
import type { Checksum, ChecksumAlgorithm, Digester } from './checksum.ts';
import { decodeChunked } from './chunked.ts';
import { S3Error } from './errors.ts';
import { findHeader } from './request.ts';
import type { S3Request } from './request.ts';
import { UNSIGNED_PAYLOAD } from './signature.ts';
import type { Authorized } from './signature.ts';

export const MAX_OBJECT_BYTES = 5 * 1024 ** 3;

/** A request's body. Iterating it throws, at the end at the latest, unless every byte is what the client signed. */
export interface Payload {
  body: AsyncIterable<Uint8Array>;
  /** The checksum the client named, known and verified once the body was read. */
  checksum(): Checksum | undefined;
}

export interface PayloadOptions {
  maxBytes?: number;
  /** Set when an `x-amz-checksum-` header speaks of something else than this body. */
  ignoresChecksum?: boolean;
}

/** Checks what can be known before the first byte, and throws the S3 error for it. */
export function openPayload(request: S3Request, authorized: Authorized, options: PayloadOptions = {}): Payload {
  const form = readForm(authorized.payloadHash);
  const size = readSize(request, form);
  const maxBytes = options.maxBytes ?? MAX_OBJECT_BYTES;
  if (size > maxBytes) {
    throw new S3Error('EntityTooLarge', `The body is larger than the ${maxBytes} bytes this call takes.`, {
      fields: { ProposedSize: String(size), MaxSizeAllowed: String(maxBytes) },
    });
  }
  const named = options.ignoresChecksum ? undefined : readChecksumHeader(request);
  const checks = createChecks(request, { form, size, named });
  return {
    body: readVerified(request, authorized, form, checks),
    checksum: () => checks.checksum,
  };
}

/** The one `x-amz-checksum-` header of the request, if any. */
export function readChecksumHeader(request: S3Request): Checksum | undefined {
  const named = Object.keys(request.headers).flatMap((name) => {
    const algorithm = toChecksumAlgorithm(name);
    return algorithm ? [{ algorithm, value: findHeader(request, name) ?? '' }] : [];
  });
  if (named.length > 1) throw tooManyChecksums();
  const [checksum] = named;
  if (checksum) checkChecksumLength(checksum);
  return checksum;
}

/** Reads a small body as text. */
export async function readText(payload: Payload): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of payload.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

// --- internal ---

interface Form {
  chunked: boolean;
  signedChunks: boolean;
  trailer: boolean;
  /** Present when the whole body was hashed before it was signed. */
  sha256?: string;
}

interface Checks {
  size: number;
  md5: string | undefined;
  sha256: string | undefined;
  algorithm: ChecksumAlgorithm | undefined;
  checksum: Checksum | undefined;
}

const STREAMING_FORMS: ReadonlyMap<string, Form> = new Map([
  ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD', { chunked: true, signedChunks: true, trailer: false }],
  ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER', { chunked: true, signedChunks: true, trailer: true }],
  ['STREAMING-UNSIGNED-PAYLOAD-TRAILER', { chunked: true, signedChunks: false, trailer: true }],
  [UNSIGNED_PAYLOAD, { chunked: false, signedChunks: false, trailer: false }],
]);

const CHECKSUM_BYTES: Record<ChecksumAlgorithm, number> = { crc32: 4, crc32c: 4, crc64nvme: 8, sha1: 20, sha256: 32 };

function readForm(payloadHash: string): Form {
  const named = STREAMING_FORMS.get(payloadHash);
  if (named) return named;
  if (/^[0-9a-f]{64}$/i.test(payloadHash)) {
    return { chunked: false, signedChunks: false, trailer: false, sha256: payloadHash.toLowerCase() };
  }
  throw new S3Error(
    'InvalidArgument',
    `x-amz-content-sha256 must be a SHA-256 in hex or one of ${[...STREAMING_FORMS.keys()].join(', ')}, not "${payloadHash}".`,
  );
}

function readSize(request: S3Request, form: Form): number {
  const name = form.chunked ? 'x-amz-decoded-content-length' : 'content-length';
  const value = findHeader(request, name);
  if (value === undefined && !form.chunked && findHeader(request, 'transfer-encoding') === undefined) return 0;
  if (value === undefined) throw new S3Error('MissingContentLength', `The header ${name} is missing.`);
  if (!/^\d{1,15}$/.test(value)) throw new S3Error('InvalidArgument', `The header ${name} must be a whole number.`);
  return Number(value);
}

function createChecks(
  request: S3Request,
  { form, size, named }: { form: Form; size: number; named: Checksum | undefined },
): Checks {
  const announced = form.trailer ? readAnnounced(request) : undefined;
  if (named && announced) throw tooManyChecksums();
  const algorithm = named?.algorithm ?? announced;
  return { size, md5: readMd5(request), sha256: form.sha256, algorithm, checksum: named };
}

function tooManyChecksums(): S3Error {
  return new S3Error('InvalidRequest', 'The request names more than one checksum. Keep one.');
}

function readAnnounced(request: S3Request): ChecksumAlgorithm | undefined {
  const name = (findHeader(request, 'x-amz-trailer') ?? '').trim().toLowerCase();
  const algorithm = toChecksumAlgorithm(name);
  if (name !== '' && !algorithm) throw new S3Error('InvalidRequest', `The trailer "${name}" is not supported.`);
  return algorithm;
}

function checkChecksumLength({ algorithm, value }: Checksum): void {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length === CHECKSUM_BYTES[algorithm] && bytes.toString('base64') === value) return;
  throw new S3Error('InvalidRequest', `The value of x-amz-checksum-${algorithm} is not a valid checksum in base64.`);
}

function readMd5(request: S3Request): string | undefined {
  const value = findHeader(request, 'content-md5');
  if (value === undefined) return undefined;
  if (Buffer.from(value, 'base64').length === 16) return value;
  throw new S3Error('InvalidDigest', 'The Content-MD5 header is not 16 bytes in base64.');
}

async function* readVerified(
  request: S3Request,
  authorized: Authorized,
  form: Form,
  checks: Checks,
): AsyncGenerator<Uint8Array, void, undefined> {
  request.acceptBody();
  const md5 = checks.md5 === undefined ? undefined : createHash('md5');
  const sha256 = checks.sha256 === undefined ? undefined : createHash('sha256');
  const digester = checks.algorithm && createDigester(checks.algorithm);
  let size = 0;
  for await (const chunk of readSource(request, authorized, form, checks)) {
    size += chunk.length;
    if (size > checks.size) break;
    md5?.update(chunk);
    sha256?.update(chunk);
    digester?.update(chunk);
    yield chunk;
  }
  if (size !== checks.size) {
    throw new S3Error('IncompleteBody', `The body does not have the ${checks.size} bytes its headers promise.`);
  }
  if (sha256 && sha256.digest('hex') !== checks.sha256) {
    throw new S3Error('XAmzContentSHA256Mismatch', 'The x-amz-content-sha256 header does not match the body.');
  }
  if (md5 && md5.digest('base64') !== checks.md5) {
    throw new S3Error('BadDigest', 'The Content-MD5 header does not match the body.');
  }
  checkChecksum(digester, checks);
}

function readSource(request: S3Request, authorized: Authorized, form: Form, checks: Checks): AsyncIterable<Uint8Array> {
  // Leaving early must not destroy the socket: the error answer still has to go out on it.
  const source: AsyncIterable<Uint8Array> = request.incoming.iterator({ destroyOnReturn: false });
  if (!form.chunked) return source;
  return decodeChunked(source, {
    chain: form.signedChunks ? authorized.chain : undefined,
    onTrailer: form.trailer ? (trailer) => takeTrailer(trailer, checks) : undefined,
  });
}

function takeTrailer(trailer: ReadonlyMap<string, string>, checks: Checks): void {
  for (const [name, value] of trailer) {
    const algorithm = toChecksumAlgorithm(name);
    if (!algorithm) continue;
    if (algorithm !== checks.algorithm) {
      throw new S3Error('MalformedTrailerError', `The trailer "${name}" was not announced in x-amz-trailer.`);
    }
    checks.checksum = { algorithm, value };
    checkChecksumLength(checks.checksum);
  }
}

function checkChecksum(digester: Digester | undefined, checks: Checks): void {
  if (!digester || !checks.algorithm) return;
  if (!checks.checksum) {
    throw new S3Error('MalformedTrailerError', `The announced trailer x-amz-checksum-${checks.algorithm} is missing.`);
  }
  if (digester.digest() !== checks.checksum.value) {
    const name = checks.algorithm.toUpperCase();
    throw new S3Error('BadDigest', `The ${name} you specified did not match the calculated checksum.`);
  }
}
