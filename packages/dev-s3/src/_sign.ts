import { createHash, createHmac } from 'node:crypto';

import { KEYS } from './_setup.ts';
import type { RawRequest } from './_setup.ts';

export interface SignOptions extends RawRequest {
  host: string;
  secretKey?: string;
  region?: string;
  date?: Date;
  /** `x-amz-content-sha256`; the hash of the body unless given. */
  payload?: string;
}

export interface Signed extends RawRequest {
  /** Signs the next piece of a chunked body; the pieces' signatures follow from one another. */
  signPiece(name: 'PAYLOAD' | 'TRAILER', ...hashes: string[]): string;
}

/**
 * SigV4 written a second time, for requests no client would send. Paths and query names must be in their strict
 * escaped form and in order already.
 */
export function signRaw(options: SignOptions): Signed {
  const { method = 'GET', path = '/', body = '', date = new Date(), region = 'us-east-1' } = options;
  const timestamp = date.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const payload = options.payload ?? sha256(body);
  const scope = [timestamp.slice(0, 8), region, 's3', 'aws4_request'];
  const headers: Record<string, string> = {
    host: options.host,
    'x-amz-date': timestamp,
    'x-amz-content-sha256': payload,
    ...options.headers,
  };
  const names = Object.keys(headers)
    .filter((name) => name === 'host' || name.startsWith('x-amz-'))
    .sort();
  const [pathname = '', query = ''] = path.split('?', 2);
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = [method, pathname, query, lines, names.join(';'), payload].join('\n');
  const key = scope.reduce<Buffer>(hmac, Buffer.from(`AWS4${options.secretKey ?? KEYS.secretKey}`));
  const seal = (...parts: string[]) => hmac(key, parts.join('\n')).toString('hex');
  let previous = seal('AWS4-HMAC-SHA256', timestamp, scope.join('/'), sha256(canonical));
  headers['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${KEYS.accessKey}/${scope.join('/')}, SignedHeaders=${names.join(';')}, Signature=${previous}`;
  return {
    method,
    path,
    headers,
    body,
    signPiece(name, ...hashes) {
      previous = seal(`AWS4-HMAC-SHA256-${name}`, timestamp, scope.join('/'), previous, ...hashes);
      return previous;
    },
  };
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
