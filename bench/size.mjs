// @ts-check
import { execFile } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { round } from './_stats.mjs';

const TARGET_MB = 220;
const LARGEST = 10;

/**
 * What the packages weigh on disk in a workspace that plain npm installed them into, with the SQLite binding, which is
 * compiled where no ready-made one is found, and without it. The packages are packed from `dist`: build them first.
 * @param {(line: object) => void} print
 */
export async function run(print) {
  const root = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    const tarballs = await packAll(join(root, 'tarballs'));
    const workspace = join(root, 'workspace');
    const started = performance.now();
    await install(workspace, tarballs);
    const seconds = round((performance.now() - started) / 1_000);
    const packages = listPackages(join(workspace, 'node_modules'));
    const mb = toMb(sum(packages.map(({ bytes }) => bytes)));
    const optional = findOnlyThrough('better-sqlite3', join(workspace, 'package-lock.json'));
    const without = toMb(sum(packages.filter(({ path }) => !optional.has(path)).map(({ bytes }) => bytes)));
    const largest = packages.toSorted((a, b) => b.bytes - a.bytes).slice(0, LARGEST);
    print({
      bench: 'size.installed',
      mb,
      without_sqlite_binding_mb: without,
      packages: packages.length,
      install_seconds: seconds,
      largest: Object.fromEntries(largest.map(({ path, bytes }) => [path, toMb(bytes)])),
      target: TARGET_MB,
      ok: mb <= TARGET_MB,
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

// --- internal ---

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const exec = promisify(execFile);

/**
 * The packages as they would be published, by name.
 * @param {string} folder
 * @returns {Promise<Record<string, string>>}
 */
async function packAll(folder) {
  mkdirSync(folder);
  /** @type {Record<string, string>} */
  const tarballs = {};
  for (const name of ['client', 'dev-s3', 'runtime', 'control-plane', 'compiler', 'create', 'cli']) {
    // npm would leave `workspace:` in the dependencies.
    const { stdout } = await exec('npx', ['-y', 'pnpm@10.34.8', 'pack', '--json', '--pack-destination', folder], {
      cwd: join(ROOT, 'packages', name),
    });
    const packed = JSON.parse(stdout.slice(stdout.indexOf('{')));
    tarballs[packed.name] = `file:${packed.filename}`;
  }
  return tarballs;
}

/**
 * @param {string} workspace
 * @param {Record<string, string>} tarballs
 */
async function install(workspace, tarballs) {
  const { '@svc/runtime': runtime, '@svc/cli': cli, ...indirect } = tarballs;
  const { dependencies } = readJson(join(ROOT, 'packages/runtime/package.json'));
  mkdirSync(workspace);
  const manifest = {
    name: 'installed',
    private: true,
    type: 'module',
    dependencies: { '@svc/runtime': runtime, zod: dependencies.zod },
    devDependencies: { '@svc/cli': cli },
    overrides: indirect,
  };
  writeFileSync(join(workspace, 'package.json'), JSON.stringify(manifest));
  await exec('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: workspace });
}

/**
 * Every installed package with the bytes it takes up, packages inside of it not counted.
 * @param {string} folder a `node_modules`
 * @returns {{ path: string, bytes: number }[]} `path` as the lockfile has it, without the leading `node_modules/`
 */
function listPackages(folder, prefix = '') {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
  return names.flatMap((name) => {
    const path = join(folder, name);
    if (name.startsWith('@')) return listPackages(path, `${prefix}${name}/`);
    const inner = readdirSync(path).includes('node_modules') ? join(path, 'node_modules') : undefined;
    const nested = inner ? listPackages(inner, `${prefix}${name}/node_modules/`) : [];
    return [{ path: prefix + name, bytes: sizeOf(path, inner) }, ...nested];
  });
}

/**
 * As `du` counts: blocks on disk, folders included.
 * @param {string} path
 * @param {string | undefined} skip
 * @returns {number}
 */
function sizeOf(path, skip) {
  const stats = lstatSync(path);
  const own = stats.blocks * 512;
  if (path === skip || !stats.isDirectory()) return path === skip ? 0 : own;
  return own + sum(readdirSync(path).map((name) => sizeOf(join(path, name), skip)));
}

/**
 * The installed packages that nothing but `name` needs, itself included.
 * @param {string} name
 * @param {string} lockfile
 */
function findOnlyThrough(name, lockfile) {
  /** @type {{ packages: Record<string, Record<string, Record<string, string>>> }} */
  const { packages } = readJson(lockfile);
  const reached = new Set(['']);
  for (const path of reached) {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    const needed = { ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies };
    for (const needs of Object.keys(needed)) {
      const found = needs === name ? undefined : resolveIn(packages, path, needs);
      if (found !== undefined) reached.add(found);
    }
  }
  const left = Object.keys(packages).filter((path) => !reached.has(path));
  return new Set(left.map((path) => path.replace('node_modules/', '')));
}

/**
 * @param {Record<string, unknown>} packages
 * @param {string} from
 * @param {string} name
 * @returns {string | undefined}
 */
function resolveIn(packages, from, name) {
  const path = `${from}${from && '/'}node_modules/${name}`;
  if (path in packages) return path;
  return from === ''
    ? undefined
    : resolveIn(packages, from.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), name);
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** @param {number} bytes */
function toMb(bytes) {
  return round(bytes / 1_048_576, 1);
}
