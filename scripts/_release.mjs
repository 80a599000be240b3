// @ts-check
/** What is checked of a package before it is published; `release.mjs` does the rest. */

/**
 * @typedef {{
 *   name: string, version: string, description?: string, keywords?: string[], license?: string, private?: boolean,
 *   files?: string[], bin?: Record<string, string>, exports?: Record<string, unknown>, engines?: { node?: string },
 *   publishConfig?: { access?: string, provenance?: boolean }, repository?: unknown, homepage?: string,
 *   dependencies?: Record<string, string>, optionalDependencies?: Record<string, string>,
 *   peerDependencies?: Record<string, string>, devDependencies?: Record<string, string>,
 * }} Manifest
 */

/** In the order they need each other: one that is published has all it asks for. */
export const PACKAGES = ['client', 'dev-s3', 'runtime', 'control-plane', 'compiler', 'create', 'cli'];

/** What a package may weigh: MiB of its tarball, and unpacked. Room for a third more than it has. */
/** @type {Record<string, [packed: number, unpacked: number]>} */
export const LIMITS = {
  client: [0.06, 0.26],
  'dev-s3': [0.1, 0.3],
  runtime: [4.1, 12],
  // With the dashboard, which is of one build for all who serve it, and its twins.
  'control-plane': [1.3, 2.5],
  compiler: [0.15, 0.4],
  create: [0.1, 0.2],
  cli: [1.4, 7],
};

/**
 * What is wrong with a package.json that is to be published, a sentence each.
 * @param {Manifest} manifest
 * @param {{ version: string, ours: readonly string[] }} release `ours`: the packages that are released with it
 */
export function listManifestFaults(manifest, { version, ours }) {
  const { name, description, keywords = [], license, files = [], engines, publishConfig } = manifest;
  const faults = [];
  if (manifest.version !== version) faults.push(`${name} is version ${manifest.version}, and ${version} is released.`);
  if (manifest.private) faults.push(`${name} is private.`);
  if (!description || keywords.length === 0) faults.push(`${name} needs a description and keywords.`);
  if (!license || !engines?.node || files.length === 0) faults.push(`${name} needs license, engines.node and files.`);
  if (publishConfig?.access !== 'public') faults.push(`${name} needs publishConfig.access "public".`);
  if (publishConfig?.provenance !== true) faults.push(`${name} needs publishConfig.provenance true.`);
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  for (const [other, range] of Object.entries({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    if (ours.includes(other) && range !== version) faults.push(`${name} asks for ${other} ${range}: write ${version}.`);
    if (/^(?:workspace|link|file|git|https?):|^\*$|^latest$/.test(range))
      faults.push(`${name} asks for ${other} ${range}, which npm cannot install or pin.`);
  }
  return faults;
}

/**
 * What is wrong with the files of a package, a sentence each.
 * @param {string[]} paths relative to the package
 * @param {Manifest} manifest as it is published
 */
export function listFileFaults(paths, manifest) {
  const { name } = manifest;
  const needed = ['package.json', 'README.md', 'LICENSE', ...Object.values(manifest.bin ?? {}), ...targetsOf(manifest)];
  const missing = needed.map((path) => path.replace(/^\.\//, '')).filter((path) => !paths.includes(path));
  const unwanted = paths.filter((path) => UNWANTED.test(path));
  return [
    ...[...new Set(missing)].map((path) => `${name} lacks ${path}.`),
    ...unwanted.map((path) => `${name} holds ${path}, which is of no use to who installs it.`),
  ];
}

/**
 * The package.json that is published: the conditions that lead to the sources of a checkout are left out, as the sources
 * are, and so is what only a checkout installs.
 * @param {Manifest} manifest
 * @param {{ repository?: string | undefined }} release
 * @returns {Manifest}
 */
export function toPublished(manifest, { repository }) {
  const { devDependencies: _, exports = {}, ...rest } = manifest;
  const address =
    repository === undefined ? {} : { repository: { type: 'git', url: repository }, homepage: repository };
  return { ...rest, ...address, exports: Object.fromEntries(Object.entries(exports).map(withoutSource)) };
}

// --- internal ---

/** Sources, tests, maps and what a machine keeps for itself. */
const UNWANTED =
  /^src\/|\.test\.|\.map$|(?:^|\/)(?:\.env|\.npmrc|\.DS_Store|node_modules\/)|\.tsbuildinfo$|\.build-hash$/;

/** @param {[string, unknown]} entry */
function withoutSource([path, target]) {
  if (typeof target !== 'object' || target === null) return [path, target];
  return [path, Object.fromEntries(Object.entries(target).filter(([condition]) => condition !== 'svc-source'))];
}

/** @param {Manifest} manifest */
function targetsOf({ exports = {} }) {
  return Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(/** @type {Record<string, string>} */ (target)),
  );
}
