import type { BundleManifest, ProjectMigration } from '@svc/runtime/host';
import type { Bundle, BundleFile } from './bundle.ts';
import { compileWorkspace, CONFIG_FILE } from './compile.ts';
import type { Compiled, CompileOptions } from './compile.ts';
import { hashFiles } from './hashes.ts';
import { readMigrations } from './migrations.ts';
import { isReplaceable, MANIFEST_FILE, writeBundle } from './write.ts';

export interface BuildOptions extends CompileOptions {
  /** The folder of the bundle. It is replaced as a whole; one that holds anything but a bundle is refused. */
  outDir: string;
  /** The agent's slug, from `svc.json`. */
  slug: string;
  /** The runtime the bundle is made for: what `/api/contract` says of it. */
  runtime: BundleManifest['runtime'];
}

export interface BuildResult extends Pick<Compiled, 'problems' | 'failed' | 'degraded'> {
  /** Written unless `failed` holds something. */
  manifest: BundleManifest;
  /** Paths in the bundle, sorted. */
  files: string[];
}

/**
 * Builds the workspace into a folder that runs wherever the runtime is. Throws with the code `out_not_replaceable` before
 * anything is done, and with `migrations_invalid` before anything is written. A workflow that does not compile is in the
 * manifest with its problem, and the others work. The same files give the same bundle, byte by byte: why a module does
 * not load may lie in where it was loaded, and is not part of it.
 */
export async function buildWorkspace(options: BuildOptions): Promise<BuildResult> {
  const { root, outDir, slug, runtime } = options;
  if (!isReplaceable(outDir)) throw notReplaceable(outDir);
  const { manifest, bundle, problems, failed, degraded } = await compileWorkspace(options);
  const hashes = await hashFiles(root, [...bundle.paths.keys()]);
  const migrations = toBundleMigrations(readMigrations(root));
  const built: BundleManifest = {
    ...manifest,
    slug,
    runtime,
    ...(bundle.paths.has(CONFIG_FILE) ? { config: CONFIG_FILE } : {}),
    modules: toModules(bundle, hashes),
    ...(migrations.entries.length > 0 ? { migrations: migrations.entries } : {}),
  };
  const files = [
    ...bundle.files,
    ...migrations.files,
    { path: MANIFEST_FILE, content: `${JSON.stringify(built, null, 2)}\n` },
  ];
  if (failed.length === 0) writeBundle(outDir, files);
  return { manifest: built, files: listPaths(files), problems, failed, degraded };
}

// --- internal ---

function toModules({ paths, parts }: Bundle, hashes: ReadonlyMap<string, string>): BundleManifest['modules'] {
  const sorted = [...paths].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([file, path]) => [file, { path, hash: hashes.get(file) ?? '', files: parts.get(file) ?? [] }]),
  );
}

/** Only what is applied: the snapshots beside it are for who writes the next migration. */
function toBundleMigrations(migrations: ProjectMigration[]) {
  const toPath = (name: string) => `migrations/${name}.sql`;
  return {
    entries: migrations.map(({ name, hash }) => ({ name, path: toPath(name), hash })),
    files: migrations.map(({ name, sql }): BundleFile => ({ path: toPath(name), content: sql })),
  };
}

function listPaths(files: readonly BundleFile[]): string[] {
  return files.map(({ path }) => path).sort();
}

function notReplaceable(outDir: string): Error {
  const message = `"${outDir}" holds something other than a bundle, and would be replaced. Empty it, or name another folder.`;
  return Object.assign(new Error(message), { code: 'out_not_replaceable' });
}
