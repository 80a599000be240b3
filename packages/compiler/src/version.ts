import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };

/** Raise it when a scan or a transform answers something else for the same code. */
const FORMAT = 4;

/** Part of every cache key: another compiler, or the same one built again, trusts no entry of this one. */
export function compilerVersion(): string {
  const { mtimeMs, size } = statSync(fileURLToPath(import.meta.url));
  return `${manifest.version}+${FORMAT}.${size}.${Math.trunc(mtimeMs)}`;
}

export function sha1(...parts: string[]): string {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}
