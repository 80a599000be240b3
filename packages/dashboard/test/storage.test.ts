import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { endingOf, folderOf, foldersTo, nameOf, toBytes } from '../src/screens/storage/keys.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, listBarriers, openBrowser } from './_browser.ts';
import { serveObjects } from './_objects.ts';

describeWhen(browser, 'The storage', (path) => {
  const objects = serveObjects();
  const served = serveBox(() => ({ options: { storage: objects.storage() } }));
  const without = serveBox();
  const missing = serveBox(() => ({ options: { storage: objects.openBucket('elsewhere') } }));
  const open = openBrowser(path);
  const keysOf = async (prefix: string) => (await objects.storage().list({ prefix })).items.map(({ key }) => key);
  /** No address that is good for whoever has it is left in the page. */
  const hasSigned = async (page: Page) => (await page.content()).includes('X-Amz-');

  test('a box without storage, a bucket that is not there, and one that is empty each say what to do', async () => {
    const page = await open(without().studio('/storage'));
    await page.getByText('This box has no object storage').waitFor();
    expect(await page.getByRole('button', { name: 'Upload' }).count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);

    const refused = await open(missing().studio('/storage'));
    allowComplaint(refused, /Failed to load resource/);
    await refused.getByRole('alert').getByText('storage_refused').waitFor();
    await refused.getByText(/SVC_S3_BUCKET/).waitFor();
    expect(await listBarriers(refused)).toEqual([]);

    const empty = await open(served().studio('/storage'));
    await empty.getByText('No objects yet').waitFor();
    expect(await listBarriers(empty)).toEqual([]);
  });

  test('keys are folders: one is gone into, out of by its way, and narrowed down', async () => {
    await objects
      .storage()
      .put('tree/2026/march.csv', 'a,b\n'.repeat(500), { contentType: 'text/csv', metadata: { by: 'ada' } });
    await objects.storage().put('tree/readme', 'Read me.');
    const page = await open(served().studio('/storage?prefix=tree%2F'));
    await page.getByRole('row', { name: /^2026\/ folder/ }).waitFor();
    await page.getByRole('row', { name: /^readme object 8 bytes/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: '2026/' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^march.csv csv 2.0 kB/ }).waitFor();
    const way = page.getByRole('navigation', { name: 'Folders' });
    await way.getByRole('link', { name: 'tree' }).click();
    await page.getByRole('button', { name: 'readme', exact: true }).waitFor();
    await page.getByLabel('Keys that begin with').fill('tree/re');
    await page.getByRole('link', { name: '2026/' }).waitFor({ state: 'detached' });
    await page.getByLabel('Keys that begin with').fill('tree/nothing/');
    await page.getByText('No key begins like that').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('an object is looked at and downloaded, and its address is nowhere in the page', async () => {
    await objects.storage().put('one/march.csv', 'a,b\n', { contentType: 'text/csv', metadata: { by: 'ada' } });
    const page = await open(served().studio('/storage?prefix=one%2F'));
    await page.getByRole('button', { name: 'march.csv', exact: true }).click();
    const details = page.getByRole('dialog', { name: 'march.csv' });
    await details.getByText('text/csv').waitFor();
    await details.getByRole('tree', { name: 'Metadata' }).getByText('ada').waitFor();
    expect(new URL(page.url()).searchParams.get('object')).toBe('one/march.csv');
    expect(await listBarriers(page)).toEqual([]);
    const downloading = page.waitForEvent('download');
    await details.getByRole('button', { name: 'Download' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe('march.csv');
    expect(await readFile(await download.path(), 'utf8')).toBe('a,b\n');
    expect(await hasSigned(page)).toBe(false);
    await page.keyboard.press('Escape');
    await details.waitFor({ state: 'detached' });
    await page.goto(served().studio('/storage?object=gone'));
    allowComplaint(page, /404/);
    await page.getByRole('dialog').getByText('object_not_found').waitFor();
  });

  test('files are uploaded with their progress, and what is there is replaced only when that is said', async () => {
    await objects.storage().put('in/there.txt', 'before');
    const page = await open(served().studio('/storage?prefix=in%2F'));
    allowComplaint(page, /412/);
    let isLet = false;
    await page.route('**/api/storage/objects/upload-url', async (asked) => {
      await until(() => isLet);
      await asked.continue();
    });
    await page.getByRole('button', { name: 'there.txt', exact: true }).waitFor();
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await (
      await choosing
    ).setFiles([
      { name: 'new.json', mimeType: 'application/json', buffer: Buffer.from('{"n":1}') },
      { name: 'there.txt', mimeType: 'text/plain', buffer: Buffer.from('after') },
      { name: 'no kind & größe', mimeType: '', buffer: Buffer.alloc(3_000_000, 7) },
      { name: 'dropped.txt', mimeType: 'text/plain', buffer: Buffer.from('never') },
    ]);
    await page.getByRole('progressbar', { name: 'Progress of in/new.json' }).waitFor();
    await page.getByText('4 of 4 uploads to go').waitFor();
    await page.getByRole('button', { name: 'Cancel in/dropped.txt' }).click();
    expect(await listBarriers(page)).toEqual([]);
    isLet = true;
    await page.getByText('Uploads are over').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    expect(await keysOf('in/')).toEqual(['in/new.json', 'in/no kind & größe', 'in/there.txt']);
    expect(await objects.storage().stat('in/new.json')).toMatchObject({ contentType: 'application/json', size: 7 });
    expect(await objects.storage().stat('in/no kind & größe')).toMatchObject({ size: 3_000_000 });
    expect(await (await objects.storage().get('in/there.txt')).text()).toBe('before');
    await page.getByRole('row', { name: /^new.json json 7 bytes/ }).waitFor();
    await page.getByRole('button', { name: 'Replace in/there.txt' }).click();
    await expect.poll(async () => (await objects.storage().get('in/there.txt')).text()).toBe('after');
    expect(await hasSigned(page)).toBe(false);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('list', { name: 'Uploads' }).waitFor({ state: 'detached' });
  });

  test('files are dropped into the folder that is open', async () => {
    await objects.storage().put('drop/a.txt', 'a');
    const page = await open(served().studio('/storage?prefix=drop%2F'));
    const area = page.getByRole('region', { name: 'Objects' });
    await area.waitFor();
    const data = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File(['dropped'], 'b.txt')); return data; })()`,
    );
    await area.dispatchEvent('dragover', { dataTransfer: data });
    await page.getByText('Drop to upload to').waitFor();
    await area.dispatchEvent('drop', { dataTransfer: data });
    await page.getByRole('row', { name: /^b.txt txt 7 bytes/ }).waitFor();
    expect(await (await objects.storage().get('drop/b.txt')).text()).toBe('dropped');
  });

  test('an upload that the storage is not reached for says where that is, without the address', async () => {
    await objects.storage().put('far/a.txt', 'a');
    const page = await open(served().studio('/storage?prefix=far%2F'));
    allowComplaint(page, /Failed to load resource|Content Security Policy|Refused to connect/);
    await page.route(`${objects.url()}/**`, (asked) => asked.abort());
    const file = { name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('b') };
    await page.getByRole('button', { name: 'a.txt', exact: true }).waitFor();
    await page.getByLabel('Files to upload').setInputFiles([file]);
    await page.getByText(`The object storage at ${objects.url()} cannot be reached from this browser`).waitFor();
    await page.route('**/api/storage/objects/upload-url', (asked) =>
      asked.fulfill({ json: { url: 'http://localhost:9/b.txt?X-Amz-Signature=1', headers: {} } }),
    );
    await page.getByLabel('Files to upload').setInputFiles([file]);
    await page.getByText('This page may send nothing to http://localhost:9').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    expect(await hasSigned(page)).toBe(false);
  });

  test('an object is moved, and a target that is there is refused', async () => {
    await objects.storage().put('move/a.txt', 'a');
    await objects.storage().put('move/b.txt', 'b');
    const page = await open(served().studio('/storage?prefix=move%2F'));
    allowComplaint(page, /409/);
    await page.getByRole('button', { name: 'Move a.txt' }).click();
    const dialog = page.getByRole('dialog', { name: 'Move a.txt' });
    await dialog.getByLabel('New key').fill('move/b.txt');
    await dialog.getByLabel('New key').press('Enter');
    await dialog.getByText('object_exists').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByLabel('New key').fill('move/deep/c.txt');
    await dialog.getByRole('button', { name: 'Move' }).click();
    await page.getByRole('link', { name: 'deep/' }).waitFor();
    expect(await keysOf('move/')).toEqual(['move/b.txt', 'move/deep/c.txt']);
  });

  test('one object is deleted, or a folder once it was said how many that are', async () => {
    await objects.storage().put('gone/one.txt', '1');
    for (const name of ['a', 'b', 'c']) await objects.storage().put(`gone/all/${name}`, name);
    await objects.storage().put('gone/all-but', 'stays');
    const page = await open(served().studio('/storage?prefix=gone%2F'));
    await page.getByRole('button', { name: 'Delete one.txt' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('one.txt is deleted.').waitFor();
    await page.getByRole('button', { name: 'one.txt', exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete all/' }).click();
    await page.getByText('3 objects whose key begins with').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 3 objects' }).click();
    await page.getByText('3 objects deleted.').waitFor();
    await page.getByRole('link', { name: 'all/' }).waitFor({ state: 'detached' });
    expect(await keysOf('gone/')).toEqual(['gone/all-but']);
  });

  test('all of it is for a narrow screen too, in the dark', async () => {
    await objects.storage().put('narrow/a-name-that-is-rather-long-for-a-telephone-2026.csv', 'a');
    await objects.storage().put('narrow/deep/b.txt', 'b');
    const page = await open(served().studio('/storage?prefix=narrow%2F'), { width: 360, theme: 'dark' });
    await page.getByRole('link', { name: 'deep/' }).waitFor();
    expect([await listBarriers(page), await isTooWide(page)]).toEqual([[], false]);
    await page.getByRole('button', { name: /^a-name/ }).click();
    await page.getByRole('dialog').getByText('ETag').waitFor();
    expect([await listBarriers(page), await isTooWide(page)]).toEqual([[], false]);
  });
});

test('keys are taken apart at their slashes', () => {
  expect(['a/b', 'a/', 'a', ''].map(folderOf)).toEqual(['a/', 'a/', '', '']);
  expect(['a/b', 'a/b/', 'a'].map(nameOf)).toEqual(['b', 'b/', 'a']);
  expect(foldersTo('a/b/c')).toEqual([
    { name: 'a', prefix: 'a/' },
    { name: 'b', prefix: 'a/b/' },
  ]);
  expect(['a.tar.GZ', 'a/.env', 'a', 'a.b/c'].map(endingOf)).toEqual(['gz', undefined, undefined, undefined]);
  expect([0, 1, 999, 1_000, 123_456, 5_400_000_000].map(toBytes)).toEqual([
    '0 bytes',
    '1 byte',
    '999 bytes',
    '1.0 kB',
    '123 kB',
    '5.4 GB',
  ]);
});
