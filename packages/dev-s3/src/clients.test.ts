import { randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import type { LookupFunction } from 'node:net';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { S3mini } from 's3mini';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BUCKET, KEYS, newClient, startFixture } from './_setup.ts';
import type { Fixture } from './_setup.ts';

const PART = 5 * 1_048_576;

/** Bytes, and what a client may take for the framing of a body or the end of a text. */
const BODIES: [string, Uint8Array][] = [
  ['nothing', new Uint8Array()],
  ['one byte', new Uint8Array([0])],
  ['100,000 bytes', randomBytes(100_000)],
  ['what looks like pieces', Buffer.from('5;chunk-signature=00\r\nabcde\r\n0;chunk-signature=00\r\n\r\n')],
];

const toMini = ({ server }: Fixture, secretAccessKey = KEYS.secretKey): S3mini =>
  new S3mini({
    endpoint: `${server.url}/${BUCKET}`,
    accessKeyId: KEYS.accessKey,
    secretAccessKey,
    region: 'us-east-1',
  });

describe('a client that is not the AWS SDK', () => {
  test.each(BODIES)('puts and gets %s, byte for byte', async (_, body) => {
    const fixture = await startFixture();
    const mini = toMini(fixture);
    await mini.putObject('a b/ü.bin', Buffer.from(body), 'image/png');
    expect(Buffer.from((await mini.getObjectArrayBuffer('a b/ü.bin')) ?? new ArrayBuffer()).equals(body)).toBe(true);
    const { Body, ContentType } = await fixture.s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'a b/ü.bin' }));
    expect([ContentType, Buffer.from((await Body?.transformToByteArray()) ?? []).equals(body)]).toEqual([
      'image/png',
      true,
    ]);
  });

  test('uploads in parts, reads ranges, copies, lists and deletes', async () => {
    const fixture = await startFixture();
    const mini = toMini(fixture);
    const whole = randomBytes(PART + 1_000);
    const uploadId = await mini.getMultipartUploadId('big');
    const parts = [
      await mini.uploadPart('big', uploadId, whole.subarray(0, PART), 1),
      await mini.uploadPart('big', uploadId, whole.subarray(PART), 2),
    ];
    await mini.completeMultipartUpload('big', uploadId, parts);
    const range = await mini.getObjectRaw('big', false, PART - 10, PART + 10);
    expect(range.status).toBe(206);
    expect(Buffer.from(await range.arrayBuffer()).equals(whole.subarray(PART - 10, PART + 10))).toBe(true);
    await mini.copyObject('big', 'copy');
    expect(Buffer.from((await mini.getObjectArrayBuffer('copy')) ?? new ArrayBuffer()).equals(whole)).toBe(true);
    expect((await mini.listObjects())?.map(({ Key }) => Key)).toEqual(['big', 'copy']);
    expect(await mini.deleteObjects(['big', 'copy', 'nope'])).toEqual([true, true, true]);
    expect((await fixture.s3.send(new ListObjectsV2Command({ Bucket: BUCKET }))).KeyCount).toBe(0);
  });

  test('is refused with another secret, and changes nothing', async () => {
    const fixture = await startFixture();
    const wrong = toMini(fixture, 'wrong');
    await expect(wrong.putObject('a', 'x')).rejects.toThrow(/403|SignatureDoesNotMatch/);
    expect(await toMini(fixture).objectExists('a')).toBe(false);
  });
});

describe('a client that writes the bucket before the host', () => {
  const lookup: LookupFunction = (_, options, done) =>
    options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4);
  const toHostStyle = ({ server }: Fixture, secretKey = KEYS.secretKey) => {
    const httpAgent = new Agent({ lookup });
    onTestFinished(() => httpAgent.destroy());
    const endpoint = `http://localhost:${new URL(server.url).port}`;
    return newClient(endpoint, { forcePathStyle: false, requestHandler: { httpAgent }, secretKey });
  };

  test('reads and writes the same objects as one that writes it into the path', async () => {
    const fixture = await startFixture();
    const s3 = toHostStyle(fixture);
    const body = randomBytes(100_000);
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'box/a ü', Body: body }));
    const { Body } = await fixture.s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'box/a ü' }));
    expect(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(body)).toBe(true);
    const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }));
    expect(Contents?.map(({ Key }) => Key)).toEqual(['box/a ü']);
  });

  test('is refused with another secret and another bucket as the other is', async () => {
    const fixture = await startFixture();
    const put = (bucket: string) => new PutObjectCommand({ Bucket: bucket, Key: 'a', Body: 'x' });
    await expect(toHostStyle(fixture, 'wrong').send(put(BUCKET))).rejects.toMatchObject({
      name: 'SignatureDoesNotMatch',
    });
    await expect(toHostStyle(fixture).send(put('other'))).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });
});
