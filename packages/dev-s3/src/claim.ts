import { S3Error } from './errors.ts';
import { findHeader, findParam } from './request.ts';
import type { S3Request } from './request.ts';

export type SignedRequest = Pick<S3Request, 'method' | 'rawPath' | 'query' | 'headers'>;

/** What a request says about its own signature; none of it is verified yet. */
export interface Claim {
  accessKey: string;
  day: string;
  region: string;
  scope: string;
  /** As in the string to sign: `20130524T000000Z`. */
  timestamp: string;
  signedHeaders: string[];
  signature: string;
  /** Seconds a presigned URL lives; undefined for a signed header. */
  expires: number | undefined;
}

export const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Of the `Authorization` header or of a presigned URL. Throws when there is none, or it is malformed. */
export function readClaim(request: SignedRequest): Claim {
  const authorization = findHeader(request, 'authorization');
  const presigned = findParam(request, 'X-Amz-Algorithm') ?? findParam(request, 'X-Amz-Signature');
  if (authorization !== undefined && presigned !== undefined) {
    throw new S3Error('InvalidArgument', 'The request is signed in its header and in its query. Keep one of the two.');
  }
  if (authorization !== undefined) return readHeaderClaim(request, authorization);
  if (presigned !== undefined) return readQueryClaim(request);
  throw new S3Error('AccessDenied', 'The request is not signed. This server answers no anonymous request.');
}

/** The time of a timestamp, undefined where it does not read like one. */
export function toTime(timestamp: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(timestamp);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}

// --- internal ---

const MAX_EXPIRES_SECONDS = 7 * 24 * 3600;

function readHeaderClaim(request: SignedRequest, authorization: string): Claim {
  const code = 'AuthorizationHeaderMalformed';
  if (!authorization.startsWith(`${ALGORITHM} `)) {
    throw new S3Error('InvalidRequest', `This authorization mechanism is not supported. Use ${ALGORITHM}.`);
  }
  const parts = new Map<string, string>();
  for (const part of authorization.slice(ALGORITHM.length).split(',')) {
    const equals = part.indexOf('=');
    if (equals !== -1) parts.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  return {
    ...readCredential(parts.get('Credential'), code),
    timestamp: readHeaderTimestamp(request),
    signedHeaders: readSignedHeaders(parts.get('SignedHeaders'), code),
    signature: parts.get('Signature') ?? '',
    expires: undefined,
  };
}

function readQueryClaim(request: SignedRequest): Claim {
  const code = 'AuthorizationQueryParametersError';
  if (findParam(request, 'X-Amz-Algorithm') !== ALGORITHM) {
    throw new S3Error(code, `X-Amz-Algorithm must be "${ALGORITHM}".`);
  }
  const timestamp = findParam(request, 'X-Amz-Date') ?? '';
  if (toTime(timestamp) === undefined) throw new S3Error(code, 'X-Amz-Date must read like "20130524T000000Z".');
  const expires = findParam(request, 'X-Amz-Expires') ?? '';
  if (!/^\d{1,6}$/.test(expires) || Number(expires) < 1 || Number(expires) > MAX_EXPIRES_SECONDS) {
    throw new S3Error(code, `X-Amz-Expires must be a number of seconds from 1 to ${MAX_EXPIRES_SECONDS}.`);
  }
  return {
    ...readCredential(findParam(request, 'X-Amz-Credential'), code),
    timestamp,
    signedHeaders: readSignedHeaders(findParam(request, 'X-Amz-SignedHeaders'), code),
    signature: findParam(request, 'X-Amz-Signature') ?? '',
    expires: Number(expires),
  };
}

type MalformedCode = 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError';

function readCredential(credential: string | undefined, code: MalformedCode) {
  // The access key comes first and may hold slashes itself.
  const parts = (credential ?? '').split('/');
  const [day, region, service, suffix] = parts.slice(-4);
  const accessKey = parts.slice(0, -4).join('/');
  if (!accessKey || !/^\d{8}$/.test(day ?? '') || !region || service !== 's3' || suffix !== 'aws4_request') {
    throw new S3Error(code, 'The credential must read "<access key>/YYYYMMDD/<region>/s3/aws4_request".');
  }
  return { accessKey, day: day as string, region, scope: parts.slice(-4).join('/') };
}

function readSignedHeaders(text: string | undefined, code: MalformedCode): string[] {
  const names = (text ?? '').split(';').filter((name) => name !== '');
  if (names.length === 0) throw new S3Error(code, 'The list of signed headers is missing or empty.');
  return names;
}

function readHeaderTimestamp(request: SignedRequest): string {
  const amzDate = findHeader(request, 'x-amz-date');
  if (amzDate !== undefined && toTime(amzDate) !== undefined) return amzDate;
  const time = Date.parse(findHeader(request, 'date') ?? '');
  if (amzDate !== undefined || Number.isNaN(time)) {
    throw new S3Error('AccessDenied', 'A signed request needs a valid x-amz-date header, such as "20130524T000000Z".');
  }
  return new Date(time).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
}
