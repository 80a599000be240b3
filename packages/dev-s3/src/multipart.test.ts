import { createHash, randomBytes } from 'node:crypto';

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';

import { BUCKET, listFiles, startFixture } from './_setup.ts';

const MIB = 1024 * 1024;
const target = { Bucket: BUCKET, Key: 'dir/big' };

test('parts become one object, in the order of their numbers', async () => {
  const { s3, upload, dir } = await startUpload({ ContentType: 'text/plain', Metadata: { a: '1' } });
  const [first, second] = [randomBytes(5 * MIB), randomBytes(1000)];
  const part2 = await s3.send(new UploadPartCommand({ ...upload, PartNumber: 2, Body: second }));
  await s3.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'replaced by the next' }));
  const part1 = await s3.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: first }));
  expect((await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }))).KeyCount).toBe(0);

  const Parts = [
    { PartNumber: 1, ETag: part1.ETag },
    { PartNumber: 2, ETag: part2.ETag },
  ];
  const done = await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  const md5s = [first, second].map((part) => createHash('md5').update(part).digest());
  const tag = `"${createHash('md5').update(Buffer.concat(md5s)).digest('hex')}-2"`;
  expect(done).toMatchObject({ Bucket: BUCKET, Key: target.Key, ETag: tag });
  const get = await s3.send(new GetObjectCommand(target));
  expect(get).toMatchObject({ ContentType: 'text/plain', Metadata: { a: '1' }, ETag: tag });
  expect(Buffer.from(await get.Body!.transformToByteArray()).equals(Buffer.concat([first, second]))).toBe(true);
  expect(await listFiles(dir)).toHaveLength(1);
});

test('parts are listed in pages', async () => {
  const { s3, upload } = await startUpload();
  for (const PartNumber of [3, 1, 2]) await s3.send(new UploadPartCommand({ ...upload, PartNumber, Body: 'x' }));
  const first = await s3.send(new ListPartsCommand({ ...upload, MaxParts: 2 }));
  expect(first.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([1, 2]);
  expect(first).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '2' });
  const rest = await s3.send(new ListPartsCommand({ ...upload, PartNumberMarker: first.NextPartNumberMarker }));
  expect(rest.Parts).toMatchObject([{ PartNumber: 3, Size: 1, ETag: '"9dd4e461268c8034f5c8564e155c67a6"' }]);
});

test('a part can be copied from an object, whole or in part', async () => {
  const { s3, upload } = await startUpload();
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'source', Body: 'abcdefgh' }));
  const copy = { ...upload, PartNumber: 1, CopySource: `${BUCKET}/source`, CopySourceRange: 'bytes=2-4' };
  const part = await s3.send(new UploadPartCopyCommand(copy));
  const Parts = [{ PartNumber: 1, ETag: part.CopyPartResult?.ETag }];
  await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  const get = await s3.send(new GetObjectCommand(target));
  expect(await get.Body?.transformToString()).toBe('cde');
});

test('an aborted upload leaves nothing and takes no more parts', async () => {
  const { s3, upload, dir } = await startUpload();
  await s3.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'x' }));
  await s3.send(new AbortMultipartUploadCommand(upload));
  expect(await listFiles(dir)).toEqual([]);
  const late = s3.send(new UploadPartCommand({ ...upload, PartNumber: 2, Body: 'x' }));
  await expect(late).rejects.toMatchObject({ name: 'NoSuchUpload' });
});

test('a list of parts that does not fit is refused, and the upload stays open', async () => {
  const { s3, upload } = await startUpload();
  const put = (PartNumber: number) => s3.send(new UploadPartCommand({ ...upload, PartNumber, Body: 'small' }));
  const ETag = (await put(1)).ETag;
  await put(2);
  const complete = (Parts: { PartNumber: number; ETag?: string | undefined }[]) =>
    s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  const [one, two] = [1, 2].map((PartNumber) => ({ PartNumber, ETag }));
  await expect(complete([])).rejects.toMatchObject({ name: 'MalformedXML' });
  await expect(complete([two!, one!])).rejects.toMatchObject({ name: 'InvalidPartOrder' });
  await expect(complete([one!, one!])).rejects.toMatchObject({ name: 'InvalidPartOrder' });
  await expect(complete([{ PartNumber: 1, ETag: '"no"' }])).rejects.toMatchObject({ name: 'InvalidPart' });
  await expect(complete([one!, { PartNumber: 3, ETag }])).rejects.toMatchObject({ name: 'InvalidPart' });
  await expect(complete([one!, two!])).rejects.toMatchObject({ name: 'EntityTooSmall' });
  await complete([one!]);
});

test('an upload id is good for its own key only, and is never a path', async () => {
  const { s3, upload } = await startUpload();
  const list = (options: object) => s3.send(new ListPartsCommand({ ...upload, ...options }));
  await expect(list({ Key: 'other' })).rejects.toMatchObject({ name: 'NoSuchUpload' });
  await expect(list({ UploadId: '../objects' })).rejects.toMatchObject({ name: 'NoSuchUpload' });
});

async function startUpload(options: { ContentType?: string; Metadata?: Record<string, string> } = {}) {
  const fixture = await startFixture();
  const { UploadId } = await fixture.s3.send(new CreateMultipartUploadCommand({ ...target, ...options }));
  return { ...fixture, upload: { ...target, UploadId } };
}
