import { answerXml } from './answer.ts';
import type { Answer, Call } from './answer.ts';
import { readAttributes } from './attributes.ts';
import { checkBucket, checkBucketName } from './buckets.ts';
import { checkReadConditions, readWriteGuard } from './conditions.ts';
import { S3Error } from './errors.ts';
import { openOrFail } from './objects.ts';
import { decodeUri } from './request.ts';
import type { OpenObject } from './store.ts';

/** CopyObject: one object to another key, here or in another bucket. */
export async function copyObject(call: Call): Promise<Answer> {
  const { request, objects, settings } = call;
  const source = await openCopySource(call);
  try {
    const replaces = settings.get('x-amz-metadata-directive')?.toUpperCase() === 'REPLACE';
    const attributes = readAttributes(call);
    const isSame = source.bucket === request.bucket && source.key === request.key;
    if (isSame && !replaces) {
      throw new S3Error(
        'InvalidRequest',
        'An object can be copied to itself only with new metadata (x-amz-metadata-directive: REPLACE).',
      );
    }
    const { headers, metadata, checksum } = source.object.record;
    const record = await objects.writeObject(request.bucket, request.key, {
      body: source.object.read(),
      describe: () => ({ ...(replaces ? attributes : { headers, metadata }), checksum }),
      guard: readWriteGuard(request),
    });
    return answerXml([
      'CopyObjectResult',
      [
        ['LastModified', record.lastModified],
        ['ETag', `"${record.etag}"`],
      ],
    ]);
  } finally {
    await source.object.close();
  }
}

/** The object that `x-amz-copy-source` names, once the `x-amz-copy-source-if-` conditions hold. */
export async function openCopySource(call: Call): Promise<{ bucket: string; key: string; object: OpenObject }> {
  const { bucket, key } = parseCopySource(call.settings.get('x-amz-copy-source') ?? '');
  checkBucketName(bucket);
  await checkBucket(call, bucket);
  const object = await openOrFail(call, bucket, key);
  try {
    checkReadConditions(object.record, (name) => call.settings.get(`x-amz-copy-source-${name}`));
  } catch (error) {
    await object.close();
    // A copy has no 304: a source that did not change is a condition that does not hold.
    if (error instanceof S3Error && error.code === 'NotModified') {
      throw new S3Error('PreconditionFailed', 'A condition on the source of the copy does not hold.');
    }
    throw error;
  }
  return { bucket, key, object };
}

// --- internal ---

function parseCopySource(source: string): { bucket: string; key: string } {
  const [path = '', version] = source.split('?versionId=', 2);
  if (version !== undefined && version !== 'null') {
    throw new S3Error('NotImplemented', 'This server keeps no versions.');
  }
  const match = /^\/?([^/]+)\/(.+)$/s.exec(decodeUri(path));
  if (!match) throw new S3Error('InvalidArgument', `The copy source "${source}" must read "<bucket>/<key>".`);
  const [, bucket = '', key = ''] = match;
  return { bucket, key };
}
