import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getPackageFile } from './package-file.ts';
import { acquireLock } from './lock.ts';

let folder: string;
let file: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  file = join(folder, 'state', 'lock');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('the lock of a folder', () => {
  it('is refused to a second process, with the first one and the folder named', async () => {
    const first = startHolder();
    expect(await first.line).toBe('held');
    const refusal = acquireLock(file);
    await expect(refusal).rejects.toMatchObject({
      code: 'already_running',
      details: { pid: first.child.pid, folder: join(folder, 'state') },
    });
    await expect(refusal).rejects.toThrow(
      `The process ${first.child.pid} is already using "${join(folder, 'state')}". Stop it first.`,
    );
  });

  it('is taken over from a process that was killed', async () => {
    const first = startHolder();
    expect(await first.line).toBe('held');
    first.child.kill('SIGKILL');
    await new Promise((done) => first.child.once('exit', done));
    const lock = await acquireLock(file);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    lock.release();
  });

  it('goes to exactly one of several starters that find a dead one', async () => {
    await acquireLock(file); // makes the folder
    writeFileSync(file, JSON.stringify({ pid: 2 ** 22 + 1, startTime: '1' }));
    const lines = await Promise.all([1, 2, 3, 4].map(() => startHolder().line));
    expect(lines.filter((line) => line === 'held')).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('already_running '))).toHaveLength(3);
  });

  it('is refused within one process too, and free again after its release', async () => {
    const lock = await acquireLock(file);
    await expect(acquireLock(file)).rejects.toMatchObject({ code: 'already_running' });
    lock.release();
    lock.release();
    expect(existsSync(file)).toBe(false);
    (await acquireLock(file)).release();
  });

  it('is taken over when its number belongs to another process by now', async (test) => {
    test.skip(!existsSync('/proc/self/stat'), 'this system does not tell when a process began');
    (await acquireLock(file)).release();
    writeFileSync(file, JSON.stringify({ pid: process.pid, startTime: '1' }));
    await acquireLock(file);
    expect(readFileSync(file, 'utf8')).not.toContain('"startTime":"1"');
  });

  it('is taken over when its file was left without content', async () => {
    (await acquireLock(file)).release();
    writeFileSync(file, '');
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(file, longAgo, longAgo);
    await acquireLock(file);
    expect(readFileSync(file, 'utf8')).toContain(`"pid":${process.pid}`);
  });

  it('is not removed by the release of one that lost it', async () => {
    const lost = await acquireLock(file);
    const theirs = JSON.stringify({ pid: process.ppid, startTime: null });
    writeFileSync(file, theirs);
    lost.release();
    expect(readFileSync(file, 'utf8')).toBe(theirs);
  });
});

function startHolder(): { child: ChildProcess; line: Promise<string> } {
  const child = spawn(process.execPath, [getPackageFile('test/fixtures/hold-lock.mjs'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout });
  return { child, line: new Promise((resolve) => lines.once('line', resolve)) };
}
