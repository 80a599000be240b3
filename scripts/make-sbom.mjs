// @ts-check
/**
 * Writes what each published package is made of: `<folder>/<package>.cdx.json`, a CycloneDX 1.6 document of every package
 * that an install brings, as pnpm-lock.yaml has it, with its hash and what asks for it. The same lockfile gives the same
 * documents.
 *
 *   node scripts/make-sbom.mjs [folder]     default: dist-sbom
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import { parse } from 'yaml';
import { ROOT } from './_tool.mjs';

/**
 * @typedef {Record<string, string>} Wanted names of packages with their versions, as the lockfile writes them
 * @typedef {{ dependencies?: Wanted, optionalDependencies?: Wanted }} Snapshot
 * @typedef {{
 *   importers: Record<string, Record<'dependencies' | 'optionalDependencies', Record<string, { version: string }> | undefined>>,
 *   packages: Record<string, { resolution: { integrity: string } }>,
 *   snapshots: Record<string, Snapshot>,
 * }} Lockfile
 * @typedef {{ name: string, version: string, license: string, private?: boolean }} Manifest
 */

/** The published packages, by their folders below `packages`. */
export function listPublished() {
  return readdirSync(join(ROOT, 'packages')).filter((folder) => !readManifest(`packages/${folder}`).private);
}

/**
 * The document of one of them, a text.
 * @param {string} folder below `packages`
 */
export function makeSbom(folder) {
  const lockfile = /** @type {Lockfile} */ (parse(readFileSync(join(ROOT, 'pnpm-lock.yaml'), 'utf8')));
  const bom = new Models.Bom();
  /** @type {Map<string, InstanceType<typeof Models.Component>>} */
  const known = new Map();

  /** @param {string} importer such as `packages/cli` */
  const addOwn = (importer) => {
    const found = known.get(importer);
    if (found) return found;
    const { name, version, license } = readManifest(importer);
    const component = toComponent(name, version);
    component.licenses.add(new Models.SpdxLicense(license));
    known.set(importer, component);
    const { dependencies = {}, optionalDependencies = {} } = lockfile.importers[importer] ?? {};
    for (const [wanted, { version: asked }] of Object.entries({ ...dependencies, ...optionalDependencies }))
      component.dependencies.add(
        asked.startsWith('link:')
          ? addOwn(join(importer, asked.slice('link:'.length))).bomRef
          : add(wanted, asked).bomRef,
      );
    return component;
  };

  /**
   * @param {string} wanted what a dependency is called
   * @param {string} asked its version with what it is resolved beside, or another package and its version
   */
  const add = (wanted, asked) => {
    const key = lockfile.snapshots[asked] ? asked : `${wanted}@${asked}`;
    const id = key.replace(/\(.*$/, '');
    const found = known.get(id);
    const at = id.lastIndexOf('@');
    const component = found ?? toComponent(id.slice(0, at), id.slice(at + 1));
    if (!found) {
      known.set(id, component);
      const { integrity } = lockfile.packages[id]?.resolution ?? {};
      if (!integrity) throw new Error(`pnpm-lock.yaml has no ${id}.`);
      component.hashes.set(
        Enums.HashAlgorithm['SHA-512'],
        Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
      );
    }
    if (seen.has(key)) return component;
    seen.add(key);
    const { dependencies = {}, optionalDependencies = {} } = lockfile.snapshots[key] ?? {};
    for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies }))
      component.dependencies.add(add(name, version).bomRef);
    return component;
  };
  /** A package is resolved once for each set of packages beside it. */
  const seen = new Set();

  const own = addOwn(`packages/${folder}`);
  bom.metadata.component = own;
  for (const component of known.values()) if (component !== own) bom.components.add(component);
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? join(ROOT, 'dist-sbom'));
  mkdirSync(folder, { recursive: true });
  for (const name of listPublished()) writeFileSync(join(folder, `${name}.cdx.json`), makeSbom(name));
}

// --- internal ---

/**
 * @param {string} name with its scope
 * @param {string} version
 */
function toComponent(name, version) {
  const [scope, bare] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = `pkg:npm/${scope ? `${encodeURIComponent(scope)}/` : ''}${bare}@${version}`;
  const component = new Models.Component(Enums.ComponentType.Library, bare ?? name, { version, bomRef: purl, purl });
  component.group = scope;
  return component;
}

/**
 * @param {string} folder
 * @returns {Manifest}
 */
function readManifest(folder) {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
}
