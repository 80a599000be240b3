import { createHash, randomBytes } from 'node:crypto';
import { createServer, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BUCKET, KEYS, listFiles, startFixture } from '../../../dev-s3/src/_setup.ts';
import { copyObject } from './parts.ts';
import { openBucket } from './s3.ts';
import { createStorage } from './storage.ts';

const PREFIX = 'acme/support/';
const MIB = 1_048_576;

async function open(change: { endpoint?: string } = {}) {
  const fixture = await startFixture();
  const settings = {
    endpoint: fixture.server.url,
    bucket: BUCKET,
    region: 'us-east-1',
    ...KEYS,
    forcePathStyle: true,
    ...change,
  };
  return { ...fixture, settings, storage: createStorage({ ...settings, prefix: PREFIX }) };
}

function toStream(bytes: Uint8Array, pieceBytes = 100_000): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.byteLength) return controller.close();
      controller.enqueue(bytes.subarray(start, (start += pieceBytes)));
    },
  });
}

/** A server in front of the other that answers some requests itself. */
async function startFront(url: string, answer: (method: string, path: string) => number | undefined): Promise<string> {
  const front = createServer((incoming, outgoing) => {
    const status = answer(incoming.method ?? '', incoming.url ?? '');
    if (status !== undefined) {
      incoming.resume();
      incoming.once('end', () => outgoing.writeHead(status).end());
      return;
    }
    const behind = request(url + incoming.url, { method: incoming.method, headers: incoming.headers }, (from) => {
      outgoing.writeHead(from.statusCode ?? 500, from.headers);
      from.pipe(outgoing);
    });
    behind.on('error', () => outgoing.destroy());
    incoming.pipe(behind);
  });
  onTestFinished(() => void front.close());
  await once(front.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}

describe('a stream', () => {
  test.each([
    ['nothing', 0, 0],
    ['less than a part', 1_000_000, 0],
    ['a whole part', 8 * MIB, 0],
    ['a part and a byte', 8 * MIB + 1, 2],
    ['five parts', 33 * MIB, 5],
  ])('of %s is kept and read byte for byte', async (_, size, parts) => {
    const { storage, s3, dir } = await open();
    const bytes = randomBytes(size);
    const put = await storage.put('a', toStream(bytes), { contentType: 'image/png', metadata: { by: 'ada' } });
    expect(put).toEqual({
      key: 'a',
      size,
      etag: expect.stringMatching(parts > 0 ? new RegExp(`-${parts}$`) : /^\w{32}$/),
    });
    const { Body, ...head } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: `${PREFIX}a` }));
    expect(head).toMatchObject({ ContentType: 'image/png', Metadata: { by: 'ada' }, ContentLength: size });
    expect(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(bytes)).toBe(true);
    const read = await storage.stream('a');
    expect(read).toMatchObject({ key: 'a', size, contentType: 'image/png', metadata: { by: 'ada' }, etag: put.etag });
    expect(Buffer.from(await new Response(read.body).arrayBuffer()).equals(bytes)).toBe(true);
    // One object, and no part that was left.
    expect(await listFiles(dir)).toHaveLength((await listFiles(dir)).filter((file) => !file.includes('upload')).length);
  });

  test('that breaks off leaves nothing, neither object nor parts, and what was there before', async () => {
    const { storage, dir } = await open();
    await storage.put('a', 'before');
    const before = await listFiles(dir);
    async function* broken() {
      for (let piece = 0; piece < 20; piece += 1) yield randomBytes(MIB);
      throw new Error('The source is gone.');
    }
    await expect(storage.put('a', broken())).rejects.toThrow('The source is gone.');
    expect(await (await storage.get('a')).text()).toBe('before');
    expect(await listFiles(dir)).toEqual(before);
    await expect(storage.put('a', toNumbers())).rejects.toMatchObject({ code: 'invalid_request' });
    async function* toNumbers() {
      yield 1 as unknown as string;
    }
  });

  test('goes on when the backend fails for a moment, and gives up when it stays away', async () => {
    const { server, settings } = await open();
    let failures = 2;
    const url = await startFront(server.url, (method, path) =>
      method === 'PUT' && path.includes('partNumber=2') && failures-- > 0 ? 503 : undefined,
    );
    const storage = createStorage({ ...settings, endpoint: url, prefix: PREFIX });
    const bytes = randomBytes(17 * MIB);
    await storage.put('a', toStream(bytes, MIB));
    expect(Buffer.from(await (await storage.get('a')).arrayBuffer()).equals(bytes)).toBe(true);
    failures = Infinity;
    await expect(storage.put('b', toStream(bytes, MIB))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect((await storage.list()).items.map(({ key }) => key)).toEqual(['a']);
  });

  test('of a range has those bytes, and the size of the whole', async () => {
    const { storage } = await open();
    const bytes = randomBytes(1_000);
    await storage.put('a', bytes);
    const { body, size } = await storage.stream('a', { range: { start: 10, end: 19 } });
    expect([size, Buffer.from(await new Response(body).arrayBuffer())]).toEqual([1_000, bytes.subarray(10, 20)]);
    const rest = await storage.get('a', { range: { start: 990 } });
    expect(Buffer.from(await rest.arrayBuffer()).equals(bytes.subarray(990))).toBe(true);
    for (const range of [{ start: 1_000 }, { start: -1 }, { start: 5, end: 4 }, { start: 0.5 }])
      await expect(storage.get('a', { range })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(storage.stream('nope')).rejects.toMatchObject({ code: 'object_not_found' });
  });
});

describe('a copy', () => {
  test('has type and metadata, refuses a target that is there, and replaces it when asked to', async () => {
    const { storage, s3 } = await open();
    await storage.put('a', 'one', { contentType: 'text/csv', metadata: { by: 'ada' } });
    expect(await storage.copy('a', "it's a/ü+%2F")).toMatchObject({ key: "it's a/ü+%2F", etag: expect.any(String) });
    expect(await storage.stat("it's a/ü+%2F")).toMatchObject({ contentType: 'text/csv', metadata: { by: 'ada' } });
    await storage.put('b', 'two');
    await expect(storage.copy('a', 'b')).rejects.toMatchObject({ code: 'object_exists' });
    await storage.copy('a', 'b', { overwrite: true });
    expect(await (await storage.get('b')).text()).toBe('one');
    await expect(storage.copy('nope', 'c')).rejects.toMatchObject({ code: 'object_not_found' });
    await expect(storage.copy('a', 'a')).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }))).KeyCount).toBe(3);
  });

  test('of what is too large for one request is made in parts, and is the same object', async () => {
    const { storage, settings, s3 } = await open();
    const bytes = randomBytes(12 * MIB);
    await storage.put('a', bytes, { contentType: 'image/png', metadata: { by: 'ada' } });
    const { size, etag } = await storage.stat('a');
    const bucket = openBucket(settings);
    const { headers } = await bucket.send({ method: 'HEAD', key: `${PREFIX}a` });
    await copyObject(bucket, {
      from: `${PREFIX}a`,
      to: `${PREFIX}b`,
      source: { size, etag, headers },
      conditions: {},
      mostBytes: 6 * MIB,
      partBytes: 5 * MIB,
    });
    expect(
      createHash('md5')
        .update(Buffer.from(await (await storage.get('b')).arrayBuffer()))
        .digest('hex'),
    ).toBe(etag);
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: `${PREFIX}b` }));
    expect(head).toMatchObject({
      ContentType: 'image/png',
      Metadata: { by: 'ada' },
      ETag: expect.stringMatching(/-3"$/),
    });
  });
});

describe('a move', () => {
  test('does not delete what has come to be under the old key since it was copied', async () => {
    const { server, settings, storage } = await open();
    await storage.put('a', 'one');
    let isFirst = true;
    const url = await startFront(server.url, (method) => {
      if (method !== 'DELETE' || !isFirst) return undefined;
      isFirst = false;
      return 500;
    });
    const behind = createStorage({ ...settings, endpoint: url, prefix: PREFIX });
    await expect(behind.move('a', 'b')).rejects.toMatchObject({ code: 'store_unavailable' });
    await storage.put('a', 'two');
    await expect(behind.move('a', 'b')).rejects.toMatchObject({ code: 'object_exists' });
    expect([await (await storage.get('a')).text(), await (await storage.get('b')).text()]).toEqual(['two', 'one']);
    await storage.put('a', 'one');
    await behind.move('a', 'b');
    expect((await storage.list()).items.map(({ key }) => key)).toEqual(['b']);
  });

  test('works on a backend that knows no conditions', async () => {
    const { server, settings, storage } = await open();
    let refused = 0;
    const url = await startFront(server.url, () => undefined);
    const plain = createServer((incoming, outgoing) => {
      const isConditional = incoming.headers['if-match'] ?? incoming.headers['if-none-match'];
      if (isConditional !== undefined && incoming.method !== 'GET') {
        refused += 1;
        incoming.resume();
        return void outgoing.writeHead(501).end('<Error><Code>NotImplemented</Code></Error>');
      }
      const behind = request(url + incoming.url, { method: incoming.method, headers: incoming.headers }, (from) => {
        outgoing.writeHead(from.statusCode ?? 500, from.headers);
        from.pipe(outgoing);
      });
      incoming.pipe(behind);
    });
    onTestFinished(() => void plain.close());
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    const endpoint = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const old = createStorage({ ...settings, endpoint, prefix: PREFIX });
    await old.put('a', 'one', { overwrite: false });
    await old.move('a', 'b');
    expect([refused, (await storage.list()).items.map(({ key }) => key)]).toEqual([3, ['b']]);
  });
});

describe('deleting', () => {
  test('takes many keys at once, with every character a key may have', async () => {
    const { storage } = await open();
    const keys = ['a&b', '<c>', 'tab\there', 'line\nend', 'bell\u0007', 'ä ü', "it's"];
    for (const key of keys) await storage.put(key, key);
    await storage.put('kept', 'x');
    await storage.delete([...keys, 'nope', 'nope']);
    expect((await storage.list()).items.map(({ key }) => key)).toEqual(['kept']);
    await storage.delete([]);
    await expect(storage.delete(Array.from({ length: 1_001 }, (_, n) => `k${n}`))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('by a prefix stops at its limit and says whether there is more', async () => {
    const { storage } = await open();
    for (let n = 0; n < 5; n += 1) await storage.put(`a/${n}`, 'x');
    await storage.put('ab', 'x');
    expect(await storage.deletePrefix('a/', { limit: 2 })).toEqual({ deleted: 2, isMore: true });
    expect(await storage.deletePrefix('a/')).toEqual({ deleted: 3, isMore: false });
    expect((await storage.list()).items.map(({ key }) => key)).toEqual(['ab']);
    await expect(storage.deletePrefix('')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('works one by one on a backend that cannot delete many', async () => {
    const { server, settings, storage } = await open();
    const url = await startFront(server.url, (method, path) =>
      method === 'POST' && path.includes('delete') ? 501 : undefined,
    );
    for (const key of ['a', 'b', 'c']) await storage.put(key, key);
    await createStorage({ ...settings, endpoint: url, prefix: PREFIX }).delete(['a', 'b']);
    expect((await storage.list()).items.map(({ key }) => key)).toEqual(['c']);
  });
});

test('a put that must not replace is refused where there is one, small or in parts', async () => {
  const { storage } = await open();
  await storage.put('a', 'one', { overwrite: false });
  const big = toStream(randomBytes(9 * MIB), MIB);
  for (const body of ['two', big])
    await expect(storage.put('a', body, { overwrite: false })).rejects.toMatchObject({ code: 'object_exists' });
  expect(await (await storage.get('a')).text()).toBe('one');
});

test.each([
  ['contentType', { contentType: 'text/plain\r\nx-amz-acl: public-read' }],
  ['metadata.a', { metadata: { a: 'line\nend' } }],
  ['a b', { metadata: { 'a b': 'x' } }],
  ['The metadata', { metadata: { a: 'x'.repeat(1_500), b: 'x'.repeat(1_500) } }],
])('what no header can carry is refused: %s', async (name, options) => {
  const { storage } = await open();
  const refusal = { code: 'invalid_request', message: expect.stringContaining(name) };
  await expect(storage.put('a', 'x', options)).rejects.toMatchObject(refusal);
  await expect(storage.url('a', { method: 'PUT', ...options })).rejects.toMatchObject(refusal);
});
