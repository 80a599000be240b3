import { join } from 'node:path';
import { transformDirectives } from './directives.ts';
import type { TransformOptions, TransformResult } from './directives.ts';
import { findText, writeText } from './files.ts';
import { compilerVersion, sha1 } from './version.ts';

export type Transform = (options: TransformOptions) => Promise<TransformResult | null>;

/** `transformDirectives` with a memory on disk: a warm boot loads no Babel. One file per module, so it does not grow. */
export function createCachedTransform(cacheDir: string | undefined): Transform {
  if (!cacheDir) return transformDirectives;
  const version = compilerVersion();
  return async (options) => {
    const { code, file, id } = options;
    const path = join(cacheDir, `${sha1(file)}.json`);
    const key = sha1(code, file, id, version);
    const known = readEntry(path);
    if (known?.key === key) return known.result;
    const result = await transformDirectives(options);
    writeText(path, JSON.stringify({ key, result } satisfies Entry));
    return result;
  };
}

// --- internal ---

interface Entry {
  key: string;
  result: TransformResult | null;
}

function readEntry(path: string): Entry | undefined {
  try {
    return JSON.parse(findText(path) ?? 'null') ?? undefined;
  } catch {
    // A cache that cannot be read is as good as none.
    return undefined;
  }
}
