import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';

export interface SigningKeys {
  accessKey: string;
  secretKey: string;
  region: string;
}

export interface Unsigned {
  method: string;
  /** Its path in the strict escaped form: see `encodePath`. */
  url: URL;
}

export interface UnsignedBody extends Unsigned {
  headers?: Record<string, string>;
  body: Uint8Array;
}

export interface Signer {
  /** The headers with SigV4 in `authorization`; all of those given are signed, and the body. */
  signHeaders(request: UnsignedBody, options: { now: Date }): Promise<Headers>;
  /** A URL that whoever has it may use, for as many seconds, with these headers as they are. */
  presignUrl(
    request: Unsigned & { headers?: Record<string, string> },
    options: { now: Date; expiresIn: number },
  ): Promise<string>;
}

/** SigV4 for S3. Made once per bucket: the key of a day is derived once. */
export function createSigner({ accessKey, secretKey, region }: SigningKeys): Signer {
  const keys = { service: 's3', region, accessKeyId: accessKey, secretAccessKey: secretKey, cache: new Map() };
  return {
    async signHeaders({ method, url, headers, body }, { now }) {
      const hash = createHash('sha256').update(body).digest('hex');
      const all = { ...headers, 'x-amz-content-sha256': hash };
      const at = { method, url: url.href, headers: all, datetime: toTimestamp(now) };
      return (await new AwsV4Signer({ ...keys, ...at, allHeaders: true }).sign()).headers;
    },
    async presignUrl({ method, url, headers = {} }, { now, expiresIn }) {
      const expiring = new URL(url);
      expiring.searchParams.set('X-Amz-Expires', String(expiresIn));
      const at = { method, url: expiring.href, headers, datetime: toTimestamp(now) };
      return (await new AwsV4Signer({ ...keys, ...at, signQuery: true, allHeaders: true }).sign()).url.href;
    },
  };
}

/** The form of a path that is signed, and sent as it is. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeUri).join('/');
}

export function formatQuery(params: Record<string, string>): string {
  return Object.entries(params)
    .map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`)
    .join('&');
}

// --- internal ---

/** Percent-encodes all but the unreserved characters. */
function encodeUri(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toTimestamp(time: Date): string {
  return time.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
}
