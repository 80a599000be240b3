import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { S3Client, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BUCKET, KEYS, newFolder, startFixture, startServer } from '../../../dev-s3/src/_setup.ts';
import { createSigner, encodePath } from './sign.ts';
import { createStorage } from './storage.ts';
import type { Storage } from './storage.ts';

const PREFIX = 'acme/support/';
const REGION = 'us-east-1';
/** Keys a client on the way gets wrong. */
const STRANGE = ['a b/c+d', "it's (1)!*", 'ä/ö 漢字', '100%/%2F', 'q?x=1&y#z', '…', 'tab\there', '\u{1F600}'];

const endless = () =>
  Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(65_536);
    })(),
  );

const settings = (endpoint: string) => ({ endpoint, bucket: BUCKET, region: REGION, ...KEYS, forcePathStyle: true });

async function open() {
  const fixture = await startFixture();
  return { ...fixture, storage: createStorage({ ...settings(fixture.server.url), prefix: PREFIX }) };
}

describe('the storage of a box', () => {
  test('keeps objects under its prefix, which other clients see as part of the key', async () => {
    const { storage, s3 } = await open();
    expect(await storage.put('reports/1.txt', 'one')).toMatchObject({ key: 'reports/1.txt', size: 3 });
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: `${PREFIX}reports/1.txt` }));
    expect(head).toMatchObject({ ContentLength: 3, ContentType: 'text/plain; charset=utf-8' });
    const blob = await storage.get('reports/1.txt');
    expect([await blob.text(), blob.type]).toEqual(['one', 'text/plain;charset=utf-8']);
    await storage.delete('reports/1.txt');
    await storage.delete('reports/1.txt');
    await expect(storage.get('reports/1.txt')).rejects.toMatchObject({ code: 'object_not_found' });
  });

  test.each(STRANGE)('takes the key %j', async (key) => {
    const { storage } = await open();
    await storage.put(key, new Uint8Array([1, 2, 255]), { contentType: 'image/png' });
    const blob = await storage.get(key);
    expect([...new Uint8Array(await blob.arrayBuffer()), blob.type]).toEqual([1, 2, 255, 'image/png']);
    expect((await storage.list()).items).toMatchObject([{ key, size: 3 }]);
    const answer = await fetch(await storage.url(key));
    expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, 3]);
    await storage.delete(key);
    expect(await storage.list()).toEqual({ items: [], folders: [], nextCursor: null });
  });

  test.each(['', '/a', 'a/', 'a//b', '../b', 'a/../../b', './a', 'a/.', 'x'.repeat(701), '\uD800'])(
    'refuses the key %j, which would lead elsewhere',
    async (key) => {
      const storage = createStorage({ ...settings('http://127.0.0.1:1'), prefix: PREFIX });
      const toPut = (name: string) => storage.put(name, '');
      const toCopy = (name: string) => storage.copy('a', name);
      const toMove = (name: string) => storage.move(name, 'a');
      for (const call of [
        storage.get,
        storage.stat,
        storage.stream,
        storage.delete,
        storage.url,
        toPut,
        toCopy,
        toMove,
      ])
        await expect(call(key)).rejects.toMatchObject({ code: 'invalid_request' });
    },
  );

  test('lists page by page, and nothing of a neighbour', async () => {
    const { storage, server } = await open();
    const neighbour = createStorage({ ...settings(server.url), prefix: 'acme/other/' });
    await neighbour.put('a', 'theirs');
    for (const key of ['b/1', 'b/2', 'b/3', 'c']) await storage.put(key, key);
    const first = await storage.list({ prefix: 'b/', limit: 2 });
    expect(first.items.map(({ key }) => key)).toEqual(['b/1', 'b/2']);
    const { nextCursor: cursor } = first;
    const second = await storage.list({ prefix: 'b/', limit: 2, cursor: cursor as string });
    expect(second).toMatchObject({ items: [{ key: 'b/3', size: 3, etag: expect.any(String) }], nextCursor: null });
    expect((await neighbour.list()).items.map(({ key }) => key)).toEqual(['a']);
    await expect(storage.list({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('hands out addresses to write at, which are over in time', async () => {
    const { storage } = await open();
    const url = await storage.url('up.txt', { method: 'PUT', expiresIn: 60 });
    expect((await fetch(url, { method: 'PUT', body: 'sent' })).status).toBe(200);
    expect(await (await storage.get('up.txt')).text()).toBe('sent');
    expect((await fetch(url)).status).toBe(403);
    await expect(storage.url('a', { expiresIn: 0 })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('what is wrong with a storage is said', () => {
  test.each([
    ['another bucket', { bucket: 'other' }, /404 NoSuchBucket.*SVC_S3_BUCKET/],
    ['another access key', { accessKey: 'someone' }, /403 InvalidAccessKeyId.*SVC_S3_ACCESS_KEY/],
    ['another secret key', { secretKey: 'wrong-secret' }, /403 SignatureDoesNotMatch.*SVC_S3_SECRET_KEY/],
    ['another region', { region: 'eu-west-9' }, /400 AuthorizationHeaderMalformed.*SVC_S3_REGION/],
  ])('%s', async (_, change, reason) => {
    const { url } = await startServer(await newFolder());
    const storage = createStorage({ ...settings(url), ...change, prefix: PREFIX });
    const stat = () => storage.stat('a');
    const calls = [storage.check, () => storage.put('a', 'b'), () => storage.get('a'), storage.list, stat];
    for (const call of [...calls, () => storage.delete(['a', 'b']), () => storage.move('a', 'b')]) {
      const error = (await call().catch((thrown: unknown) => thrown)) as Error;
      expect(error).toMatchObject({ code: 'storage_refused', message: expect.stringMatching(reason) });
      expect(error.message).not.toMatch(/wrong-secret|a secret of/);
    }
  });

  test.each([
    ['an object', 256, (storage: Storage) => storage.get('big')],
    ['a list', 4, (storage: Storage) => storage.list()],
  ])('breaks off %s of more than %i MiB, however it is announced', async (_what, mebibytes, read) => {
    const limit = mebibytes * 1_048_576;
    let isOver = false;
    const server = createServer((request, response) => {
      response.once('close', () => (isOver = true));
      if (request.url?.includes('chunked')) return void pipeline(endless(), response, () => {});
      response.writeHead(200, { 'content-length': String(limit + 1) });
      response.write('x');
    });
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const openAt = (bucket: string) =>
      createStorage({ ...settings(`http://127.0.0.1:${port}`), bucket, prefix: PREFIX });
    // Without its length, as far as a list is read.
    for (const bucket of mebibytes > 16 ? [BUCKET] : [BUCKET, 'chunked']) {
      isOver = false;
      await expect(read(openAt(bucket))).rejects.toMatchObject({ code: 'storage_refused', details: { limit } });
      await vi.waitUntil(() => isOver);
    }
  });

  test('a server that is away may come back', async () => {
    const storage = createStorage({ ...settings('http://127.0.0.1:1'), prefix: PREFIX });
    await expect(storage.check()).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

describe('a signature', () => {
  const now = new Date('2026-02-03T04:05:06Z');
  const signer = createSigner({ ...KEYS, region: REGION });
  const credentials = { accessKeyId: KEYS.accessKey, secretAccessKey: KEYS.secretKey };

  test.each([true, false])('of an address is that of the AWS SDK (path style %s)', async (forcePathStyle) => {
    const endpoint = 'https://s3.example:9000';
    const client = new S3Client({ endpoint, region: REGION, forcePathStyle, credentials });
    onTestFinished(() => client.destroy());
    for (const key of STRANGE) {
      const command = new GetObjectCommand({ Bucket: BUCKET, Key: key });
      const theirs = new URL(await getSignedUrl(client, command, { expiresIn: 60, signingDate: now }));
      theirs.searchParams.delete('X-Amz-Signature');
      // What the SDK adds of its own is signed as well.
      const url = new URL(theirs.origin);
      url.pathname = encodePath(forcePathStyle ? `/${BUCKET}/${key}` : `/${key}`);
      expect(url.pathname).toBe(theirs.pathname);
      const ours = new URL(await signer.presignUrl({ method: 'GET', url }, { expiresIn: 60, now }));
      expect(ours.host).toBe(theirs.host);
      for (const name of ['X-Amz-Credential', 'X-Amz-Date', 'X-Amz-Expires', 'X-Amz-SignedHeaders'])
        expect(ours.searchParams.get(name)).toBe(theirs.searchParams.get(name));
    }
  });

  test('of headers is that of the AWS SDK', async () => {
    const seen: { headers: Record<string, string>; path: string; query: Record<string, string> }[] = [];
    const client = new S3Client({
      endpoint: 'https://s3.example',
      region: REGION,
      forcePathStyle: true,
      credentials,
      requestHandler: {
        handle: async (request: (typeof seen)[number]) => {
          seen.push(request);
          throw new Error('seen');
        },
      },
    });
    onTestFinished(() => client.destroy());
    const command = new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 'a b/ä' });
    await client.send(command).catch(() => {});
    const { headers = {}, path = '', query = {} } = seen[0] ?? {};
    const names = /SignedHeaders=([^,]+)/.exec(headers['authorization'] ?? '')?.[1]?.split(';') ?? [];
    const url = new URL(`https://s3.example${path}`);
    url.search = Object.keys(query)
      .sort()
      .map((name) => `${encodeURIComponent(name)}=${encodeURIComponent(query[name] ?? '')}`)
      .join('&');
    const given = names.filter((name) => !['host', 'x-amz-date', 'x-amz-content-sha256'].includes(name));
    const date = (headers['x-amz-date'] ?? '').replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z');
    const signed = await signer.signHeaders(
      {
        method: 'GET',
        url,
        headers: Object.fromEntries(given.map((name) => [name, headers[name] ?? ''])),
        body: new Uint8Array(),
      },
      { now: new Date(date) },
    );
    expect(signed.get('authorization')).toBe(headers['authorization']);
  });
});
