import type { CodeVersion } from '../catalog/catalog.ts';
import type { CodeStore, FoundCode } from '../engine/journal/code.ts';
import type { Log } from '../log.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { digestOfFile, packFile, VERSION_BYTES } from './files.ts';
import { openManifest, sealManifest } from './manifest.ts';

/** Writes the code of this process into the journal, for the day on which another process has the runs that began with it. */
export interface Keeper {
  /** Those that are kept already cost one query for all. One that cannot be kept is logged, once. Throws what the journal does. */
  keep(versions: readonly CodeVersion[]): Promise<void>;
  /** Whatever is kept under the key before this one is sealed with this one, and so outlives it. Throws what the journal does. */
  reseal(previous: MasterKey): Promise<void>;
}

export interface KeeperOptions {
  store: CodeStore;
  key: MasterKey;
  log: Log;
}

export function createKeeper({ store, key, log }: KeeperOptions): Keeper {
  const refused = new Set<string>();

  const keep = async (version: CodeVersion): Promise<void> => {
    const { codeHash, kind, entry } = version;
    const compiled = await version.compiled().catch((error: unknown) => {
      refuse(version, 'its files cannot be read', error);
    });
    if (!compiled) return;
    const bytes = compiled.files.reduce((sum, { content }) => sum + content.byteLength, 0);
    if (bytes > VERSION_BYTES) return refuse(version, `it has ${bytes} bytes; ${VERSION_BYTES} can be kept`);
    const contents = new Map(compiled.files.map(({ content }) => [digestOfFile(content), content]));
    const files = Object.fromEntries(compiled.files.map(({ path, content }) => [path, digestOfFile(content)]));
    const code = { codeHash, name: entry.name };
    const manifest = sealManifest(key, code, { kind, entry, path: compiled.path, files } as never);
    const digests = [...contents.keys()];
    const pack = (wanted: readonly string[]) =>
      Promise.all(wanted.map((digest) => packFile(digest, contents.get(digest) as Uint8Array)));
    const kept = { ...code, manifest, digests };
    const isWhole = await store.keep(kept, await pack(await store.listMissing(digests)));
    // One of its files was dropped in between.
    if (!isWhole) await store.keep(kept, await pack(digests));
  };
  const refuse = ({ codeHash, entry }: CodeVersion, why: string, error?: unknown): void => {
    if (refused.has(codeHash)) return;
    refused.add(codeHash);
    const fields = { name: entry.name, file: entry.file, ...(error === undefined ? {} : { error }) };
    log.warn(`Code cannot be kept for the runs that begin with it: ${why}.`, fields);
  };
  return {
    async reseal(previous) {
      let found: FoundCode[] = [];
      do {
        found = await store.list({ after: found.at(-1), limit: PAGE });
        for (const code of found) {
          const manifest = openManifest(previous, code, code.manifest);
          if (manifest) await store.reseal(code, sealManifest(key, code, manifest));
        }
      } while (found.length === PAGE);
    },
    async keep(versions) {
      const wanted = versions.filter(({ codeHash }) => !refused.has(codeHash));
      const touched = await store.touch([...new Set(wanted.map(({ codeHash }) => codeHash))]);
      // What this key does not open is refused once a run needs it: it is kept again.
      const own = touched.filter((code) => openManifest(key, code, code.manifest) !== undefined);
      const kept = new Set(own.map(({ codeHash, name }) => `${codeHash} ${name}`));
      for (const version of wanted) if (!kept.has(`${version.codeHash} ${version.entry.name}`)) await keep(version);
    },
  };
}

// --- internal ---

const PAGE = 50;
