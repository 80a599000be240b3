// @ts-check
/**
 * Builds the packages with tsdown, the dashboard with Vite, each only when something it is made of has changed, and the native SQLite driver.
 *   node scripts/build.mjs [--quiet]     quiet: one line per package that was built, nothing when none was
 * The talk goes to stderr; a failed build prints what was said and exits 1.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ROOT, binOf, runScript, secondsSince } from './_tool.mjs';

/** In the order they need each other. */
const PACKAGES = ['client', 'dev-s3', 'runtime', 'dashboard', 'control-plane', 'compiler', 'create', 'cli'];
/** It needs none of them: built beside those that stand before it. */
const BESIDE = 'dashboard';
const HASH_FILE = 'dist/.build-hash';
/** What shapes every build: the versions of the tools, the compiler options that end up in the types, the licences. */
const SHARED_INPUTS = ['pnpm-lock.yaml', 'tsconfig.json', 'scripts/_licences.mjs', 'scripts/_pages.mjs'];
/** What a package copies or bundles from outside of its own folder. */
/** @type {Record<string, string[]>} */
const COPIED = {
  runtime: ['docker'],
  // What of the runtime a browser gets: its client, and who may what.
  dashboard: ['packages/client/src', 'packages/dashboard/public'],
  'control-plane': ['packages/runtime/src', 'packages/control-plane/pages'],
  create: ['templates'],
  cli: ['templates', 'packages/create/src', 'docs/guide', 'docs/design', 'docs/reference'],
};

/** By what they are built, and of that whether it follows from the packages they depend on, or from what is COPIED alone. */
const VITE = { config: 'vite.config.ts', bin: 'vite', args: ['build'], follows: false };
const TSDOWN = { config: 'tsdown.config.ts', bin: 'tsdown', args: [], follows: true };

const quiet = process.argv.includes('--quiet');
/** @type {Map<string, string>} hash by the package's own name, for those that depend on it */
const hashes = new Map();

// Beside the packages, which do not need it. What it has to say it says itself.
const driver = runScript('scripts/sqlite-driver.mjs', ['--once'], { show: true });
const beside = buildPackage(BESIDE);
let isBuilt = true;
for (const name of PACKAGES) {
  isBuilt &&= await (name === BESIDE ? beside : buildPackage(name));
}
await Promise.all([driver, beside]);
process.exitCode = isBuilt ? 0 : 1;

// --- internal ---

/**
 * @param {string} name
 * @returns {Promise<boolean>} false: the build failed, and what was said of it is printed
 */
async function buildPackage(name) {
  const folder = join(ROOT, 'packages', name);
  const tool = [VITE, TSDOWN].find(({ config }) => existsSync(join(folder, config)));
  if (!tool) return true;
  const hash = await hashInputs(folder, tool);
  const hashFile = join(folder, HASH_FILE);
  if ((await readFile(hashFile, 'utf8').catch(() => '')) === hash) {
    if (!quiet) console.error(`${name} is up to date`);
    return true;
  }

  const started = performance.now();
  // The hash goes first and comes back last: a build that is cut off in between is done again.
  await rm(hashFile, { force: true });
  const { ok, output } = await runScript(binOf(tool.bin), tool.args, { cwd: folder, show: !quiet });
  if (!ok) {
    console.error(`${output}The build of ${name} failed.`);
    return false;
  }
  await mkdir(join(folder, 'dist'), { recursive: true });
  await writeFile(hashFile, hash);
  console.error(`built ${name} in ${secondsSince(started)} s`);
  return true;
}

/**
 * @param {string} folder
 * @param {{ config: string, follows: boolean }} tool
 */
async function hashInputs(folder, { config, follows }) {
  const hash = createHash('sha256');
  const files = [
    ...SHARED_INPUTS.map((file) => join(ROOT, file)),
    join(folder, 'package.json'),
    join(folder, config),
    ...['index.html', 'tsconfig.json'].map((name) => join(folder, name)).filter((file) => existsSync(file)),
    ...(await listSources(join(folder, 'src'))),
    ...(await Promise.all((COPIED[basename(folder)] ?? []).map((copied) => listSources(join(ROOT, copied))))).flat(),
  ];
  const texts = await Promise.all(files.map((file) => readFile(file)));
  for (const [i, text] of texts.entries()) hash.update(`${files[i]?.slice(ROOT.length)} ${text.length}\n`).update(text);

  const { name, dependencies, devDependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  // What is in the dist of a package it depends on, or bundles, follows from that package's hash.
  for (const dependency of follows ? Object.keys({ ...dependencies, ...devDependencies }) : [])
    hash.update(hashes.get(dependency) ?? '');
  const digest = hash.digest('hex');
  hashes.set(name, digest);
  return digest;
}

/**
 * Every file under `src` but the tests, sorted.
 * @param {string} folder
 */
async function listSources(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
