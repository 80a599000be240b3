import { createHash, randomBytes } from 'node:crypto';
import dns from 'node:dns';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { BUCKET, KEYS, startFixture } from '../../../dev-s3/src/_setup.ts';
import { createStorage } from './storage.ts';

const PREFIX = 'acme/support/';

/** What `<bucket>.localhost` is on machines whose resolver knows no names below localhost. */
function resolveLocally(): void {
  const { lookup } = dns;
  vi.spyOn(dns, 'lookup').mockImplementation(((
    name: string,
    ...rest: Parameters<typeof lookup> extends [string, ...infer R] ? R : never
  ) => lookup(name.endsWith('.localhost') ? '127.0.0.1' : name, ...rest)) as typeof lookup);
}

async function open(change: object = {}) {
  const fixture = await startFixture();
  const endpoint = `http://localhost:${new URL(fixture.server.url).port}`;
  const settings = { endpoint, bucket: BUCKET, region: 'us-east-1', ...KEYS, forcePathStyle: false, ...change };
  return { ...fixture, endpoint, storage: createStorage({ ...settings, prefix: PREFIX }) };
}

describe('a bucket that stands before the host', () => {
  beforeEach(resolveLocally);
  afterEach(() => vi.restoreAllMocks());

  test('keeps, lists, reads, moves and deletes the objects that stand in a path for others', async () => {
    const { storage, s3 } = await open();
    await storage.check();
    const bytes = randomBytes(100_000);
    expect(await storage.put('a b/ü+.bin', bytes, { metadata: { by: 'ada' } })).toMatchObject({ size: 100_000 });
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: `${PREFIX}a b/ü+.bin` }));
    expect(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(bytes)).toBe(true);
    const range = await storage.get('a b/ü+.bin', { range: { start: 5, end: 9 } });
    expect(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(5, 10))).toBe(true);
    await storage.move('a b/ü+.bin', 'moved');
    expect(await storage.stat('moved')).toMatchObject({ size: 100_000, metadata: { by: 'ada' } });
    expect((await storage.list()).items.map(({ key }) => key)).toEqual(['moved']);
    await storage.delete(['moved', 'nothing']);
    expect((await storage.list()).items).toEqual([]);
  });

  test('takes a stream in parts, and gives it back byte for byte', async () => {
    const { storage } = await open();
    const sent = createHash('sha256');
    async function* pieces() {
      for (let number = 0; number < 20; number++) {
        const piece = randomBytes(1_048_576);
        sent.update(piece);
        yield piece;
      }
    }
    expect(await storage.put('big', pieces())).toMatchObject({
      size: 20 * 1_048_576,
      etag: expect.stringMatching(/-3$/),
    });
    const read = createHash('sha256');
    for await (const piece of (await storage.stream('big')).body) read.update(piece);
    expect(read.digest('hex')).toBe(sent.digest('hex'));
  });

  test('hands out addresses of its own host, to read and to write at', async () => {
    const { storage, endpoint } = await open();
    const to = await storage.url('up.txt', { method: 'PUT', contentType: 'text/plain', size: 4 });
    expect(new URL(to).host).toBe(`${BUCKET}.${new URL(endpoint).host}`);
    const put = (body: string) => fetch(to, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body });
    expect((await put('longer')).status).toBe(403);
    expect((await put('sent')).status).toBe(200);
    expect(await (await fetch(await storage.url('up.txt'))).text()).toBe('sent');
  });

  test.each([
    ['another bucket', { bucket: 'other' }, /404 NoSuchBucket.*SVC_S3_BUCKET/],
    ['another secret key', { secretKey: 'wrong-secret' }, /403 SignatureDoesNotMatch.*SVC_S3_SECRET_KEY/],
  ])('says what is wrong: %s', async (_, change, message) => {
    const { storage } = await open(change);
    for (const ask of [storage.check, () => storage.put('a', 'b'), storage.list])
      await expect(ask()).rejects.toMatchObject({ code: 'storage_refused', message: expect.stringMatching(message) });
  });
});
