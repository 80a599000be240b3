import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { createLazyStorage } from '../../runtime/src/testing/storage.ts';
import { runCli } from './_run.ts';
import { closedAddress, makeProject, readDocument, readError } from './_setup.ts';

/** As it is built. */
const BIN = fileURLToPath(new URL('../bin.mjs', import.meta.url));
const boxes = setupBoxes();
const objects = createLazyStorage();
const { storage } = objects;
const open = boxes.share({ options: { storage }, closes: () => objects.close() });
let url: string;
beforeAll(async () => {
  url = await (await open()).listen();
});

describe('svc storage', () => {
  it('uploads a file and downloads it byte for byte, and replaces neither unasked', async () => {
    const cwd = await makeProject(url);
    const bytes = randomBytes(300_000);
    await writeFile(join(cwd, 'picture.png'), bytes);
    const put = ['storage', 'put', 'picture.png', 'a b/ü.png'];
    expect(readDocument(await runCli([...put, '--json'], { cwd }))).toMatchObject({
      key: 'a b/ü.png',
      size: 300_000,
      contentType: 'image/png',
    });
    expect(await storage.stat('a b/ü.png')).toMatchObject({ size: 300_000, contentType: 'image/png' });
    expect(readError(await runCli([...put, '--json'], { cwd }))).toMatchObject({ code: 'object_exists' });
    expect((await runCli([...put, '--overwrite'], { cwd })).stdout).toBe('Uploaded a b/ü.png, 300.0 kB, image/png\n');
    const get = ['storage', 'get', 'a b/ü.png'];
    expect((await runCli(get, { cwd })).stdout).toBe('Downloaded a b/ü.png, 300.0 kB: ü.png\n');
    expect(readFileSync(join(cwd, 'ü.png')).equals(bytes)).toBe(true);
    expect(readError(await runCli([...get, '--json'], { cwd }))).toMatchObject({ code: 'already_exists' });
    const other = await runCli([...get, '--out', 'in/other.png', '--json'], { cwd });
    expect(readDocument(other)).toMatchObject({ file: join(cwd, 'in/other.png'), size: 300_000 });
  });

  it('uploads what a pipe brings and prints what it downloads, byte for byte', async () => {
    const cwd = await makeProject(url);
    // No text: a reader that takes it for one changes it.
    const bytes = Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0x0d, 0x0a, 0xc3]), randomBytes(300_000)]);
    const before = readdirSync(tmpdir());
    const put = await runCli(['storage', 'put', '-', 'piped/data.json', '--json'], { cwd, stdin: bytes });
    expect(readDocument(put)).toEqual({
      schema_version: 1,
      key: 'piped/data.json',
      size: bytes.length,
      contentType: 'application/json',
    });
    const get = await runCli(['storage', 'get', 'piped/data.json', '--out', '-'], { cwd });
    expect([get.exitCode, get.stderr, Buffer.from(get.stdout, 'latin1').equals(bytes)]).toEqual([0, '', true]);
    const empty = await runCli(['storage', 'put', '-', 'piped/nothing'], { cwd, stdin: '' });
    expect(empty.stdout).toBe('Uploaded piped/nothing, 0 B, application/octet-stream\n');
    expect(await runCli(['storage', 'get', 'piped/nothing', '--out', '-'], { cwd })).toMatchObject({ stdout: '' });
    const again = await runCli(['storage', 'put', '-', 'piped/nothing', '--json'], { cwd, stdin: 'more' });
    expect(readError(again)).toMatchObject({ code: 'object_exists' });
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('svc-put-') && !before.includes(name))).toEqual([]);
  });

  it('goes through the pipes of a shell, as much as there is', async () => {
    const cwd = await makeProject(url);
    const svc = `${process.execPath} ${BIN}`;
    const line = `head -c 40000000 /dev/urandom | tee sent | ${svc} storage put - big.bin >&2
      ${svc} storage get big.bin --out - | cmp - sent && ${svc} storage get big.bin --out - | head -c 5 | wc -c`;
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { cwd, env: { ...process.env, NO_COLOR: '1' } });
    expect(stdout.trim()).toBe('5');
  }, 60_000);

  it('says what is wrong with a pipe, and prints nothing of an object that is not there', async () => {
    const cwd = await makeProject(url);
    const typed = await runCli(['storage', 'put', '-', 'a', '--json'], { cwd, stdin: [] });
    expect(readError(typed)).toMatchObject({ code: 'file_unreadable', message: expect.stringContaining('a pipe') });
    const missing = await runCli(['storage', 'get', 'nope.txt', '--out', '-'], { cwd });
    expect([missing.exitCode, missing.stdout]).toEqual([4, '']);
    expect(missing.stderr).toContain('nope.txt');
    await storage.put('both', 'x');
    const both = await runCli(['storage', 'get', 'both', '--out', '-', '--json'], { cwd });
    expect([both.exitCode, readError(both).message]).toEqual([1, expect.stringContaining('--json')]);
  });

  it('fails where the storage breaks off in the middle of what is printed', async () => {
    const broken = createServer((_, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('begin', () => response.destroy());
    });
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void broken.close());
    const away = `http://127.0.0.1:${(broken.address() as AddressInfo).port}/x`;
    await storage.put('here', 'x');
    const options = { storage: { ...storage, url: async () => away, stat: () => storage.stat('here') } };
    const cwd = await makeProject(await (await boxes.open({ options })).listen());
    const cut = await runCli(['storage', 'get', 'here', '--out', '-'], { cwd });
    expect([cut.exitCode, cut.stdout]).toEqual([1, 'begin']);
    expect(cut.stderr).toContain('what was printed is not all of it');
  });

  it('lists a folder, and with --recursive all below it', async () => {
    const cwd = await makeProject(url);
    for (const key of ['list/a.txt', 'list/b/1', 'list/b/2']) await storage.put(key, key);
    const { stdout } = await runCli(['storage', 'ls', 'list/'], { cwd });
    expect(stdout).toMatch(/list\/b\/\s+-\s+-\n/);
    expect(stdout).toMatch(/list\/a\.txt\s+10 B/);
    expect(stdout).not.toContain('list/b/1');
    const all = readDocument(await runCli(['storage', 'ls', 'list/', '--recursive', '--json'], { cwd }));
    expect((all['items'] as { key: string }[]).map(({ key }) => key)).toEqual(['list/a.txt', 'list/b/1', 'list/b/2']);
  });

  it('deletes one object, or some that begin with a prefix, and says that there are more', async () => {
    const cwd = await makeProject(url);
    for (const key of ['rm/a', 'rm/b', 'rm/c', 'rm/d']) await storage.put(key, key);
    expect((await runCli(['storage', 'rm', 'rm/a', '--yes'], { cwd })).stdout).toBe('Deleted 1 object\n');
    const some = await runCli(['storage', 'rm', '--prefix', 'rm/', '--limit', '2', '--yes'], { cwd });
    expect(some).toMatchObject({
      stdout: 'Deleted 2 objects\n',
      stderr: expect.stringContaining('More begin with it'),
    });
    expect((await storage.list({ prefix: 'rm/' })).items.map(({ key }) => key)).toEqual(['rm/d']);
    for (const argv of [
      ['storage', 'rm'],
      ['storage', 'rm', 'rm/d', '--prefix', 'rm/'],
    ])
      expect(readError(await runCli([...argv, '--yes', '--json'], { cwd }))).toMatchObject({
        message: expect.stringContaining('--prefix'),
      });
  });

  it('says what is wrong, and leaves no file behind', async () => {
    const cwd = await makeProject(url);
    const before = readdirSync(cwd);
    const missing = await runCli(['storage', 'get', 'nope.txt', '--json'], { cwd });
    expect([missing.exitCode, readError(missing).code]).toEqual([4, 'object_not_found']);
    const unnamed = await runCli(['storage', 'put', 'nope.txt', 'a', '--json'], { cwd });
    expect(readError(unnamed)).toMatchObject({ code: 'file_unreadable' });
    expect(readdirSync(cwd)).toEqual(before);
  });

  it('says which variable to look at when this machine does not reach the storage', async () => {
    const away = await closedAddress();
    const box = await boxes.open({
      options: {
        storage: { ...storage, url: async (key) => `${away}/bucket/${key}`, stat: () => storage.stat('here') },
      },
    });
    await storage.put('here', 'x');
    const cwd = await makeProject(await box.listen());
    const error = readError(await runCli(['storage', 'get', 'here', '--json'], { cwd }));
    expect(error).toMatchObject({ code: 'store_unavailable', suggestion: expect.stringContaining('SVC_S3_ENDPOINT') });
  });
});
