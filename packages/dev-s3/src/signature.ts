import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

import { ALGORITHM, readClaim, toTime } from './claim.ts';
import type { Claim, SignedRequest } from './claim.ts';
import { S3Error } from './errors.ts';
import { encodeUri, listSettings } from './request.ts';

export interface Credentials {
  accessKey: string;
  secretKey: string;
  region: string;
}

/** A request whose signature is right. Its body is still to be checked against `payloadHash`. */
export interface Authorized {
  /** `x-amz-content-sha256`: the SHA-256 of the body in hex, or the name of a way to send it. */
  payloadHash: string;
  /** Checks the signatures inside a chunked body; each one signs the one before it. */
  chain: SignatureChain;
}

export interface SignatureChain {
  verifyChunk(signature: string, contentHash: string): void;
  verifyTrailer(signature: string, contentHash: string): void;
}

export const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

/** Verifies SigV4 of the `Authorization` header or of a presigned URL, and throws the S3 error a client expects. */
export function verifySignature(request: SignedRequest, credentials: Credentials, now: Date): Authorized {
  const claim = readClaim(request);
  checkScope(claim, credentials);
  checkTime(claim, now);
  checkSignedHeaders(request, claim);
  const payloadHash = readPayloadHash(request, claim);

  const canonicalRequest = formatCanonicalRequest(request, claim, payloadHash);
  const stringToSign = [ALGORITHM, claim.timestamp, claim.scope, sha256(canonicalRequest)].join('\n');
  const key = deriveKey(credentials, claim.day);
  if (!isSameSignature(claim.signature, hmac(key, stringToSign).toString('hex'))) {
    throw new S3Error(
      'SignatureDoesNotMatch',
      'The request signature does not match the one calculated with the secret key of this server. Check the secret key and how the request is signed.',
      { fields: { AWSAccessKeyId: claim.accessKey, StringToSign: stringToSign, CanonicalRequest: canonicalRequest } },
    );
  }
  return { payloadHash, chain: createChain(key, claim) };
}

// --- internal ---

const MAX_SKEW_MS = 15 * 60 * 1000;

function checkScope(claim: Claim, credentials: Credentials): void {
  if (claim.accessKey !== credentials.accessKey) {
    throw new S3Error('InvalidAccessKeyId', `This server does not know the access key "${claim.accessKey}".`, {
      fields: { AWSAccessKeyId: claim.accessKey },
    });
  }
  const code = claim.expires === undefined ? 'AuthorizationHeaderMalformed' : 'AuthorizationQueryParametersError';
  if (claim.region !== credentials.region) {
    throw new S3Error(code, `The region "${claim.region}" is wrong; this server is in "${credentials.region}".`, {
      fields: { Region: credentials.region },
    });
  }
  if (!claim.timestamp.startsWith(claim.day)) {
    throw new S3Error(code, `The credential is of "${claim.day}", but the request is of "${claim.timestamp}".`);
  }
}

function checkTime(claim: Claim, now: Date): void {
  const time = toTime(claim.timestamp) ?? Number.NaN;
  const age = now.getTime() - time;
  if (claim.expires === undefined) {
    if (Math.abs(age) <= MAX_SKEW_MS) return;
    throw new S3Error('RequestTimeTooSkewed', "The request is more than 15 minutes off this server's clock.", {
      fields: { RequestTime: claim.timestamp, ServerTime: now.toISOString() },
    });
  }
  if (age < -MAX_SKEW_MS) throw new S3Error('AccessDenied', 'The presigned URL is not valid yet.');
  if (age > claim.expires * 1000) {
    const expiredAt = new Date(time + claim.expires * 1000).toISOString();
    throw new S3Error('AccessDenied', 'Request has expired.', {
      fields: { Expires: expiredAt, ServerTime: now.toISOString() },
    });
  }
}

// A header that changes what a request does must be covered by the signature, or a proxy could add one.
function checkSignedHeaders(request: SignedRequest, claim: Claim): void {
  const unsigned = Object.keys(request.headers).filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !claim.signedHeaders.includes(name),
  );
  if (unsigned.length > 0 || !claim.signedHeaders.includes('host')) {
    throw new S3Error('AccessDenied', 'There were headers in the request which were not signed.', {
      fields: { HeadersNotSigned: unsigned.join(', ') },
    });
  }
}

function readPayloadHash(request: SignedRequest, claim: Claim): string {
  const value = listSettings(request).get('x-amz-content-sha256');
  if (value !== undefined) return value;
  if (claim.expires !== undefined) return UNSIGNED_PAYLOAD;
  throw new S3Error('InvalidRequest', 'The header x-amz-content-sha256 is missing.');
}

function formatCanonicalRequest(request: SignedRequest, claim: Claim, payloadHash: string): string {
  const query = request.query
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`)
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair] as const)
    .sort(([a, pairA], [b, pairB]) => compareText(a, b) || compareText(pairA, pairB))
    .map(([, pair]) => pair);
  const headers = claim.signedHeaders.map((name) => `${name}:${formatHeader(request.headers[name] ?? [])}\n`);
  return [
    request.method,
    encodePath(request.rawPath),
    query.join('&'),
    headers.join(''),
    claim.signedHeaders.join(';'),
    payloadHash,
  ].join('\n');
}

/** Clients differ in what they leave unescaped on the wire, but all sign the strict form. */
function encodePath(rawPath: string): string {
  return rawPath
    .split('/')
    .map((segment) => encodeUri(decodeURIComponent(segment)))
    .join('/');
}

function formatHeader(values: string[]): string {
  return values.map((value) => toUtf8(value).trim().replaceAll(/\s+/g, ' ')).join(',');
}

/** Header bytes arrive as latin1. Most signers sign UTF-8 text and send its bytes; node:http sends latin1 instead. */
function toUtf8(value: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/^[\u0000-\u007F]*$/.test(value)) return value;
  const text = Buffer.from(value, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? value : text;
}

function deriveKey(credentials: Credentials, day: string): Buffer {
  return [day, credentials.region, 's3', 'aws4_request'].reduce<Buffer>(
    (key, part) => hmac(key, part),
    Buffer.from(`AWS4${credentials.secretKey}`),
  );
}

function createChain(key: Buffer, claim: Claim): SignatureChain {
  let previous = claim.signature;
  function verify(name: string, signature: string, hashes: string[]): void {
    const stringToSign = [`${ALGORITHM}-${name}`, claim.timestamp, claim.scope, previous, ...hashes].join('\n');
    const expected = hmac(key, stringToSign).toString('hex');
    if (!isSameSignature(signature, expected)) {
      throw new S3Error('SignatureDoesNotMatch', 'The signature of a chunk of the body does not match.', {
        fields: { StringToSign: stringToSign },
      });
    }
    previous = expected;
  }
  return {
    verifyChunk: (signature, contentHash) => verify('PAYLOAD', signature, [EMPTY_HASH, contentHash]),
    verifyTrailer: (signature, contentHash) => verify('TRAILER', signature, [contentHash]),
  };
}

function isSameSignature(given: string, expected: string): boolean {
  return /^[0-9a-f]{64}$/.test(given) && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
