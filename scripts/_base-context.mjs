// @ts-check
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { ROOT } from './_tool.mjs';

/** What a deployed box never loads: the embedded stores of `svc dev`. */
const DEV_ONLY = /^(?:better-sqlite3|@photostructure\/sqlite|@electric-sql\/pglite.*)$/;
/** Of what a package holds, that which no program reads. Licences go along. */
const UNREAD = /(?:\.map|\.d\.[cm]?ts|(?<!licen[cs]e|notice)\.md)$/i;
/** Of a package of others: its tests, what its authors work with, sources that Node reads in no package. */
const UNUSED = /^(?:tests?|__tests__|\.[^/]+)(?:\/|$)|\.[cm]?ts$/;
/** And of these, by name: the pages of a recorder and of reports, which only a person opens. */
const UNUSED_OF = new Map([['playwright-core', /^lib\/vite(?:\/|$)/]]);
const ENTRIES = ['boot.mjs', 'healthcheck.mjs', 'make-bucket.mjs', 'svc-box'];
const RUNTIME = join(ROOT, 'packages/runtime');
const CONTROL_PLANE = join(ROOT, 'packages/control-plane');

/**
 * Lays out in a folder what the base image is built from: the Dockerfile, and `svc/`, which becomes `/opt/svc`. The
 * packages are the installed ones, so the versions of the lockfile; nothing is fetched.
 * @param {string} folder
 */
export function writeBaseContext(folder) {
  const host = join(RUNTIME, 'dist/host.mjs');
  if (!existsSync(host)) throw new Error('The runtime is not built. Build it: node scripts/build.mjs');
  mkdirSync(join(folder, 'svc/runtime'), { recursive: true });
  cpSync(join(ROOT, 'docker/Dockerfile'), join(folder, 'Dockerfile'));
  for (const name of ENTRIES) cpSync(join(ROOT, 'docker', name), join(folder, 'svc', name));
  copyPackage(RUNTIME, join(folder, 'svc/runtime'), ['package.json', 'bin.mjs', 'dist', 'migrations']);
}

/**
 * The same for the image of the control plane, which stands on the base: the Dockerfile, `control-plane/`, and the empty
 * folder that a volume is put on.
 * @param {string} folder
 */
export function writeControlPlaneContext(folder) {
  if (!existsSync(join(CONTROL_PLANE, 'dist/index.mjs')))
    throw new Error('The control plane is not built. Build it: node scripts/build.mjs');
  cpSync(join(ROOT, 'docker/control-plane/Dockerfile'), join(folder, 'Dockerfile'));
  const target = join(folder, 'control-plane');
  mkdirSync(target, { recursive: true });
  copyPackage(CONTROL_PLANE, target, ['package.json', 'bin.mjs', 'dist']);
  cpSync(join(ROOT, 'docker/control-plane/svc-control-plane'), join(target, 'svc-control-plane'));
  mkdirSync(join(folder, 'volumes'), { recursive: true });
  mkdirSync(join(folder, 'volumes/data'), { recursive: true, mode: 0o700 });
}

/** The protocol version of the runtime that is built here. */
export async function readContract() {
  const { contractPayload } = await import('../packages/runtime/dist/host.mjs');
  return contractPayload();
}

// --- internal ---

/**
 * @param {string} source
 * @param {string} target
 * @param {string[]} names what of it is copied, besides what it depends on
 */
function copyPackage(source, target, names) {
  for (const name of names) cpSync(join(source, name), join(target, name), { recursive: true, filter: isRead });
  const copied = new Map();
  for (const name of dependenciesOf(source)) link(name, { from: source, to: target, target, copied });
}

/**
 * Every package lies once in `.pnpm/<its folder>/node_modules/<name>`, as in the checkout, and is linked to by those that
 * need it.
 * @param {string} name
 * @param {{ from: string, to: string, target: string, copied: Map<string, string> }} place
 */
function link(name, { from, to, target, copied }) {
  const source = findPackage(name, from);
  if (!source) return;
  const isOurs = !source.includes(`.pnpm${sep}`);
  const own = isOurs
    ? join('.pnpm', name.replace('/', '+'), 'node_modules', name)
    : source.slice(source.lastIndexOf(`.pnpm${sep}`));
  const folder = join(target, 'node_modules', own);
  if (!copied.has(source)) {
    copied.set(source, folder);
    const filter = (/** @type {string} */ path) => isRead(path) && isUsed(name, relative(source, path));
    // Of one of ours what is published, and not what its tests are run with.
    if (isOurs) return placeOurs({ name, source, folder, to });
    cpSync(source, folder, { recursive: true, filter });
    // Beside the package, where Node looks next.
    const root = folder.slice(0, folder.lastIndexOf(`${sep}node_modules${sep}`));
    for (const needed of dependenciesOf(source)) link(needed, { from: source, to: root, target, copied });
  }
  linkPlace(name, to, folder);
}

/** @param {{ name: string, source: string, folder: string, to: string }} place */
function placeOurs({ name, source, folder, to }) {
  for (const part of ['package.json', 'dist'])
    cpSync(join(source, part), join(folder, part), { recursive: true, filter: isRead });
  linkPlace(name, to, folder);
}

/**
 * @param {string} name
 * @param {string} to
 * @param {string} folder
 */
function linkPlace(name, to, folder) {
  const place = join(to, 'node_modules', name);
  if (existsSync(place)) return;
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(relative(dirname(place), folder), place);
}

/**
 * The real folder of a package as another finds it; undefined for an optional one that is not installed.
 * @param {string} name
 * @param {string} from
 */
function findPackage(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(found)) return realpathSync(found);
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * Peers included: where one is installed, it is used.
 * @param {string} folder
 * @returns {string[]}
 */
function dependenciesOf(folder) {
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const names = Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies });
  return names.filter((name) => !DEV_ONLY.test(name) && !name.startsWith('@types/'));
}

/**
 * @param {string} name
 * @param {string} path in the package
 */
function isUsed(name, path) {
  const inside = path.split(sep).join('/');
  return !UNUSED.test(inside) && UNUSED_OF.get(name)?.test(inside) !== true;
}

/** @param {string} path */
function isRead(path) {
  return !UNREAD.test(path) || statSync(path).isDirectory();
}
