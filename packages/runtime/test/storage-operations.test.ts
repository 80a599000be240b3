import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUCKET, KEYS } from '../../dev-s3/src/_setup.ts';
import { startObjectServer } from '../../dev-s3/src/server.ts';
import type { ObjectServer } from '../../dev-s3/src/server.ts';
import { createStorage } from '../src/storage/storage.ts';
import type { BoxStorage } from '../src/storage/storage.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Body = Record<string, unknown>;
interface Listed {
  items: { key: string; size: number; etag: string; lastModified: string }[];
  folders: string[];
  nextCursor: string | null;
}
interface Signed {
  url: string;
  method: string;
  headers: Record<string, string>;
  expiresAt: string;
  object: Body;
}

const PREFIX = 'acme/support/';
const boxes = setupBoxes();
let dir: string;
let server: ObjectServer;
let storage: BoxStorage;
let names = 0;
/** The tests share one bucket, so each has a folder of its own. */
const newFolder = () => `test-${++names}/`;

const at = (change: Body = {}) =>
  createStorage({
    endpoint: server.url,
    bucket: BUCKET,
    region: 'us-east-1',
    forcePathStyle: true,
    ...KEYS,
    prefix: PREFIX,
    ...change,
  });
let share: () => Promise<TestBox>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'objects-'));
  server = await startObjectServer({ dir, port: 0, ...KEYS, buckets: [BUCKET] });
  storage = at();
  share = boxes.share({ options: { storage } });
});
afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

const list = async (box: TestBox, query: Record<string, string>) =>
  (await call<Listed>(box, `GET /api/storage/objects?${new URLSearchParams(query)}`)).body;
const stat = (box: TestBox, key: string) =>
  call<Body>(box, `GET /api/storage/objects/stat?${new URLSearchParams({ key })}`);
const remove = async (box: TestBox, query: URLSearchParams) => {
  const answer = await box.request(`/api/storage/objects?${query}`, { method: 'DELETE' });
  return { status: answer.status, body: (await answer.json()) as Body };
};

describe('objects of a box', () => {
  test('the bucket and the prefix of the box are listed, and nothing that lets in', async () => {
    const { body } = await call<{ items: Body[] }>(await share(), 'GET /api/storage/buckets');
    expect(body).toEqual({
      items: [{ name: BUCKET, prefix: PREFIX, region: 'us-east-1', forcePathStyle: true }],
      nextCursor: null,
    });
  });

  test('a list goes on behind its cursor, and groups by a delimiter', async () => {
    const box = await share();
    const own = newFolder();
    for (const key of ['a.txt', 'b/1', 'b/2', 'c/1/x', 'd.txt']) await storage.put(own + key, key);
    const whole = await list(box, { prefix: own, delimiter: '/' });
    expect(whole.items.map(({ key }) => key)).toEqual([`${own}a.txt`, `${own}d.txt`]);
    expect(whole).toMatchObject({ folders: [`${own}b/`, `${own}c/`], nextCursor: null });
    expect(whole.items[0]).toEqual({
      key: `${own}a.txt`,
      size: 5,
      etag: createHash('md5').update('a.txt').digest('hex'),
      lastModified: expect.stringMatching(/^\d{4}-/),
    });
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Listed = await list(box, { prefix: own, limit: '2', ...(cursor ? { cursor } : {}) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ key }) => key.slice(own.length)));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(['a.txt', 'b/1', 'b/2', 'c/1/x', 'd.txt']);
    const { status, body } = await call<Body>(box, `GET /api/storage/objects?cursor=nonsense`);
    expect([status, body['code']]).toEqual([400, 'invalid_cursor']);
  });

  test('one object is described with its type and its metadata', async () => {
    const box = await share();
    const key = `${newFolder()}report ä.pdf`;
    await storage.put(key, 'pdf', { contentType: 'application/pdf', metadata: { Owner: 'ada', 'case-no': '7' } });
    expect((await stat(box, key)).body).toMatchObject({
      key,
      size: 3,
      contentType: 'application/pdf',
      metadata: { owner: 'ada', 'case-no': '7' },
    });
    const { status, body } = await stat(box, `${key}x`);
    expect([status, body['code'], body['message']]).toEqual([404, 'object_not_found', `There is no object "${key}x".`]);
  });

  test('an object is read from a signed address, under its own name, until it is over', async () => {
    const box = await share();
    const key = `${newFolder()}Übersicht "1".csv`;
    const bytes = randomBytes(100_000);
    await storage.put(key, bytes, { contentType: 'text/csv' });
    const { body } = await call<Signed>(box, 'POST /api/storage/objects/download-url', { key, expiresIn: 60 });
    expect(body).toMatchObject({ method: 'GET', object: { key, size: 100_000, contentType: 'text/csv' } });
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThanOrEqual(60_000);
    const answer = await fetch(body.url);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="_bersicht _1_.csv"; filename*=UTF-8''%C3%9Cbersicht%20%221%22.csv`,
    );
    const shown = await call<Signed>(box, 'POST /api/storage/objects/download-url', { key, show: true });
    expect((await fetch(shown.body.url)).headers.get('content-disposition')).toBeNull();
    expect((await fetch(body.url.replace('X-Amz-Expires=60', 'X-Amz-Expires=6000'))).status).toBe(403);
    expect((await fetch(body.url, { method: 'PUT', body: 'x' })).status).toBe(403);
    const missing = await call<Body>(box, 'POST /api/storage/objects/download-url', { key: 'nope' });
    expect([missing.status, missing.body['code']]).toEqual([404, 'object_not_found']);
  });

  test('an object is written to a signed address with the type, length and metadata it was asked for, and with no other', async () => {
    const box = await share();
    const key = `${newFolder()}in.bin`;
    const ask = (more: Body = {}) =>
      call<Signed>(box, 'POST /api/storage/objects/upload-url', {
        key,
        size: 5,
        contentType: 'image/png',
        metadata: { by: 'ada' },
        ...more,
      });
    const { url, method, headers } = (await ask()).body;
    const put = (body: string, change: Record<string, string> = {}) => {
      const { 'content-length': _, ...sent } = { ...headers, ...change };
      return fetch(url, { method, headers: sent, body });
    };
    expect((await put('longer')).status).toBe(403);
    expect((await put('12345', { 'content-type': 'text/html' })).status).toBe(403);
    expect((await put('12345', { 'x-amz-meta-by': 'eve' })).status).toBe(403);
    expect((await stat(box, key)).status).toBe(404);
    expect((await put('12345')).status).toBe(200);
    expect((await stat(box, key)).body).toMatchObject({ size: 5, contentType: 'image/png', metadata: { by: 'ada' } });
    // The same address does not replace what has come to be there.
    expect((await put('54321')).status).toBe(412);
    const again = (await ask({ overwrite: true })).body;
    expect(again.headers).not.toHaveProperty('if-none-match');
    const { 'content-length': _, ...sent } = again.headers;
    expect((await fetch(again.url, { method: 'PUT', headers: sent, body: '54321' })).status).toBe(200);
    expect(await (await storage.get(key)).text()).toBe('54321');
  });

  test('a move leaves the object under the new key alone, and refuses one that is taken', async () => {
    const box = await share();
    const own = newFolder();
    const move = (more: Body = {}) =>
      call<Body>(box, 'POST /api/storage/objects/move', { from: `${own}a`, to: `${own}b`, ...more });
    await storage.put(`${own}a`, 'one', { contentType: 'text/csv', metadata: { by: 'ada' } });
    await storage.put(`${own}b`, 'other');
    const refused = await move();
    expect([refused.status, refused.body['code']]).toEqual([409, 'object_exists']);
    expect([await (await storage.get(`${own}a`)).text(), await (await storage.get(`${own}b`)).text()]).toEqual([
      'one',
      'other',
    ]);
    expect(await move({ overwrite: true })).toMatchObject({ status: 200, body: { key: `${own}b` } });
    expect((await stat(box, `${own}b`)).body).toMatchObject({ contentType: 'text/csv', metadata: { by: 'ada' } });
    expect((await stat(box, `${own}a`)).status).toBe(404);
    expect((await move()).body['code']).toBe('object_not_found');
    expect((await move({ to: `${own}a` })).body['code']).toBe('invalid_request');
  });

  test('a move that died before its delete goes on when it is asked for again', async () => {
    const box = await share();
    const own = newFolder();
    await storage.put(`${own}a`, 'one');
    await storage.copy(`${own}a`, `${own}b`);
    const { status } = await call(box, 'POST /api/storage/objects/move', { from: `${own}a`, to: `${own}b` });
    expect([status, (await list(box, { prefix: own })).items.map(({ key }) => key)]).toEqual([200, [`${own}b`]]);
  });

  test('objects are deleted by their keys or by a prefix, so many a request, and the rest stays', async () => {
    const box = await share();
    const own = newFolder();
    for (const key of ['a', 'b,c', 'b&d', 'e/1', 'e/2', 'e/3', 'f']) await storage.put(own + key, key);
    const keys = new URLSearchParams();
    for (const key of ['a', 'b,c', 'b&d', 'nope']) keys.append('keys', own + key);
    expect(await remove(box, keys)).toEqual({ status: 200, body: { deleted: 4, isMore: false } });
    const few = new URLSearchParams({ prefix: `${own}e`, limit: '2' });
    expect((await remove(box, few)).body).toEqual({ deleted: 2, isMore: true });
    expect((await remove(box, few)).body).toEqual({ deleted: 1, isMore: false });
    expect((await list(box, { prefix: own })).items.map(({ key }) => key)).toEqual([`${own}f`]);
    for (const query of [
      {},
      { prefix: '' },
      { prefix: own, keys: `${own}f` },
      { prefix: own, limit: '1001' },
    ] as Body[])
      expect(await remove(box, new URLSearchParams(query as Record<string, string>))).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      });
    expect((await list(box, { prefix: own })).items).toHaveLength(1);
  });
});

describe('no caller leaves what is of the box', () => {
  const LEADING = ['../other/secret', 'a/../../other/secret', '/etc/passwd', '..', 'a//b', '.'];

  test.each(LEADING)('by the key %j', async (key) => {
    const box = await share();
    const asked = [
      stat(box, key),
      call<Body>(box, 'POST /api/storage/objects/download-url', { key }),
      call<Body>(box, 'POST /api/storage/objects/upload-url', { key }),
      call<Body>(box, 'POST /api/storage/objects/move', { from: key, to: 'x' }),
      call<Body>(box, 'POST /api/storage/objects/move', { from: 'x', to: key }),
      remove(box, new URLSearchParams({ keys: key })),
    ];
    for (const { status, body } of await Promise.all(asked))
      expect([status, body['code']]).toEqual([400, 'invalid_request']);
  });

  test('by a prefix: those of a neighbour in the same bucket are not there', async () => {
    const box = await share();
    const neighbour = at({ prefix: 'acme/other/' });
    await neighbour.put('theirs', 'x');
    for (const prefix of ['../other/', '../', 'other/', 'acme/']) {
      expect(await list(box, { prefix })).toEqual({ items: [], folders: [], nextCursor: null });
      expect((await remove(box, new URLSearchParams({ prefix }))).body).toEqual({ deleted: 0, isMore: false });
    }
    expect((await neighbour.list()).items).toHaveLength(1);
  });

  test('what the box keeps of its runs is neither shown nor deleted', async () => {
    const isolated = at({ prefix: 'acme/runs/' });
    const box = await boxes.open({ options: { storage: isolated } });
    const kept = '.svc/values/3f8b1c1e-run/digest';
    await isolated.put(kept, 'value');
    for (const key of ['.svb', '.svd', 'a', '.hidden']) await isolated.put(key, key);
    const keysOf = ({ items, folders }: Listed) => [...items.map(({ key }) => key), ...folders];
    expect(keysOf(await list(box, {}))).toEqual(['.hidden', '.svb', '.svd', 'a']);
    expect(keysOf(await list(box, { delimiter: '/' }))).toEqual(['.hidden', '.svb', '.svd', 'a']);
    expect(keysOf(await list(box, { prefix: '.svc/' }))).toEqual([]);
    // Page by page, with the box's own between two pages.
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Listed = await list(box, { limit: '1', ...(cursor ? { cursor } : {}) });
      seen.push(...keysOf(page));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(['.hidden', '.svb', '.svd', 'a']);
    for (const { status } of [await stat(box, kept), await remove(box, new URLSearchParams({ keys: kept }))])
      expect(status).toBe(400);
    const to = await call(box, 'POST /api/storage/objects/move', { from: 'a', to: '.svc/values/x/y' });
    expect(to.status).toBe(400);
    expect((await remove(box, new URLSearchParams({ prefix: '.' }))).body).toEqual({ deleted: 3, isMore: false });
    expect(await (await isolated.get(kept)).text()).toBe('value');
  });
});

describe('what is wrong with a storage is said', () => {
  test('a box without one says which variables to set', async () => {
    const box = await boxes.open();
    expect((await call<Body>(box, 'GET /api/storage/buckets')).body).toEqual({ items: [], nextCursor: null });
    const { status, body } = await call<Body>(box, 'GET /api/storage/objects');
    expect([status, body['code'], body['message']]).toEqual([
      503,
      'storage_missing',
      expect.stringMatching('SVC_S3_ENDPOINT'),
    ]);
  });

  test.each([
    ['another bucket', { bucket: 'other' }, 'NoSuchBucket', /SVC_S3_BUCKET and SVC_S3_FORCE_PATH_STYLE/],
    ['another secret key', { secretKey: 'wrong' }, 'SignatureDoesNotMatch', /SVC_S3_SECRET_KEY/],
    ['another access key', { accessKey: 'wrong' }, 'InvalidAccessKeyId', /SVC_S3_ACCESS_KEY/],
  ])('%s, also where the backend answers without a body', async (_, change, code, advice) => {
    const box = await boxes.open({ options: { storage: at(change) } });
    for (const { status, body } of [
      await call<Body>(box, 'GET /api/storage/objects'),
      await stat(box, 'a'),
      await call<Body>(box, 'POST /api/storage/objects/download-url', { key: 'a' }),
      await remove(box, new URLSearchParams({ prefix: 'a' })),
    ])
      expect([status, body]).toMatchObject([
        502,
        { code: 'storage_refused', message: expect.stringMatching(advice), details: { code } },
      ]);
  });
});

test('another client of the bucket reads what was put, and the box what it puts', async () => {
  const box = await share();
  const key = `${newFolder()}theirs.bin`;
  const s3 = new S3Client({
    endpoint: server.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: KEYS.accessKey, secretAccessKey: KEYS.secretKey },
  });
  try {
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: PREFIX + key, Body: 'theirs', Metadata: { by: 'sdk' } }));
  } finally {
    s3.destroy();
  }
  expect((await stat(box, key)).body).toMatchObject({ key, size: 6, metadata: { by: 'sdk' } });
});

test('who changed an object is written down, and no address that lets in', async () => {
  const box = await share();
  const key = `${newFolder()}a`;
  const { body } = await call<Signed>(box, 'POST /api/storage/objects/upload-url', { key });
  await storage.put(key, 'x');
  await remove(box, new URLSearchParams({ keys: key }));
  const text = await (await box.request('/api/activity?limit=10')).text();
  expect(text).toContain('storage.upload');
  expect(text).toContain('storage.delete');
  expect(text).not.toContain(new URL(body.url).searchParams.get('X-Amz-Signature'));
});
