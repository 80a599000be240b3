import { join } from 'node:path';
import type { BundleManifest, Manifest, Problem, ProjectMigration, WorkflowEntry } from '@svc/runtime/host';
import { checkWorkspace } from '../check/check.ts';
import { findFile } from '../files.ts';
import { bundleFiles } from './bundle.ts';
import type { Bundle, BundleFile } from './bundle.ts';
import { hashFiles } from './hashes.ts';
import { readMigrations } from './migrations.ts';
import { toBuildProblem } from './problem.ts';
import { isReplaceable, MANIFEST_FILE, writeBundle } from './write.ts';

export interface BuildOptions {
  root: string;
  /** The folder of the bundle. It is replaced as a whole; one that holds anything but a bundle is refused. */
  outDir: string;
  /** The agent's slug, from `svc.json`. */
  slug: string;
  /** The runtime the bundle is made for: what `/api/contract` says of it. */
  runtime: BundleManifest['runtime'];
}

export interface BuildResult {
  /** Written unless `failed` holds something. */
  manifest: BundleManifest;
  /** Paths in the bundle, sorted. */
  files: string[];
  /** Everything that was found wrong. */
  problems: Problem[];
  /** Why there is no bundle: an agent, `svc.config.ts` or `config.schema.ts` does not compile. */
  failed: Problem[];
}

/**
 * Builds the workspace into a folder that runs wherever the runtime is. Throws with the code `out_not_replaceable` before
 * anything is done, and with `migrations_invalid` before anything is written. A workflow that does not compile is in the
 * manifest with its problem, and the others work. The same files give the same bundle, byte by byte.
 */
export async function buildWorkspace(options: BuildOptions): Promise<BuildResult> {
  const { root, outDir, slug, runtime } = options;
  if (!isReplaceable(outDir)) throw notReplaceable(outDir);
  const checked = await checkWorkspace({ root });
  const config = findFile(join(root, CONFIG_FILE)) ? [CONFIG_FILE] : [];
  const { agents, workflows, configSchema } = checked.manifest;
  const entries = [...agents, ...workflows, ...(configSchema ? [configSchema] : [])];
  const sound = entries.filter(({ problem }) => !problem).map(({ file }) => file);
  const { bundle, problems: found } = await bundleGood(root, [...config, ...sound]);
  const manifest = withProblems(checked.manifest, found);
  const problems = [...checked.problems, ...found.values()];
  const failed = [
    ...config.flatMap((file) => found.get(file) ?? []),
    ...[...manifest.agents, ...(manifest.configSchema ? [manifest.configSchema] : [])].flatMap(
      (one) => one.problem ?? [],
    ),
  ];
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
  return { manifest: built, files: listPaths(files), problems, failed };
}

// --- internal ---

const CONFIG_FILE = 'svc.config.ts';

/** All at once; where that fails, each by itself to find those that compile, and these once more at once. */
async function bundleGood(root: string, files: string[]): Promise<{ bundle: Bundle; problems: Map<string, Problem> }> {
  const problems = new Map<string, Problem>();
  const all = await bundleFiles(root, files).catch(() => undefined);
  if (all) return { bundle: all, problems };
  for (const file of files)
    await bundleFiles(root, [file]).catch((error: unknown) =>
      problems.set(file, toBuildProblem(error, { root, file })),
    );
  return {
    bundle: await bundleFiles(
      root,
      files.filter((file) => !problems.has(file)),
    ),
    problems,
  };
}

function withProblems(manifest: Manifest, found: ReadonlyMap<string, Problem>): Manifest {
  const add = <Entry extends { file: string; problem?: Problem }>(entry: Entry): Entry => {
    const problem = entry.problem ?? found.get(entry.file);
    return problem ? { ...entry, problem } : entry;
  };
  return {
    ...manifest,
    agents: manifest.agents.map(add),
    workflows: manifest.workflows.map((entry: WorkflowEntry) => add(entry)),
    ...(manifest.configSchema ? { configSchema: add(manifest.configSchema) } : {}),
  };
}

function toModules({ paths }: Bundle, hashes: ReadonlyMap<string, string>): BundleManifest['modules'] {
  const sorted = [...paths].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([file, path]) => [file, { path, hash: hashes.get(file) ?? '' }]));
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
