import { createHash } from 'node:crypto';

import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { expect, test } from 'vitest';

import { BUCKET, newClient, startFixture } from './_setup.ts';

test('a presigned PUT stores the body with the headers and metadata it was signed for', async () => {
  const { s3 } = await startFixture();
  const target = { Bucket: BUCKET, Key: 'a b/ü+(1).txt' };
  // The signer writes the checksum of an empty body into the query, which says nothing about the upload.
  const url = await getSignedUrl(s3, new PutObjectCommand({ ...target, Metadata: { owner: 'Zoë' } }));
  const put = await fetch(url, { method: 'PUT', body: 'uploaded', headers: { 'content-type': 'text/plain' } });
  expect(put.status).toBe(200);
  expect(put.headers.get('etag')).toBe(`"${createHash('md5').update('uploaded').digest('hex')}"`);
  const head = await s3.send(new HeadObjectCommand(target));
  expect(head).toMatchObject({ ContentType: 'text/plain', ContentLength: 8 });
  expect(Buffer.from(head.Metadata?.['owner'] ?? '', 'latin1').toString()).toBe('Zoë');
});

test('a presigned GET answers with the overrides it was signed for', async () => {
  const { s3 } = await startFixture();
  const target = { Bucket: BUCKET, Key: 'a' };
  await s3.send(new PutObjectCommand({ ...target, Body: 'data' }));
  const ResponseContentDisposition = 'attachment; filename="ü.txt"';
  const command = new GetObjectCommand({ ...target, ResponseContentType: 'text/plain', ResponseContentDisposition });
  const get = await fetch(await getSignedUrl(s3, command));
  expect(get.status).toBe(200);
  expect(get.headers.get('content-type')).toBe('text/plain');
  expect(Buffer.from(get.headers.get('content-disposition') ?? '', 'latin1').toString()).toBe(
    ResponseContentDisposition,
  );
  expect(await get.text()).toBe('data');
});

test('a presigned URL ends when it says', async () => {
  const { s3 } = await startFixture();
  const signingDate = new Date(Date.now() - 61_000);
  const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket: BUCKET, Key: 'a' }), {
    expiresIn: 60,
    signingDate,
  });
  const get = await fetch(url);
  expect(get.status).toBe(403);
  expect(await get.text()).toContain('<Message>Request has expired.</Message>');
});

test.each<[string, (url: string) => string]>([
  ['another key', (url) => url.replace('/box/a?', '/box/b?')],
  ['another bucket', (url) => url.replace('/box/', '/xob/')],
  ['a longer life', (url) => url.replace('X-Amz-Expires=900', 'X-Amz-Expires=901')],
  ['a parameter more', (url) => `${url}&response-content-type=text%2Fhtml`],
  ['a parameter less', (url) => url.replace('&x-id=GetObject', '')],
  ['another signature', (url) => url.replace(/X-Amz-Signature=./, 'X-Amz-Signature=g')],
  ['no signature', (url) => url.replace(/&X-Amz-Signature=[^&]*/, '')],
])('a presigned URL with %s is refused', async (_, tamper) => {
  const { s3 } = await startFixture();
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'data' }));
  const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket: BUCKET, Key: 'a' }));
  expect((await fetch(url)).status).toBe(200);
  const get = await fetch(tamper(url));
  expect(get.status).toBe(403);
  expect(await get.text()).toContain('<Code>SignatureDoesNotMatch</Code>');
});

test('a presigned URL is good for its method alone, and no header may be added to it', async () => {
  const { s3 } = await startFixture();
  const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket: BUCKET, Key: 'a' }));
  expect((await fetch(url)).status).toBe(403);
  const put = await fetch(url, { method: 'PUT', body: 'x', headers: { 'x-amz-meta-color': 'blue' } });
  expect(put.status).toBe(403);
  expect(await put.text()).toContain('<HeadersNotSigned>x-amz-meta-color</HeadersNotSigned>');
});

test('a presigned URL of a stranger is refused', async () => {
  const { server } = await startFixture();
  const stranger = newClient(server.url, { credentials: { accessKeyId: 'stranger', secretAccessKey: 'x' } });
  const get = await fetch(await getSignedUrl(stranger, new GetObjectCommand({ Bucket: BUCKET, Key: 'a' })));
  expect(get.status).toBe(403);
  expect(await get.text()).toContain('<Code>InvalidAccessKeyId</Code>');
});
