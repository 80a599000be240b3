// @ts-check
/**
 * The folder in which the tests of one run make theirs: in memory where there is room, so that no test waits for a disk to
 * have synced a database that is thrown away. As vitest's global setup it makes the folder, and removes it with whatever
 * the tests have left in it.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 * 1024 ** 3;
const PREFIX = 'svc-tests-';

const parent = isUsable(MEMORY) ? MEMORY : tmpdir();

export const SCRATCH = join(parent, `${PREFIX}${process.pid}`);

export function setup() {
  removeLeftovers();
  mkdirSync(SCRATCH, { recursive: true });
}

export function teardown() {
  remove(SCRATCH);
}

// --- internal ---

/**
 * Whether it is a file system in memory, with room, where programs may be run.
 * @param {string} folder
 */
function isUsable(folder) {
  try {
    const mount = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .find((line) => line.startsWith(`tmpfs ${folder} `));
    const { bavail, bsize } = statfsSync(folder);
    return mount !== undefined && !/\bnoexec\b/.test(mount) && bavail * bsize > ENOUGH_BYTES;
  } catch {
    return false;
  }
}

/** What a run that was killed could not remove. */
function removeLeftovers() {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : undefined;
    if (pid && !isRunning(pid)) remove(join(parent, name));
  }
}

/**
 * What a process of a killed run still writes to is left for the next run: it fails no test.
 * @param {string} folder
 */
function remove(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    console.warn(`${folder} is left: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
