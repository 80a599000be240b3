import { answerEmpty } from './answer.ts';
import type { Answer, Call } from './answer.ts';
import { formatAttributes, formatChecksum, readAttributes, readOverrides } from './attributes.ts';
import { checkReadConditions, readRange, readWriteGuard } from './conditions.ts';
import { S3Error } from './errors.ts';
import { openPayload } from './payload.ts';
import { findHeader } from './request.ts';
import type { OpenObject } from './store.ts';

export async function putObject(call: Call): Promise<Answer> {
  const { request, objects } = call;
  const attributes = readAttributes(call);
  const guard = readWriteGuard(request);
  const payload = openPayload(request, call.authorized);
  const record = await objects.writeObject(request.bucket, request.key, {
    body: payload.body,
    describe: () => ({ ...attributes, checksum: payload.checksum() }),
    guard,
  });
  return answerEmpty(200, { etag: `"${record.etag}"`, ...formatChecksum(record.checksum) });
}

/** GET and HEAD: the same answer, only that HEAD leaves the body out. */
export async function getObject(call: Call): Promise<Answer> {
  const { request } = call;
  const object = await openOrFail(call, request.bucket, request.key);
  try {
    const { record } = object;
    checkReadConditions(record, (name) => findHeader(request, name));
    const range = readRange(request, record);
    const wantsChecksum = call.settings.get('x-amz-checksum-mode')?.toUpperCase() === 'ENABLED' && !range;
    const headers = {
      ...formatAttributes(record),
      ...readOverrides(call),
      ...(wantsChecksum ? formatChecksum(record.checksum) : {}),
      'content-length': String(range ? range.end - range.start + 1 : record.size),
      ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${record.size}` } : {}),
    };
    return { status: range ? 206 : 200, headers, body: { object, range } };
  } catch (error) {
    await object.close();
    throw error;
  }
}

export async function deleteObject({ request, objects }: Call): Promise<Answer> {
  await objects.deleteObject(request.bucket, request.key, readWriteGuard(request));
  return answerEmpty(204);
}

export async function openOrFail(call: Call, bucket: string, key: string): Promise<OpenObject> {
  const object = await call.objects.openObject(bucket, key);
  if (object) return object;
  throw new S3Error('NoSuchKey', `There is no object "${key}" in the bucket "${bucket}".`, { fields: { Key: key } });
}
