// @ts-check
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/**
 * A plugin of the bundler: the pages beside the module that serves them.
 * @param {{ from: string, to: string }} folders
 * @returns {import('tsdown').Rolldown.Plugin}
 */
export function buildPages(folders) {
  return { name: 'pages', writeBundle: () => writePages(folders) };
}

/**
 * Writes every file below `from`: those of `both/assets` under a name with the hash of what is in them, which others are
 * made to name, each with its gzip and brotli twin where that is smaller.
 * @param {{ from: string, to: string }} folders
 */
export function writePages({ from, to }) {
  rmSync(to, { recursive: true, force: true });
  const all = readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(from, join(entry.parentPath, entry.name)))
    .sort();
  /** @type {Map<string, string>} the name of an asset with its hash, by its own */
  const renamed = new Map();
  const assets = all.filter((file) => file.startsWith(join('both', 'assets')));
  // What the others import has its name first.
  const later = (/** @type {string} */ file) => Number(/^import /m.test(readFileSync(join(from, file), 'utf8')));
  for (const file of assets.toSorted((a, b) => later(a) - later(b))) {
    const bytes = rename(readFileSync(join(from, file)), file, renamed);
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 8);
    const extension = extname(file);
    const name = `${basename(file, extension)}-${hash}${extension}`;
    renamed.set(basename(file), name);
    write(join(to, dirname(file), name), bytes);
  }
  for (const file of all.filter((one) => !assets.includes(one)))
    write(join(to, file), rename(readFileSync(join(from, file)), file, renamed));
}

// --- internal ---

const TEXTS = new Set(['.html', '.css', '.js', '.svg', '.json', '.txt']);

/**
 * @param {Buffer} bytes
 * @param {string} file
 * @param {Map<string, string>} renamed
 */
function rename(bytes, file, renamed) {
  if (!TEXTS.has(extname(file)) || renamed.size === 0) return bytes;
  const names = [...renamed.keys()].map((name) => name.replaceAll('.', String.raw`\.`)).join('|');
  const text = bytes.toString('utf8');
  return Buffer.from(
    text.replaceAll(
      new RegExp(`(?<=["'](?:/assets|\\.)/)(?:${names})(?=["'])`, 'g'),
      (name) => renamed.get(name) ?? name,
    ),
  );
}

/**
 * @param {string} file
 * @param {Buffer} bytes
 */
function write(file, bytes) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  if (!TEXTS.has(extname(file))) return;
  const twins = {
    '.gz': gzipSync(bytes, { level: 9 }),
    '.br': brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  };
  for (const [extension, twin] of Object.entries(twins))
    if (twin.length < bytes.length) writeFileSync(file + extension, twin);
}
