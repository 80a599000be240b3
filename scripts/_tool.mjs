// @ts-check
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a script with this same Node. Output is kept, or shown as it comes.
 * @param {string} script a path, relative to the root or absolute
 * @param {string[]} args
 * @param {{ cwd?: string, show?: boolean, env?: NodeJS.ProcessEnv, nice?: number }} [options] `nice`: how far it stands back
 *   for other processes, 0 to 19
 * @returns {Promise<{ ok: boolean, output: string }>} `output` is empty when it was shown
 */
export function runScript(script, args, { cwd = ROOT, show = false, env = process.env, nice = 0 } = {}) {
  const child = spawn(process.execPath, [resolve(ROOT, script), ...args], {
    cwd,
    env,
    stdio: show ? 'inherit' : 'pipe',
  });
  if (nice > 0 && child.pid) setPriority(child.pid, nice);
  child.stdin?.end();
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((done, reject) => {
    child.on('error', reject);
    child.on('close', (code) => done({ ok: code === 0, output }));
  });
}

/**
 * The script behind a command of a root dev dependency, for `runScript`.
 * @param {string} name
 * @param {string} [command] where it is not called like its package
 */
export function binOf(name, command = name) {
  const folder = join(ROOT, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

/**
 * Seconds since `started` (of `performance.now()`), with one digit.
 * @param {number} started
 */
export function secondsSince(started) {
  return ((performance.now() - started) / 1000).toFixed(1);
}
