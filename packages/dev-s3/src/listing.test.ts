import { ListObjectsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import type { ListObjectsV2CommandInput, S3Client } from '@aws-sdk/client-s3';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { BUCKET, startFixture } from './_setup.ts';
import { compareKeys } from './key-name.ts';
import { pageKeys } from './listing.ts';

const TREE = ['a', 'a/b', 'a/b/c', 'a/d', 'b/', 'b/x', 'c', 'd/1', 'd/2', 'd/3', 'e'];
const ODD = [
  'a/../b',
  '..',
  './x',
  '/lead',
  'double//slash',
  'trail/',
  ' space ',
  'plus+and%25',
  'q?a=b&c#d',
  '<xml>&"\'',
  'line\nbreak\rand\ttab',
  'bell\u0007',
  'Ünïcödé/日本語',
  '😀',
  'e\u0301',
  'é',
  'UPPER',
  'upper',
  'x'.repeat(1024),
  '日'.repeat(341),
];

describe('paging', () => {
  test('pages of every size, put together, are the whole list', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '/', 'ü'), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.uniqueArray(key),
        fc.constantFrom('', 'a', 'a/'),
        fc.constantFrom('', '/'),
        fc.integer({ min: 1, max: 5 }),
        (all, prefix, delimiter, limit) => {
          const keys = all.filter((text) => text.startsWith(prefix)).sort(compareKeys);
          const whole = pageKeys(keys, { prefix, delimiter, after: '', limit: 1000 });
          expect(whole).toEqual({ ...groupKeys(keys, prefix, delimiter), next: undefined });
          const joined = { keys: [] as string[], commonPrefixes: [] as string[] };
          for (let after: string | undefined = ''; after !== undefined;) {
            const page = pageKeys(keys, { prefix, delimiter, after, limit });
            expect(page.keys.length + page.commonPrefixes.length).toBeLessThanOrEqual(limit);
            joined.keys.push(...page.keys);
            joined.commonPrefixes.push(...page.commonPrefixes);
            after = page.next;
          }
          expect({ ...joined, next: undefined }).toEqual(whole);
        },
      ),
    );
  });

  test('version 2 pages through a delimiter with its token', async () => {
    const { s3 } = await startFixture();
    await putKeys(s3, TREE);
    const seen: string[] = [];
    let pages = 0;
    for (let token: string | undefined; pages === 0 || token; pages++) {
      const page = await s3.send(
        new ListObjectsV2Command({ Bucket: BUCKET, Delimiter: '/', MaxKeys: 2, ContinuationToken: token }),
      );
      const items = [
        ...(page.Contents ?? []).map(({ Key }) => Key!),
        ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix!),
      ];
      expect(page.KeyCount).toBe(items.length);
      seen.push(...items.sort());
      token = page.NextContinuationToken;
      expect(page.IsTruncated).toBe(token !== undefined);
    }
    expect(seen).toEqual(['a', 'a/', 'b/', 'c', 'd/', 'e']);
    expect(pages).toBe(3);
  });

  test('prefix, start-after and max-keys 0', async () => {
    const { s3 } = await startFixture();
    await putKeys(s3, TREE);
    expect(await listKeys(s3, { Prefix: 'a/' })).toEqual(['a/b', 'a/b/c', 'a/d']);
    expect(await listKeys(s3, { Prefix: 'a/', Delimiter: '/' })).toEqual(['a/b', 'a/d', 'a/b/']);
    expect(await listKeys(s3, { Prefix: 'b/', Delimiter: '/' })).toEqual(['b/', 'b/x']);
    expect(await listKeys(s3, { StartAfter: 'd/2' })).toEqual(['d/3', 'e']);
    expect(await listKeys(s3, { MaxKeys: 0 })).toEqual([]);
    expect(await listKeys(s3, { Prefix: 'nothing' })).toEqual([]);
  });

  test('version 1 pages with its marker', async () => {
    const { s3 } = await startFixture();
    await putKeys(s3, TREE);
    const first = await s3.send(new ListObjectsCommand({ Bucket: BUCKET, Delimiter: '/', MaxKeys: 2 }));
    expect(first).toMatchObject({ IsTruncated: true, NextMarker: 'a/' });
    const rest = await s3.send(new ListObjectsCommand({ Bucket: BUCKET, Delimiter: '/', Marker: first.NextMarker }));
    expect(rest.Contents?.map(({ Key }) => Key)).toEqual(['c', 'e']);
    expect(rest.CommonPrefixes?.map(({ Prefix }) => Prefix)).toEqual(['b/', 'd/']);
    expect(rest.IsTruncated).toBe(false);
  });

  test('a token that was not given out is refused', async () => {
    const { s3 } = await startFixture();
    const list = s3.send(new ListObjectsV2Command({ Bucket: BUCKET, ContinuationToken: 'made up' }));
    await expect(list).rejects.toMatchObject({ name: 'InvalidArgument' });
  });
});

describe('odd keys', () => {
  test('each is its own object, and the list names it exactly', async () => {
    const { s3 } = await startFixture();
    await putKeys(s3, [...ODD, ...TREE]);
    const sorted = [...ODD, ...TREE].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await listKeys(s3, {})).toEqual(sorted);
    const encoded = await listKeys(s3, { EncodingType: 'url' });
    expect(encoded.map((key) => decodeURIComponent(key))).toEqual(sorted);
  });

  test('a key of 1025 bytes is too long', async () => {
    const { s3 } = await startFixture();
    const put = s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'x'.repeat(1025), Body: 'x' }));
    await expect(put).rejects.toMatchObject({ name: 'KeyTooLongError' });
  });
});

function groupKeys(keys: string[], prefix: string, delimiter: string) {
  const isBelow = (key: string) => delimiter !== '' && key.slice(prefix.length).includes(delimiter);
  const toPrefix = (key: string) => prefix + key.slice(prefix.length).split(delimiter, 1)[0] + delimiter;
  return {
    keys: keys.filter((key) => !isBelow(key)),
    commonPrefixes: [...new Set(keys.filter(isBelow).map(toPrefix))],
  };
}

async function putKeys(s3: S3Client, keys: string[]): Promise<void> {
  for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: Key.slice(0, 10) }));
}

async function listKeys(s3: S3Client, input: Partial<ListObjectsV2CommandInput>): Promise<string[]> {
  const { Contents = [], CommonPrefixes = [] } = await s3.send(new ListObjectsV2Command({ Bucket: BUCKET, ...input }));
  return [...Contents.map(({ Key }) => Key!), ...CommonPrefixes.map(({ Prefix }) => Prefix!)];
}
