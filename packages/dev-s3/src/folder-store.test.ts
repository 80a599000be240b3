import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { listFiles, newFolder } from './_setup.ts';
import { openFolderStore } from './folder-store.ts';
import type { Guard, ObjectStore } from './store.ts';

test('of fifty writers that must find nothing there, one finds nothing', async () => {
  const { objects } = await openStore();
  const writes = Array.from({ length: 50 }, (_, index) => writeText(objects, 'a', String(index), mustBeNew));
  const results = await Promise.allSettled(writes);
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
});

test('an open object stays as it was while it is replaced and deleted', async () => {
  const { objects } = await openStore();
  const text = 'first '.repeat(10_000);
  await writeText(objects, 'a', text);
  const opened = await objects.openObject('box', 'a');
  await writeText(objects, 'a', 'second');
  await objects.deleteObject('box', 'a');
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened!.read()) chunks.push(chunk);
  await opened!.close();
  expect(Buffer.concat(chunks).toString()).toBe(text);
  expect(await objects.findObject('box', 'a')).toBeUndefined();
});

test('the data stands at the beginning of one file, as it is', async () => {
  const { dir, objects } = await openStore();
  await writeText(objects, 'a', 'plain data');
  const [file] = await listFiles(dir);
  expect((await readFile(file!, 'utf8')).startsWith('plain data{"key":"a","size":10,')).toBe(true);
});

test('a record larger than what is read at once is read whole', async () => {
  const { objects } = await openStore();
  const metadata = { long: 'x'.repeat(50_000) };
  await objects.writeObject('box', 'a', { body: toBody('data'), describe: () => ({ headers: {}, metadata }) });
  expect((await objects.findObject('box', 'a'))?.metadata).toEqual(metadata);
});

test('a torn file is no object, and a foreign file no key', async () => {
  const { dir, objects } = await openStore();
  await writeText(objects, 'a', 'data');
  await truncate(join(dir, 'box', 'objects', 'a'), 20);
  await writeFile(join(dir, 'box', 'objects', '.DS_Store'), 'x');
  expect(await objects.openObject('box', 'a')).toBeUndefined();
  expect(await objects.listKeys('box', '.')).toEqual([]);
});

const mustBeNew: Guard = (current) => {
  if (current) throw new Error('taken');
};

async function openStore() {
  const dir = await newFolder();
  const { objects } = await openFolderStore(dir);
  await objects.createBucket('box');
  return { dir, objects };
}

function writeText(objects: ObjectStore, key: string, text: string, guard?: Guard) {
  return objects.writeObject('box', key, {
    body: toBody(text),
    describe: () => ({ headers: {}, metadata: {} }),
    guard,
  });
}

async function* toBody(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
