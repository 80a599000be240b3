import { createHash, createHmac } from 'node:crypto';
import { encodeUri } from '../objects/request.ts';

export interface SigningKeys {
  accessKey: string;
  secretKey: string;
  region: string;
}

export interface Unsigned {
  method: string;
  /** Its path in the strict escaped form: see `encodePath`. */
  url: URL;
  headers?: Record<string, string>;
}

/** The headers with SigV4 in `authorization`; all of those given are signed. */
export function signHeaders(request: Unsigned & { body: Uint8Array }, keys: SigningKeys, now: Date) {
  const payload = createHash('sha256').update(request.body).digest('hex');
  const signed = { ...request.headers, 'x-amz-content-sha256': payload, 'x-amz-date': toTimestamp(now) };
  const { names, scope, signature } = sign({ ...request, headers: signed, payload }, keys, now);
  const credential = `Credential=${keys.accessKey}/${scope}`;
  const authorization = `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...signed, authorization };
}

/** An address that whoever has it may use, for as many seconds. */
export function presignUrl({ method, url }: Unsigned, keys: SigningKeys, options: { expiresIn: number; now: Date }) {
  const { now, expiresIn } = options;
  const presigned = new URL(url);
  const params = [
    ['X-Amz-Algorithm', ALGORITHM],
    ['X-Amz-Credential', `${keys.accessKey}/${scopeOf(keys, now)}`],
    ['X-Amz-Date', toTimestamp(now)],
    ['X-Amz-Expires', String(expiresIn)],
    ['X-Amz-SignedHeaders', 'host'],
  ] as const;
  presigned.search = formatQuery(params);
  const { signature } = sign({ method, url: presigned, headers: {}, payload: 'UNSIGNED-PAYLOAD' }, keys, now);
  return `${presigned.href}&X-Amz-Signature=${signature}`;
}

/** The form of a path that is signed, and sent as it is. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeUri).join('/');
}

/** The form of a query that is signed, in its order. */
export function formatQuery(params: Iterable<readonly [string, string]>): string {
  return Array.from(params, ([name, value]) => [encodeUri(name), encodeUri(value)] as const)
    .sort(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

// --- internal ---

const ALGORITHM = 'AWS4-HMAC-SHA256';

interface Signing extends Required<Unsigned> {
  payload: string;
}

function sign({ method, url, headers, payload }: Signing, keys: SigningKeys, now: Date) {
  const entries = Object.entries({ ...headers, host: url.host }).sort(byName);
  const lines = entries.map(([name, value]) => `${name}:${value.trim()}`);
  const names = entries.map(([name]) => name).join(';');
  const request = [method, url.pathname, url.search.slice(1), ...lines, '', names, payload].join('\n');
  const scope = scopeOf(keys, now);
  const digest = createHash('sha256').update(request).digest('hex');
  const text = [ALGORITHM, toTimestamp(now), scope, digest].join('\n');
  const key = scope.split('/').reduce<Buffer>(hmac, Buffer.from(`AWS4${keys.secretKey}`));
  return { names, scope, signature: hmac(key, text).toString('hex') };
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

function scopeOf({ region }: SigningKeys, now: Date): string {
  return [toTimestamp(now).slice(0, 8), region, 's3', 'aws4_request'].join('/');
}

function toTimestamp(time: Date): string {
  return time.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
