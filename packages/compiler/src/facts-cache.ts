import { join } from 'node:path';
import type { Aliases } from './aliases.ts';
import { analyseFile, analyseImports } from './analyse.ts';
import type { FileFacts } from './analyse.ts';
import { findFile, findText, writeText } from './files.ts';
import { loadParser } from './parse.ts';
import type { Parse } from './parse.ts';
import { compilerVersion, sha1 } from './version.ts';
import { mayHoldDirective } from './words.ts';

/** `imports`: read the imports alone unless the file may hold a directive. `full`: parse it in any case. */
export type Depth = 'imports' | 'full';

export interface FactsCache {
  /** What a file says, from memory, from the cache file or by reading it; undefined when there is no such file. */
  read(file: string, depth: Depth): FileFacts | undefined;
  /** Writes the cache file if anything changed, and forgets what was not read since the last call. */
  save(): void;
}

export interface FactsCacheOptions {
  root: string;
  cacheFile: string | undefined;
  aliases: Aliases;
}

export function createFactsCache({ root, cacheFile, aliases }: FactsCacheOptions): FactsCache {
  const version = compilerVersion() + aliases.key;
  let known = cacheFile ? readCache(cacheFile, version) : new Map<string, Entry>();
  let used = new Map<string, Entry>();
  // An edit changes one entry, so the text of the others is kept.
  const texts = new WeakMap<Entry, string>();
  let isDirty = false;
  let parse: Parse | undefined;

  function read(file: string, depth: Depth): FileFacts | undefined {
    const fresh = used.get(file);
    if (fresh && isDeepEnough(fresh, depth)) return fresh.facts;
    const entry = update(file, depth, fresh ?? known.get(file));
    if (entry) used.set(file, entry);
    return entry?.facts;
  }

  function update(file: string, depth: Depth, old: Entry | undefined): Entry | undefined {
    const path = join(root, file);
    const stats = findFile(path);
    if (!stats) return undefined;
    const { mtimeMs, size } = stats;
    if (old && old.mtimeMs === mtimeMs && old.size === size && isSettled(old) && isDeepEnough(old, depth)) return old;
    const readAt = Date.now();
    const code = findText(path);
    if (code === undefined) return undefined;
    isDirty = true;
    const hash = sha1(code);
    if (old?.hash === hash && isDeepEnough(old, depth)) return { ...old, mtimeMs, size, readAt };
    const facts = analyse(code, file, depth);
    return { mtimeMs, size, hash, readAt, facts };
  }

  function analyse(code: string, file: string, depth: Depth): FileFacts {
    if (depth === 'imports' && !mayHoldDirective(code)) return analyseImports({ code, file, aliases });
    parse ??= loadParser();
    return analyseFile({ code, file, parse, aliases });
  }

  function save(): void {
    if (cacheFile && (isDirty || used.size !== known.size)) writeText(cacheFile, formatCache(used, version, texts));
    [known, used, isDirty] = [used, new Map(), false];
  }

  return { read, save };
}

// --- internal ---

interface Entry {
  mtimeMs: number;
  size: number;
  hash: string;
  readAt: number;
  facts: FileFacts;
}

/** A file written again within one tick of its file system's clock keeps its mtime. */
const CLOCK_TICK_MS = 20;

function isSettled({ mtimeMs, readAt }: Entry): boolean {
  return readAt - mtimeMs > CLOCK_TICK_MS;
}

function isDeepEnough({ facts }: Entry, depth: Depth): boolean {
  return facts.depth === 'full' || depth === 'imports';
}

function readCache(cacheFile: string, version: string): Map<string, Entry> {
  const text = findText(cacheFile);
  try {
    const cache = JSON.parse(text ?? '{}') as { version?: string; files?: Record<string, Entry> };
    if (cache.version === version && cache.files) return new Map(Object.entries(cache.files));
  } catch {
    // A cache that cannot be read is as good as none.
  }
  return new Map();
}

function formatCache(entries: Map<string, Entry>, version: string, texts: WeakMap<Entry, string>): string {
  const files = Array.from(entries, ([file, entry]) => {
    const text = texts.get(entry) ?? JSON.stringify(entry);
    texts.set(entry, text);
    return `${JSON.stringify(file)}:${text}`;
  });
  return `{"version":${JSON.stringify(version)},"files":{${files.join(',')}}}`;
}
