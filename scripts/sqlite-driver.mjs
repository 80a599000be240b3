// @ts-check
/**
 * Makes the native SQLite driver, better-sqlite3: fetches a binary of it or compiles one. Where neither works the others
 * are taken, and one line says so; what was tried is in a log. pnpm does not run the package's own script, for it would
 * print all that a compiler says.
 *   node scripts/sqlite-driver.mjs [--once]     once: what failed with this version of Node is not tried again
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ROOT } from './_tool.mjs';

const LIMIT_MS = 20 * 60_000;
const runtime = createRequire(join(ROOT, 'packages/runtime/package.json'));
const log = join(ROOT, `node_modules/.cache/svc-build/better-sqlite3-${process.version}.log`);

const isOver = opens() || (process.argv.includes('--once') && existsSync(log));
if (!isOver) {
  const output = await runInstallScript();
  if (!opens()) {
    mkdirSync(dirname(log), { recursive: true });
    writeFileSync(log, output);
    const why = relative(ROOT, log);
    console.error(
      `better-sqlite3 can be neither fetched nor compiled here (${why}): other SQLite drivers are taken. ` +
        'To try again: node scripts/sqlite-driver.mjs',
    );
  }
}

// --- internal ---

function opens() {
  try {
    const Database = runtime('better-sqlite3');
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

/** @returns {Promise<string>} what it printed; it does not throw */
async function runInstallScript() {
  try {
    const folder = dirname(runtime.resolve('better-sqlite3/package.json'));
    const child = spawn('npm', ['run', 'install', '--prefix', folder], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      shell: process.platform === 'win32',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    await new Promise((done, reject) => child.on('close', done).on('error', reject));
    return output;
  } catch (error) {
    return String(error);
  }
}
