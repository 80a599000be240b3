import type { Answer, Call } from './answer.ts';
import { checkBucket, checkBucketName, createBucket, getBucketLocation, headBucket, listBuckets } from './buckets.ts';
import { copyObject } from './copy.ts';
import { deleteObjects } from './delete-many.ts';
import { S3Error } from './errors.ts';
import { listObjectsV1, listObjectsV2 } from './listing.ts';
import { abortUpload, completeUpload, copyPart, createUpload, listParts, uploadPart } from './multipart.ts';
import { deleteObject, getObject, putObject } from './objects.ts';
import { findParam, hasParam } from './request.ts';
import type { S3Request } from './request.ts';

/** Finds the operation of an authorized request and runs it. */
export async function routeCall(call: Call): Promise<Answer> {
  const { request } = call;
  const level = toLevel(request);
  const route = ROUTES.find((candidate) => isMatch(candidate, level, call));
  checkSubresource(request, route);
  if (!route) throw noRoute(request, level);
  if (level !== 'service') checkBucketName(request.bucket);
  if (route.handle !== createBucket && level !== 'service') await checkBucket(call, request.bucket);
  checkKey(request.key);
  return route.handle(call);
}

// --- internal ---

type Level = 'service' | 'bucket' | 'object';

interface Route {
  method: string;
  level: Level;
  /** Query parameters that must be there. */
  params?: readonly string[];
  /** True for the two calls that read another object instead of a body. */
  copies?: true;
  handle(call: Call): Promise<Answer>;
}

// The first match wins, so the more particular is above.
const ROUTES: readonly Route[] = [
  { method: 'GET', level: 'service', handle: listBuckets },
  { method: 'HEAD', level: 'bucket', handle: headBucket },
  { method: 'PUT', level: 'bucket', handle: createBucket },
  { method: 'GET', level: 'bucket', params: ['location'], handle: getBucketLocation },
  { method: 'GET', level: 'bucket', params: ['list-type'], handle: listObjectsV2 },
  { method: 'GET', level: 'bucket', handle: listObjectsV1 },
  { method: 'POST', level: 'bucket', params: ['delete'], handle: deleteObjects },
  { method: 'POST', level: 'object', params: ['uploads'], handle: createUpload },
  { method: 'POST', level: 'object', params: ['uploadId'], handle: completeUpload },
  { method: 'PUT', level: 'object', params: ['uploadId', 'partNumber'], copies: true, handle: copyPart },
  { method: 'PUT', level: 'object', params: ['uploadId', 'partNumber'], handle: uploadPart },
  { method: 'GET', level: 'object', params: ['uploadId'], handle: listParts },
  { method: 'DELETE', level: 'object', params: ['uploadId'], handle: abortUpload },
  { method: 'PUT', level: 'object', copies: true, handle: copyObject },
  { method: 'PUT', level: 'object', handle: putObject },
  { method: 'GET', level: 'object', handle: getObject },
  { method: 'HEAD', level: 'object', handle: getObject },
  { method: 'DELETE', level: 'object', handle: deleteObject },
];

/** Parameters that make another operation of the same method and path. Unanswered, they must not fall through. */
const SUBRESOURCES = new Set(
  (
    'accelerate acl analytics append attributes cors delete encryption intelligent-tiering inventory legal-hold ' +
    'lifecycle list-type location logging metrics notification object-lock ownershipControls partNumber policy ' +
    'policyStatus publicAccessBlock renameObject replication requestPayment restore retention select session ' +
    'tagging torrent uploadId uploads versionId versioning versions website'
  ).split(' '),
);
const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'];
const MAX_KEY_BYTES = 1024;

function toLevel(request: S3Request): Level {
  if (request.bucket === '') return 'service';
  return request.key === '' ? 'bucket' : 'object';
}

function isMatch(route: Route, level: Level, { request, settings }: Call): boolean {
  if (route.method !== request.method || route.level !== level) return false;
  if (route.copies && !settings.has('x-amz-copy-source')) return false;
  return (route.params ?? []).every((name) => hasParam(request, name));
}

function checkSubresource(request: S3Request, route: Route | undefined): void {
  const unread = request.query.find(([name]) => SUBRESOURCES.has(name) && !route?.params?.includes(name))?.[0];
  if (unread === undefined || (unread === 'versionId' && findParam(request, 'versionId') === 'null')) return;
  throw new S3Error('NotImplemented', `This server does not implement ${request.method} with "?${unread}".`);
}

function noRoute(request: S3Request, level: Level): S3Error {
  if (level !== 'service' && METHODS.includes(request.method)) {
    return new S3Error('NotImplemented', `This server does not implement ${request.method} on this kind of resource.`);
  }
  const allowed = level === 'service' ? 'GET' : METHODS.join(', ');
  return new S3Error('MethodNotAllowed', `The method ${request.method} is not allowed here. Use ${allowed}.`, {
    fields: { Method: request.method, ResourceType: level.toUpperCase() },
    headers: { allow: allowed },
  });
}

function checkKey(key: string): void {
  const bytes = Buffer.byteLength(key);
  if (bytes <= MAX_KEY_BYTES) return;
  throw new S3Error('KeyTooLongError', `A key may have ${MAX_KEY_BYTES} bytes; this one has ${bytes}.`, {
    fields: { Size: String(bytes), MaxSizeAllowed: String(MAX_KEY_BYTES) },
  });
}
