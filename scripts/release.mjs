// @ts-check
/**
 * Builds the packages, packs them as they are published, checks the tarballs, and publishes them in the order they need
 * each other; without --publish only as far as npm's own dry run.
 *   node scripts/release.mjs                   `pnpm release`
 *   --out <folder>         where the tarballs go; default: dist/release
 *   --pack                 build, pack and check, and leave npm's dry run out
 *   --publish --repository <url> [--tag <tag>]  to the registry that npm is configured for. The address of the repository is
 *     part of what is published, since npm's provenance is checked against it; no file of the project names one.
 * Prints a line per package, and a line per fault; ends with 1 where there is one.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { LIMITS, listFileFaults, listManifestFaults, PACKAGES, toPublished } from './_release.mjs';
import { binOf, ROOT, runScript } from './_tool.mjs';

/** @typedef {import('./_release.mjs').Manifest} Manifest */
/** @typedef {{ folder: string, tarball: string, manifest: Manifest, files: string[], size: number, unpacked: number }} Packed */

const MIB = 1024 * 1024;
/** Only ES modules are published, and asked for by Node and by bundlers. */
const ATTW = ['--profile', 'esm-only', '--format', 'table-flipped', '--no-emoji', '--no-color'];

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/release' },
    pack: { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
    repository: { type: 'string' },
    tag: { type: 'string', default: 'latest' },
  },
});
const out = resolve(ROOT, values.out);
const staging = mkdtempSync(join(tmpdir(), 'svc-release-'));
try {
  process.exitCode = await release();
} finally {
  rmSync(staging, { recursive: true, force: true });
}

// --- internal ---

async function release() {
  if (values.publish && values.repository === undefined)
    return fail(['--publish needs --repository <url>: npm checks where a package was built against it.']);
  const built = await runScript('scripts/build.mjs', ['--quiet'], { show: true });
  if (!built.ok) return fail(['The packages do not build.']);
  const manifests = PACKAGES.map((folder) => readManifest(join(ROOT, 'packages', folder)));
  const version = manifests[0]?.version ?? '';
  const ours = manifests.map(({ name }) => name);
  const faults = manifests.flatMap((manifest) => listManifestFaults(manifest, { version, ours }));
  if (faults.length > 0) return fail(faults);

  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const packed = PACKAGES.map(pack);
  for (const one of packed) faults.push(...(await checkPacked(one)));
  if (faults.length > 0) return fail(faults);
  for (const { manifest, files, size, unpacked, tarball } of packed)
    console.log(
      `${manifest.name} ${manifest.version}: ${files.length} files, ${mib(size)} packed, ${mib(unpacked)}  ${tarball}`,
    );
  return values.pack ? 0 : publishAll(packed);
}

/** @param {string[]} faults */
function fail(faults) {
  for (const fault of faults) console.error(fault);
  return 1;
}

/**
 * What npm would take of the folder, with the package.json that is published.
 * @param {string} folder
 * @returns {Packed}
 */
function pack(folder) {
  const source = join(ROOT, 'packages', folder);
  const [{ files: listed }] = JSON.parse(npm(['pack', '--dry-run', '--json', '--loglevel=silent'], source));
  const files = /** @type {{ path: string }[]} */ (listed).map(({ path }) => path);
  const stage = join(staging, folder);
  for (const path of files) {
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    cpSync(join(source, path), join(stage, path));
  }
  const manifest = toPublished(readManifest(source), { repository: values.repository });
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const [{ filename, size, unpackedSize }] = JSON.parse(
    npm(['pack', '--json', '--loglevel=silent', '--ignore-scripts', '--pack-destination', out], stage),
  );
  // Some npm write the scope with a slash into the name they answer.
  const tarball = join(out, filename.replace(/^@/, '').replace('/', '-'));
  return { folder, tarball, manifest, files, size, unpacked: unpackedSize };
}

/**
 * What is wrong with a tarball, a sentence each.
 * @param {Packed} packed
 */
async function checkPacked({ folder, tarball, manifest, files, size, unpacked }) {
  const { name } = manifest;
  const faults = listFileFaults(files, manifest);
  const [most = 0, mostUnpacked = 0] = LIMITS[folder] ?? [];
  if (size > most * MIB || unpacked > mostUnpacked * MIB)
    faults.push(`${name} weighs ${mib(size)}, ${mib(unpacked)} unpacked; at most ${most} and ${mostUnpacked} MiB.`);
  const places = files.filter((path) => /\.(?:m?js|json|d\.m?ts)$/.test(path));
  for (const path of places)
    if (readFileSync(join(staging, folder, path), 'utf8').includes(ROOT))
      faults.push(`${name} has the path of this checkout in ${path}.`);
  const { buffer } = readFileSync(tarball);
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
  for (const message of messages)
    if (!isKnown(message)) faults.push(`${name}: ${formatMessage(message, pkg, { color: false })}`);
  // A package that is a command alone has no types to be wrong.
  const { ok, output } = await runScript(binOf('@arethetypeswrong/cli', 'attw'), [tarball, ...ATTW]);
  if (!ok) faults.push(`${name}: its types do not resolve.\n${output}`);
  return faults;
}

/** @param {import('publint').Message} message */
function isKnown({ code }) {
  return values.repository === undefined && String(code) === 'USE_REPOSITORY';
}

/** @param {Packed[]} packed */
function publishAll(packed) {
  const how = values.publish ? ['--tag', values.tag] : ['--dry-run', '--tag', values.tag, '--provenance=false'];
  for (const { tarball, manifest } of packed) {
    const { status, stderr } = spawnSync(
      'npm',
      ['publish', tarball, '--ignore-scripts', '--access', 'public', ...how],
      {
        cwd: staging,
        encoding: 'utf8',
      },
    );
    if (status !== 0) return fail([`npm publish of ${manifest.name} ended with ${status}.\n${stderr}`]);
    console.log(`${values.publish ? 'published' : 'would publish'} ${manifest.name} ${manifest.version}`);
  }
  return 0;
}

/** @param {number} bytes */
function mib(bytes) {
  return `${(bytes / MIB).toFixed(2)} MiB`;
}

/**
 * @param {string} folder
 * @returns {Manifest}
 */
function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/**
 * @param {string[]} args
 * @param {string} cwd
 */
function npm(args, cwd) {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 64 * MIB });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}.\n${stderr}`);
  return stdout;
}
