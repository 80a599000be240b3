import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runOutside } from '../engine/context.ts';
import type { CodeKey, CodeStore, FoundCode } from '../engine/journal/code.ts';
import type { CodeRegistry } from '../engine/values/registry.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { readKeptFile } from './files.ts';
import { openManifest } from './manifest.ts';
import type { VersionManifest } from './manifest.ts';
import { enterScope } from './scopes.ts';

/** A version that was kept, loaded beside the code there is now. */
export interface LoadedVersion {
  manifest: VersionManifest;
  exports: Record<string, unknown>;
  registry: CodeRegistry;
}

/** What was kept of a version, checked and not yet executed. */
export interface FoundVersion {
  /** Writes its files where they can be imported. What it throws (a full disk) may pass: another try can do it. */
  place(): Promise<PlacedVersion>;
}

export interface PlacedVersion {
  /** Once: a module that has thrown throws again. */
  load(): Promise<LoadedVersion>;
}

export interface Loader {
  /**
   * Undefined: it is not kept, or is not what this box has kept, then `onRefused` is called. Throws what the journal does.
   */
  find(key: CodeKey): Promise<FoundVersion | undefined>;
  /** Whether it is kept, by a box with this key: its files are not read. */
  holds(key: CodeKey): Promise<boolean>;
  close(): Promise<void>;
}

export interface LoaderOptions {
  store: CodeStore;
  key: MasterKey;
  /** The one before it, whose versions are still executed. */
  previousKey?: MasterKey | undefined;
  onRefused(key: CodeKey, why: string): void;
}

export function createLoader({ store, key: master, previousKey, onRefused }: LoaderOptions): Loader {
  let folder: Promise<string> | undefined;
  let count = 0;

  const write = async (files: ReadonlyMap<string, Buffer>): Promise<string> => {
    // Readable by this user alone. What modules import late is read from there, and their maps.
    folder ??= makeFolder().catch((error: unknown) => {
      folder = undefined;
      throw error;
    });
    const dir = join(await folder, String(++count));
    try {
      for (const [path, content] of files) {
        const file = join(dir, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content, { mode: 0o600 });
      }
    } catch (error) {
      await rm(dir, { recursive: true, force: true }).catch(() => {}); // the next try has a folder of its own
      throw error;
    }
    return dir;
  };

  const open = (key: CodeKey, { manifest }: FoundCode): VersionManifest | undefined =>
    openManifest(master, key, manifest) ?? (previousKey && openManifest(previousKey, key, manifest));

  return {
    async holds(key) {
      const kept = await store.find(key);
      return kept !== undefined && open(key, kept) !== undefined;
    },
    async find(key) {
      const kept = await store.find(key);
      if (!kept) return undefined;
      const refuse = (why: string) => void onRefused(key, why);
      const manifest = open(key, kept);
      if (!manifest) return refuse('it was not written by this box with the secret key it has now');
      const files = new Map<string, Buffer>();
      for (const [path, digest] of Object.entries(manifest.files)) {
        const content = isInside(path) ? await readKeptFile(store, digest) : undefined;
        if (!content) return refuse(`its file "${path}" is not there, or not what was kept`);
        files.set(path, content);
      }
      return {
        async place() {
          const dir = await write(files);
          return {
            async load() {
              const registry = enterScope(`${pathToFileURL(dir).href}/`);
              const url = pathToFileURL(join(dir, manifest.path)).href;
              const exports = (await runOutside(() => import(/* @vite-ignore */ url))) as Record<string, unknown>;
              return { manifest, exports, registry };
            },
          };
        },
      };
    },
    async close() {
      if (folder) await rm(await folder, { recursive: true, force: true });
    },
  };
}

// --- internal ---

/** Named by the machine and the process, so that the next process there removes what one that was killed has left. */
async function makeFolder(): Promise<string> {
  const machine = `svc-code-${createHash('sha256').update(hostname()).digest('hex').slice(0, 8)}-`;
  const own = `${machine}${process.pid}-${Math.round(performance.timeOrigin)}-`;
  const names = await readdir(tmpdir());
  for (const name of names.filter((one) => one.startsWith(machine) && !one.startsWith(own))) {
    const pid = Number(name.slice(machine.length).split('-')[0]);
    // The id of this process was that of the one before it: in a container it is always 1.
    if (pid === process.pid || !isAlive(pid))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  return mkdtemp(join(tmpdir(), own));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function isInside(path: string): boolean {
  return !isAbsolute(path) && !normalize(path).split(sep).includes('..');
}
