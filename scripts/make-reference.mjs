// @ts-check
/**
 * Writes docs/reference from the built packages: routes, commands, environment, errors, the control plane.
 *   node scripts/make-reference.mjs [--check] [folder]     check: write nothing, exit 1 and name the files that are stale
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { renderReference } from './_reference.mjs';
import { ROOT } from './_tool.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false } },
});
const folder = resolve(positionals[0] ?? join(ROOT, 'docs/reference'));
const [runtime, cli, compiler, controlPlane] = await Promise.all([
  importBuilt('runtime/dist/host.mjs'),
  importBuilt('cli/dist/index.mjs'),
  importBuilt('compiler/dist/index.mjs'),
  importBuilt('control-plane/dist/index.mjs'),
]);
const stale = Object.entries(await renderReference({ runtime, cli, compiler, controlPlane })).filter(
  ([file, text]) => readText(join(folder, file)) !== text,
);
if (values.check) reportStale(stale.map(([file]) => file));
else writeAll(stale);

// --- internal ---

/**
 * Not a plain import: the types come from the source, also where nothing is built.
 * @param {string} file
 */
function importBuilt(file) {
  return import(pathToFileURL(join(ROOT, 'packages', file)).href);
}

/** @param {string[]} files */
function reportStale(files) {
  if (files.length === 0) return;
  for (const file of files) console.error(`${relative(ROOT, join(folder, file))} is stale.`);
  console.error('Run: pnpm reference');
  process.exitCode = 1;
}

/** @param {[file: string, text: string][]} pages */
function writeAll(pages) {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of pages) {
    writeFileSync(join(folder, file), text);
    console.error(`wrote ${relative(ROOT, join(folder, file))}`);
  }
}

/** @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
