import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Readable } from 'node:stream';

import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';

import { spawnServer } from './_process.ts';
import { BUCKET, listFiles, newClient, newFolder, startFixture, startServer, waitUntil } from './_setup.ts';
import { signRaw } from './_sign.ts';

const MIB = 1024 * 1024;

test('a client that goes away in the middle of an upload leaves the object that was there', async () => {
  const { dir, s3, server, errors } = await startFixture();
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'before' }));
  const upload = startUpload(server.url);
  await waitUntil(async () => (await listFiles(dir)).length === 2);
  upload.destroy();
  await waitUntil(async () => (await listFiles(dir)).length === 1);
  expect(await readText(server.url, 'a')).toBe('before');
  expect(errors).toEqual([]);
});

test('closing the server ends an upload that hangs, and nothing of it stays', async () => {
  const { dir, server } = await startFixture();
  startUpload(server.url);
  await waitUntil(async () => (await listFiles(dir)).length === 1);
  await server.close();
  expect(await listFiles(dir)).toEqual([]);
});

test('a server killed in the middle of an upload comes back with every finished object and nothing else', async () => {
  const dir = await newFolder();
  const first = await spawnServer(dir);
  for (let index = 0; index < 20; index++) {
    await newClient(first.url).send(new PutObjectCommand({ Bucket: BUCKET, Key: `key-${index}`, Body: `${index}` }));
  }
  startUpload(first.url);
  await waitUntil(async () => (await listFiles(dir)).length === 21);
  await first.kill();
  expect(await listFiles(dir)).toHaveLength(21);

  const second = await startServer(dir);
  expect(await listFiles(dir)).toHaveLength(20);
  const { KeyCount } = await newClient(second.url).send(new ListObjectsV2Command({ Bucket: BUCKET }));
  expect(KeyCount).toBe(20);
  expect(await readText(second.url, 'key-19')).toBe('19');
});

test('of concurrent writers to one key one wins whole, and a reader sees one whole version', async () => {
  const { dir, s3, server } = await startFixture();
  const put = (digit: number) =>
    s3.send(
      new PutObjectCommand({
        Bucket: BUCKET,
        Key: 'a',
        Body: Buffer.alloc(MIB, String(digit)),
        Metadata: { digit: String(digit) },
      }),
    );
  await put(0);
  const reads = Array.from({ length: 10 }, async () => {
    const get = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'a' }));
    const text = await get.Body!.transformToString();
    expect(text).toBe(get.Metadata!['digit']!.repeat(MIB));
  });
  await Promise.all([...[1, 2, 3, 4, 5, 6, 7, 8].map(put), ...reads]);
  expect(await readText(server.url, 'a')).toMatch(/^(\d)\1*$/);
  expect(await listFiles(dir)).toHaveLength(1);
});

test('a 200 MiB upload and download keep the memory flat', async () => {
  const dir = await newFolder();
  const server = await spawnServer(dir);
  const s3 = newClient(server.url);
  const target = { Bucket: BUCKET, Key: 'big' };
  const send = (mebibytes: number) => {
    const Body = Readable.from(Array.from({ length: mebibytes }, () => Buffer.alloc(MIB, 'x')));
    return s3.send(new PutObjectCommand({ ...target, Body, ContentLength: mebibytes * MIB }));
  };
  await send(20);
  const before = await server.readPeakRss();
  await send(200);
  const get = await s3.send(new GetObjectCommand(target));
  let bytes = 0;
  for await (const chunk of get.Body as AsyncIterable<Uint8Array>) bytes += chunk.length;
  expect(bytes).toBe(200 * MIB);
  expect((await server.readPeakRss()) - before).toBeLessThan(80 * MIB);
});

/** An upload of 10 MiB that stops after one. */
function startUpload(url: string): ClientRequest {
  const { host, hostname, port } = new URL(url);
  const signed = signRaw({ host, method: 'PUT', path: `/${BUCKET}/a`, payload: 'UNSIGNED-PAYLOAD' });
  const headers = { ...signed.headers, 'content-length': String(10 * MIB) };
  const outgoing = request({ hostname, port, method: 'PUT', path: signed.path, headers, agent: false });
  outgoing.on('error', () => {});
  outgoing.write(Buffer.alloc(MIB, 'x'));
  onTestFinished(() => void outgoing.destroy());
  return outgoing;
}

async function readText(url: string, Key: string): Promise<string | undefined> {
  const get = await newClient(url).send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  return get.Body?.transformToString();
}

/** The server in a process of its own, built from the sources, so that it can be killed and its peak memory read. */
