// @ts-check
/**
 * Node binaries of other versions, from npm's `node` package, kept under node_modules/.cache.
 *   node scripts/node-matrix.mjs [version…]     prints the path of each
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ROOT } from './_tool.mjs';

/** The oldest Node that everything runs on, and the one that workspaces pin. */
export const NODE_VERSIONS = ['20.18.0', '24.21.0'];

/**
 * The path of a Node binary of exactly this version. Fetched once; safe to call from several processes.
 * @param {string} version
 * @returns {Promise<string>}
 */
export async function nodeBinary(version) {
  const home = join(CACHE, version);
  if (!existsSync(join(home, BINARY))) await fetchNode(version, home);
  return join(home, BINARY);
}

// --- internal ---

const CACHE = join(ROOT, 'node_modules/.cache/svc-nodes');
const BINARY = 'node_modules/node/bin/node';

/**
 * @param {string} version
 * @param {string} home
 */
async function fetchNode(version, home) {
  await mkdir(CACHE, { recursive: true });
  // Installed beside and renamed, so that a folder with the version's name is always a whole one.
  const fresh = await mkdtemp(join(CACHE, `${version}-`));
  try {
    await promisify(execFile)('npm', [
      'install',
      `node@${version}`,
      '--prefix',
      fresh,
      '--no-save',
      '--loglevel=error',
    ]);
    await rename(fresh, home).catch((error) => {
      if (!existsSync(join(home, BINARY))) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const versions = process.argv.slice(2);
  for (const version of versions.length ? versions : NODE_VERSIONS) console.log(await nodeBinary(version));
}
