import { BoxError } from '../errors.ts';
import { capAnswer } from '../http/capped-answer.ts';
import { createSigner, encodePath, formatQuery } from './sign.ts';
import type { Signer, UnsignedBody } from './sign.ts';
import { childText, readRoot } from './xml.ts';
import type { XmlElement } from './xml.ts';

/** A bucket of an S3 backend, and how it is reached. */
export interface S3Settings {
  endpoint: string;
  bucket: string;
  region: string;
  accessKey: string;
  secretKey: string;
  /** True: the bucket is in the path; false: it is the subdomain. */
  forcePathStyle: boolean;
}

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Default: the bucket itself. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Milliseconds for the whole answer; with `streams`, for its beginning. Default: a minute. */
  waitMs?: number;
  /** The body of a good answer is read piece by piece, however long it is. */
  streams?: true;
}

export interface PresignRequest {
  method: 'GET' | 'PUT';
  key: string;
  /** Seconds. */
  expiresIn: number;
  /** Of the answer, such as `response-content-disposition`. */
  query?: Record<string, string>;
  /** Whoever uses the address must send them as they are. */
  headers?: Record<string, string>;
}

export interface S3Bucket {
  readonly name: string;
  /**
   * An answer of the backend that is good, or 404 for a key. Throws `store_unavailable` where trying again may help, and
   * `storage_refused` with the backend's own code where it does not.
   */
  send(request: S3Request): Promise<Response>;
  /** The same with headers that hold only under a condition, and without them where the backend knows no such condition. */
  sendIf(request: S3Request, conditions: Record<string, string>): Promise<Response>;
  presign(request: PresignRequest): Promise<string>;
}

export function openBucket(settings: S3Settings): S3Bucket {
  const signer = createSigner(settings);
  const bucket: S3Bucket = {
    name: settings.bucket,
    async send({ method, key, query = {}, headers = {}, body = NOTHING, waitMs = ANSWER_MS, streams }) {
      const url = toUrl(settings, key);
      url.search = formatQuery(query);
      const whole = await request(signer, { method, url, headers, body }, { waitMs, streams });
      if (streams && whole.ok) return whole;
      const isObject = method === 'GET' && key !== undefined && whole.ok;
      const mostBytes = isObject ? OBJECT_BYTES : ANSWER_BYTES;
      const answer = capAnswer(whole, { mostBytes, tooLong: () => tooLong(mostBytes) });
      if (answer.ok) return answer;
      const code = await readCode(answer);
      if (key !== undefined && answer.status === 404 && code !== 'NoSuchBucket') return answer;
      throw toError(answer.status, code, settings);
    },
    async sendIf(asked, conditions) {
      try {
        return await bucket.send({ ...asked, headers: { ...asked.headers, ...conditions } });
      } catch (error) {
        if (!isRefusal(error, 501)) throw error;
        return bucket.send(asked);
      }
    },
    async presign({ method, key, expiresIn, query = {}, headers = {} }) {
      const url = toUrl(settings, key);
      url.search = formatQuery(query);
      return signer.presignUrl({ method, url, headers }, { expiresIn, now: new Date() });
    },
  };
  return bucket;
}

/** Whether it is what a backend refused with that status. */
export function isRefusal(error: unknown, ...statuses: number[]): error is BoxError {
  if (!(error instanceof BoxError) || error.code !== 'storage_refused') return false;
  return statuses.includes(error.details?.['status'] as number);
}

/** A document that a backend may begin as a success and end as an error. Throws as `send` does. */
export async function readResult(answer: Response, bucket: S3Bucket): Promise<XmlElement> {
  const root = await readXml(answer);
  if (root.name.replace(/^.*:/, '') !== 'Error') return root;
  throw toError(answer.status, childText(root, 'Code'), { bucket: bucket.name });
}

/** Throws `storage_refused` for what is no XML: something else than an S3 backend answers there. */
export async function readXml(answer: Response): Promise<XmlElement> {
  try {
    return readRoot(await answer.text());
  } catch (cause) {
    if (cause instanceof BoxError) throw cause;
    const message = 'What answers at SVC_S3_ENDPOINT is no S3 backend: it sent no XML.';
    throw new BoxError('storage_refused', message, { cause });
  }
}

// --- internal ---

const NOTHING = new Uint8Array();
const ANSWER_MS = 60_000;
/** Of an object that is read: it lies in memory as a whole. */
const OBJECT_BYTES = 256 * 1_048_576;
/** Of any other answer, such as a list of 1,000 keys. */
const ANSWER_BYTES = 4 * 1_048_576;

function toUrl({ endpoint, bucket, forcePathStyle }: S3Settings, key = ''): URL {
  const url = new URL(endpoint);
  if (!forcePathStyle) url.host = `${bucket}.${url.host}`;
  url.pathname = encodePath(forcePathStyle ? `/${bucket}${key === '' ? '' : `/${key}`}` : `/${key}`);
  return url;
}

async function request(
  signer: Signer,
  unsigned: UnsignedBody,
  { waitMs, streams }: Pick<S3Request, 'streams'> & { waitMs: number },
): Promise<Response> {
  const { method, url, body } = unsigned;
  const waited = new AbortController();
  const timer = streams && setTimeout(() => waited.abort(new Error(`no answer within ${waitMs} ms`)), waitMs);
  try {
    const headers = await signer.signHeaders(unsigned, { now: new Date() });
    const sent = method === 'PUT' || method === 'POST' ? { body: body as Uint8Array<ArrayBuffer> } : {};
    const signal = streams ? waited.signal : AbortSignal.timeout(waitMs);
    // A redirect leads to where the signature is not good.
    return await fetch(url, { method, headers, ...sent, redirect: 'manual', signal });
  } catch (error) {
    const { cause = error } = error as { cause?: { message?: string; code?: string } };
    const { message, code } = cause as { message?: string; code?: string };
    const reason = message || code || String(cause);
    throw new BoxError('store_unavailable', `The object storage does not answer: ${reason}.`, { cause: error });
  } finally {
    // Of a body that is read piece by piece, the platform bounds the time between two pieces.
    clearTimeout(timer);
  }
}

/** The code in the body of an error; undefined where there is none, as in an answer to HEAD or of a proxy. */
async function readCode(answer: Response): Promise<string | undefined> {
  const text = await answer.text().catch(() => '');
  try {
    return childText(readRoot(text), 'Code');
  } catch {
    return undefined;
  }
}

function toError(status: number, code: string | undefined, { bucket }: Pick<S3Settings, 'bucket'>): BoxError {
  const reason = code === undefined ? `${status}` : `${status} ${code}`;
  if ((status >= 500 && status !== 501) || status === 429)
    return new BoxError('store_unavailable', `The object storage failed with ${reason}.`);
  const advice = code === undefined ? ADVICE.none : (ADVICE[code] ?? ADVICE.other);
  return new BoxError('storage_refused', `The object storage refused with ${reason}, bucket "${bucket}". ${advice}`, {
    details: { status, code: code ?? null },
  });
}

function tooLong(limit: number): BoxError {
  const advice =
    'A larger object is read with svc.storage.stream(), or from the address that svc.storage.url() answers.';
  const message = `The object storage answered more than ${limit} bytes, the most that is read. ${advice}`;
  return new BoxError('storage_refused', message, { details: { limit } });
}

/** Which variable to look at. */
const ADVICE: Record<string, string> & { none: string; other: string } = {
  NoSuchBucket: 'Make the bucket, or check SVC_S3_BUCKET and SVC_S3_FORCE_PATH_STYLE.',
  InvalidAccessKeyId: 'Check SVC_S3_ACCESS_KEY.',
  SignatureDoesNotMatch: 'Check SVC_S3_SECRET_KEY.',
  AuthorizationHeaderMalformed: 'Check SVC_S3_REGION.',
  PermanentRedirect: 'Check SVC_S3_REGION and SVC_S3_ENDPOINT.',
  RequestTimeTooSkewed: 'Check the clock of this machine.',
  AccessDenied: 'The keys may not do this: check what SVC_S3_ACCESS_KEY is allowed in the bucket.',
  NotImplemented: 'The backend has no such call.',
  none: 'Check SVC_S3_ENDPOINT, SVC_S3_BUCKET, both keys and SVC_S3_FORCE_PATH_STYLE.',
  other: 'Check what the keys are allowed to do.',
};
