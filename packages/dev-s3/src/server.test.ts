import { Readable } from 'node:stream';

import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';

import { BUCKET, newClient, newFolder, startFixture, startServer } from './_setup.ts';
import { startObjectServer } from './server.ts';

describe('what other embedded servers got wrong', () => {
  test('a stream of 100,000 bytes is stored as exactly those bytes', async () => {
    const { s3 } = await startFixture();
    const data = Buffer.alloc(100_000, 'abcdefghij');
    const body = Readable.from([data.subarray(0, 30_001), data.subarray(30_001)]);
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'stream', Body: body, ContentLength: data.length }));
    const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'stream' }));
    expect(got.ContentLength).toBe(100_000);
    expect(got.ContentEncoding).toBeUndefined();
    expect(Buffer.from(await got.Body!.transformToByteArray()).equals(data)).toBe(true);
  });

  test('a wrong secret gets 403 and stores nothing', async () => {
    const { s3, server } = await startFixture();
    const stranger = newClient(server.url, { secretKey: 'another secret' });
    const put = stranger.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'x' }));
    await expect(put).rejects.toMatchObject({ name: 'SignatureDoesNotMatch', $metadata: { httpStatusCode: 403 } });
    const { KeyCount } = await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }));
    expect(KeyCount).toBe(0);
  });
});

describe('buckets', () => {
  test('the buckets asked for are there, and more can be made', async () => {
    const { s3 } = await startFixture();
    await s3.send(new CreateBucketCommand({ Bucket: 'another' }));
    const { Buckets } = await s3.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual(['another', BUCKET]);
    await expect(s3.send(new HeadBucketCommand({ Bucket: 'another' }))).resolves.toBeDefined();
    const { LocationConstraint } = await s3.send(new GetBucketLocationCommand({ Bucket: BUCKET }));
    expect(LocationConstraint ?? '').toBe('');
  });

  test('a bucket is made once, and its name must be valid', async () => {
    const { s3 } = await startFixture();
    await expect(s3.send(new CreateBucketCommand({ Bucket: BUCKET }))).rejects.toMatchObject({
      name: 'BucketAlreadyOwnedByYou',
    });
    await expect(s3.send(new CreateBucketCommand({ Bucket: '.tmp' }))).rejects.toMatchObject({
      name: 'InvalidBucketName',
    });
  });

  test('a missing bucket is NoSuchBucket for every call', async () => {
    const { s3 } = await startFixture();
    const there = { Bucket: 'missing', Key: 'a' };
    await expect(s3.send(new PutObjectCommand({ ...there, Body: 'x' }))).rejects.toMatchObject({
      name: 'NoSuchBucket',
    });
    await expect(s3.send(new GetObjectCommand(there))).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(s3.send(new ListObjectsV2Command(there))).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(s3.send(new HeadBucketCommand(there))).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } });
  });
});

describe('objects', () => {
  test('headers and metadata come back as they were given', async () => {
    const { s3 } = await startFixture();
    const given = {
      ContentType: 'text/plain; charset=utf-8',
      CacheControl: 'max-age=60',
      ContentDisposition: 'attachment; filename="a b.txt"',
      ContentEncoding: 'identity',
      ContentLanguage: 'de',
      Metadata: { color: 'blue  green', empty: '', __proto__x: 'y' },
    };
    const put = await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'hello', ...given }));
    expect(put.ETag).toBe('"5d41402abc4b2a76b9719d911017c592"');
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'a' }));
    expect(head).toMatchObject({ ...given, ETag: put.ETag, ContentLength: 5 });
    const get = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'a' }));
    expect(get).toMatchObject({ ...given, ETag: put.ETag, ContentLength: 5 });
    expect(await get.Body?.transformToString()).toBe('hello');
  });

  // node:http sends headers as UTF-8 before a text and as latin1 before bytes. Both are signed as UTF-8.
  test.each([
    ['text', 'x', Buffer.from('Zoë', 'utf8').toString('latin1')],
    ['bytes', Buffer.from('x'), 'Zoë'],
  ])('metadata beyond ASCII, sent with a body of %s, comes back byte for byte', async (_, Body, name) => {
    const { s3 } = await startFixture();
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body, Metadata: { name: 'Zoë' } }));
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'a' }));
    expect(head.Metadata).toEqual({ name });
  });

  test('an empty object has no bytes and the MD5 of nothing', async () => {
    const { s3 } = await startFixture();
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'empty', Body: Buffer.alloc(0) }));
    const get = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'empty' }));
    expect(get).toMatchObject({ ContentLength: 0, ETag: '"d41d8cd98f00b204e9800998ecf8427e"' });
    expect(await get.Body?.transformToString()).toBe('');
  });

  test.each(['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const)(
    'a %s checksum is verified and given back',
    async (name) => {
      const { s3 } = await startFixture();
      const data = Buffer.alloc(70_000, 'checksum');
      const target = { Bucket: BUCKET, Key: name };
      // The client computes it for a stream, sends it as a trailer, and checks it again on the way back.
      const put = await s3.send(
        new PutObjectCommand({
          ...target,
          Body: Readable.from([data]),
          ContentLength: data.length,
          ChecksumAlgorithm: name,
        }),
      );
      const get = await s3.send(new GetObjectCommand({ ...target, ChecksumMode: 'ENABLED' }));
      expect(get[`Checksum${name}`]).toBe(put[`Checksum${name}`]);
      expect(get[`Checksum${name}`]).toMatch(/=$/);
      expect((await get.Body?.transformToByteArray())?.length).toBe(data.length);
    },
  );

  test('an object is replaced whole, and deleting it twice is fine', async () => {
    const { s3 } = await startFixture();
    const target = { Bucket: BUCKET, Key: 'a' };
    await s3.send(new PutObjectCommand({ ...target, Body: 'a long first version', Metadata: { version: '1' } }));
    await s3.send(new PutObjectCommand({ ...target, Body: 'second' }));
    const get = await s3.send(new GetObjectCommand(target));
    expect(await get.Body?.transformToString()).toBe('second');
    expect(get.Metadata).toEqual({});
    await s3.send(new DeleteObjectCommand(target));
    await s3.send(new DeleteObjectCommand(target));
    await expect(s3.send(new GetObjectCommand(target))).rejects.toMatchObject({ name: 'NoSuchKey', Key: 'a' });
    await expect(s3.send(new HeadObjectCommand(target))).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } });
  });

  test('many objects are deleted by one call', async () => {
    const { s3 } = await startFixture();
    const keys = ['a', ' b & <c> ', 'd\r\n"e"', 'ü'];
    for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: Key }));
    const Objects = [...keys, 'missing'].map((Key) => ({ Key }));
    const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));
    expect(Deleted?.length).toBe(5);
    expect(Errors ?? []).toEqual([]);
    expect((await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }))).KeyCount).toBe(0);
  });
});

describe('ranges and conditions', () => {
  test.each([
    ['bytes=0-4', 'abcde', 'bytes 0-4/26'],
    ['bytes=24-', 'yz', 'bytes 24-25/26'],
    ['bytes=-3', 'xyz', 'bytes 23-25/26'],
    ['bytes=25-1000', 'z', 'bytes 25-25/26'],
    ['bytes=-1000', 'abcdefghijklmnopqrstuvwxyz', 'bytes 0-25/26'],
  ])('%s gives "%s"', async (Range, text, ContentRange) => {
    const { s3, target } = await putAlphabet();
    const get = await s3.send(new GetObjectCommand({ ...target, Range }));
    expect(get.$metadata.httpStatusCode).toBe(206);
    expect(get).toMatchObject({ ContentRange, ContentLength: text.length });
    expect(await get.Body?.transformToString()).toBe(text);
  });

  test.each(['bytes=26-', 'bytes=26-30', 'bytes=-0'])('%s is outside the object', async (Range) => {
    const { s3, target } = await putAlphabet();
    await expect(s3.send(new GetObjectCommand({ ...target, Range }))).rejects.toMatchObject({
      name: 'InvalidRange',
      $metadata: { httpStatusCode: 416 },
    });
  });

  test('a range that reads over the end of the small-file cache is right', async () => {
    const { s3 } = await startFixture();
    const data = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 251));
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'big', Body: data }));
    const get = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'big', Range: 'bytes=1000-290000' }));
    expect(Buffer.from(await get.Body!.transformToByteArray()).equals(data.subarray(1000, 290_001))).toBe(true);
  });

  test('a read can depend on the ETag and on the date', async () => {
    const { s3, target, ETag } = await putAlphabet();
    const future = new Date(Date.now() + 60_000);
    const past = new Date(Date.now() - 60_000);
    await expect(s3.send(new GetObjectCommand({ ...target, IfNoneMatch: ETag }))).rejects.toMatchObject(
      withStatus(304),
    );
    await expect(s3.send(new GetObjectCommand({ ...target, IfModifiedSince: future }))).rejects.toMatchObject(
      withStatus(304),
    );
    await expect(s3.send(new GetObjectCommand({ ...target, IfMatch: '"no"' }))).rejects.toMatchObject(withStatus(412));
    await expect(s3.send(new GetObjectCommand({ ...target, IfUnmodifiedSince: past }))).rejects.toMatchObject(
      withStatus(412),
    );
    const match = await s3.send(new GetObjectCommand({ ...target, IfMatch: ETag, IfUnmodifiedSince: past }));
    expect(match.$metadata.httpStatusCode).toBe(200);
  });

  test('a write can depend on the object being there or not', async () => {
    const { s3, target, ETag } = await putAlphabet();
    const put = (options: object) => s3.send(new PutObjectCommand({ ...target, Body: 'new', ...options }));
    await expect(put({ IfNoneMatch: '*' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    await expect(put({ IfMatch: '"no"' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    await expect(put({ Key: 'other', IfMatch: ETag })).rejects.toMatchObject({ name: 'NoSuchKey' });
    await put({ IfMatch: ETag });
    await put({ Key: 'other', IfNoneMatch: '*' });
  });

  test('of many writers that want to be first, one is', async () => {
    const { s3 } = await startFixture();
    const writes = Array.from({ length: 10 }, (_, index) =>
      s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'lock', Body: String(index), IfNoneMatch: '*' })),
    );
    const results = await Promise.allSettled(writes);
    expect(results.filter((result) => result.status === 'fulfilled').length).toBe(1);
  });
});

describe('copies', () => {
  test('a copy takes data and metadata along, or has metadata of its own', async () => {
    const { s3 } = await startFixture();
    const Key = 'from a/b+c ü.txt';
    await s3.send(
      new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'data', ContentType: 'text/plain', Metadata: { a: '1' } }),
    );
    const CopySource = `${BUCKET}/${encodeURIComponent(Key)}`;
    await s3.send(new CopyObjectCommand({ Bucket: BUCKET, Key: 'same', CopySource }));
    const own = { ContentType: 'text/html', Metadata: { b: '2' } };
    await s3.send(
      new CopyObjectCommand({ Bucket: BUCKET, Key: 'own', CopySource, MetadataDirective: 'REPLACE', ...own }),
    );
    const same = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'same' }));
    expect(same).toMatchObject({ ContentType: 'text/plain', Metadata: { a: '1' } });
    expect(await same.Body?.transformToString()).toBe('data');
    expect(await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'own' }))).toMatchObject(own);
  });

  test('an object is copied onto itself only with new metadata', async () => {
    const { s3 } = await startFixture();
    const target = { Bucket: BUCKET, Key: 'a', CopySource: `/${BUCKET}/a` };
    await s3.send(new PutObjectCommand({ ...target, Body: 'data' }));
    await expect(s3.send(new CopyObjectCommand(target))).rejects.toMatchObject({ name: 'InvalidRequest' });
    await s3.send(new CopyObjectCommand({ ...target, MetadataDirective: 'REPLACE', Metadata: { b: '2' } }));
    const get = await s3.send(new GetObjectCommand(target));
    expect(get.Metadata).toEqual({ b: '2' });
    expect(await get.Body?.transformToString()).toBe('data');
  });

  test('a source that is missing or does not match is refused', async () => {
    const { s3 } = await startFixture();
    const copy = (options: object) =>
      s3.send(new CopyObjectCommand({ Bucket: BUCKET, Key: 'to', CopySource: `${BUCKET}/a`, ...options }));
    await expect(copy({})).rejects.toMatchObject({ name: 'NoSuchKey' });
    await expect(copy({ CopySource: 'missing/a' })).rejects.toMatchObject({ name: 'NoSuchBucket' });
    const { ETag } = await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'data' }));
    await expect(copy({ CopySourceIfNoneMatch: ETag })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    await expect(copy({ CopySourceIfMatch: '"no"' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });
});

describe('starting and stopping', () => {
  test('a restart keeps everything', async () => {
    const dir = await newFolder();
    const first = await startServer(dir);
    const put = new PutObjectCommand({ Bucket: BUCKET, Key: 'kept', Body: 'data', Metadata: { a: '1' } });
    await newClient(first.url).send(put);
    await first.close();
    const second = await startServer(dir);
    const get = await newClient(second.url).send(new GetObjectCommand({ Bucket: BUCKET, Key: 'kept' }));
    expect(await get.Body?.transformToString()).toBe('data');
    expect(get.Metadata).toEqual({ a: '1' });
  });

  test('a busy port is named', async () => {
    const { server } = await startFixture();
    const port = Number(new URL(server.url).port);
    const start = startObjectServer({ dir: await newFolder(), port, accessKey: 'a', secretKey: 'b', buckets: [] });
    await expect(start).rejects.toMatchObject({ code: 'port_busy', message: expect.stringContaining(`Port ${port} `) });
  });
});

async function putAlphabet() {
  const fixture = await startFixture();
  const target = { Bucket: BUCKET, Key: 'abc' };
  const { ETag = '' } = await fixture.s3.send(new PutObjectCommand({ ...target, Body: 'abcdefghijklmnopqrstuvwxyz' }));
  return { ...fixture, target, ETag };
}

function withStatus(code: number) {
  return { $metadata: { httpStatusCode: code } };
}
