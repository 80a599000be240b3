import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BoxError } from '../errors.ts';
import { contractPayload } from '../health/contract.ts';
import type { BundleManifest, CompiledModule, Program } from '../manifest.ts';
import type { ProjectMigration } from '../stores/project-migrations.ts';
import { toWorkspaceConfig } from '../workspace-config.ts';
import type { WorkspaceConfig } from '../workspace-config.ts';

/** A built workspace, loaded from its folder. */
export interface OpenBundle {
  slug: string;
  config: WorkspaceConfig;
  program: Program;
  /** Of the project's own tables, in order. */
  migrations: ProjectMigration[];
}

/** Throws `bundle_invalid` when the folder holds no bundle, or one of a build this runtime is too old for. */
export async function openBundle(dir: string): Promise<OpenBundle> {
  const manifest = await readManifest(dir);
  await shareRuntime();
  const load = async (file: string) => {
    const module = manifest.modules[file];
    if (!module)
      throw new BoxError(
        'bundle_invalid',
        `The bundle in "${dir}" holds no module for "${file}". Build it again: svc build`,
      );
    const exports = (await import(/* @vite-ignore */ pathToFileURL(join(dir, module.path)).href)) as Record<
      string,
      unknown
    >;
    const { path, hash, files } = module;
    return { exports, hash, ...(files ? { compiled: () => readCompiled(dir, path, files) } : {}) };
  };
  const migrations = await readMigrations(dir, manifest);
  return { slug: manifest.slug, config: await loadConfig(manifest, load), program: { manifest, load }, migrations };
}

// --- internal ---

async function readManifest(dir: string): Promise<BundleManifest> {
  const file = join(dir, 'manifest.json');
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new BoxError(
      'bundle_invalid',
      `There is no bundle in "${dir}": it has no manifest.json. Make one: svc build`,
      { cause },
    );
  });
  const manifest = parseManifest(text);
  if (!manifest)
    throw new BoxError('bundle_invalid', `"${file}" is not the manifest of a bundle. Build it again: svc build`);
  const { version } = contractPayload();
  if (manifest.version === 1 && manifest.runtime.contract <= version) return manifest;
  const message = `The bundle in "${dir}" was built for ${manifest.runtime.name} ${manifest.runtime.version}, which is newer than this runtime. Run it on that version, or build it again with this one.`;
  throw new BoxError('bundle_invalid', message);
}

function parseManifest(text: string): BundleManifest | undefined {
  try {
    const value = JSON.parse(text) as Partial<BundleManifest> | null;
    const isBundle = value?.modules && value.runtime && Array.isArray(value.workflows) && Array.isArray(value.agents);
    return isBundle && typeof value.slug === 'string' ? (value as BundleManifest) : undefined;
  } catch {
    return undefined;
  }
}

/** The modules of a bundle take the runtime from here: the instance that runs them, never a second one. */
async function shareRuntime(): Promise<void> {
  const [index, internal] = await Promise.all([import('../index.ts'), import('../internal.ts')]);
  const shared = globalThis as Record<symbol, object | undefined>;
  const key = Symbol.for('svc.runtime');
  shared[key] = { ...shared[key], index, internal };
}

async function readCompiled(dir: string, path: string, files: readonly string[]): Promise<CompiledModule> {
  const read = async (name: string) => ({ path: name, content: await readFile(join(dir, name)) });
  return { path, files: await Promise.all(files.map(read)) };
}

async function loadConfig({ config }: BundleManifest, load: Program['load']): Promise<WorkspaceConfig> {
  if (config === undefined) return {};
  const { exports } = await load(config);
  return toWorkspaceConfig(exports);
}

/** What is applied to a database for good is compared with what was built first. */
function readMigrations(dir: string, { migrations = [] }: BundleManifest): Promise<ProjectMigration[]> {
  return Promise.all(
    migrations.map(async ({ name, path, hash }) => {
      const sql = await readFile(join(dir, path), 'utf8').catch(() => '');
      if (createHash('sha256').update(sql).digest('hex') === hash) return { name, sql, hash };
      const message = `"${path}" of the bundle in "${dir}" is not the file that was built. Build it again: svc build`;
      throw new BoxError('bundle_invalid', message);
    }),
  );
}
