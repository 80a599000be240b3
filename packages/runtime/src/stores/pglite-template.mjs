// @ts-check
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

const BLOCK = 512;

/**
 * Gives a database folder that is not there yet the content of the archive (a tar under brotli), whole or not at all:
 * the folder appears by rename, so a first boot that was killed finds none and unpacks again. The caller holds the lock.
 * @param {string} archive
 * @param {string} dataDir
 */
export function unpackTemplate(archive, dataDir) {
  if (existsSync(join(dataDir, 'PG_VERSION'))) return;
  makeWay(dataDir);
  const parent = dirname(dataDir);
  const prefix = `.${basename(dataDir)}.unpacking-`;
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent)) {
    if (name.startsWith(prefix)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const staging = join(parent, prefix + process.pid);
  mkdirSync(staging, { mode: 0o700 });
  for (const entry of readTar(brotliDecompressSync(readFileSync(archive)))) {
    const path = join(staging, entry.name);
    if (entry.isFolder) mkdirSync(path, { recursive: true, mode: 0o700 });
    else writeFileSync(path, entry.content, { mode: 0o600 });
  }
  renameSync(staging, dataDir); // fails on a folder that is not empty: never over someone's files
}

/**
 * Takes a folder away that holds folders and no file, as `git clean` may leave one; refuses one that holds files.
 * @param {string} dataDir
 */
function makeWay(dataDir) {
  if (!existsSync(dataDir)) return;
  const file = readdirSync(dataDir, { recursive: true, withFileTypes: true }).find((entry) => !entry.isDirectory());
  if (file)
    throw new Error(`it holds files, such as "${file.name}", and no database. Move them away, or delete the folder.`);
  rmSync(dataDir, { recursive: true, force: true });
}

/**
 * Files and folders of a ustar archive, without leading slashes.
 * @param {Buffer} tar
 * @returns {Generator<{ name: string, isFolder: boolean, content: Buffer }>}
 */
export function* readTar(tar) {
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const text = (/** @type {number} */ from, /** @type {number} */ length) =>
      tar.toString('latin1', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8) || 0;
    const prefix = text(345, 155);
    const name = (prefix ? `${prefix}/${text(0, 100)}` : text(0, 100)).replace(/^\/+/, '').replace(/\/+$/, '');
    const content = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (name) yield { name, isFolder: text(156, 1) === '5', content };
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
