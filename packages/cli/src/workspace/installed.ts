import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of a package that Node would find from a folder, or undefined: there is none. */
export function findInstalled(from: string, name: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version;
    if (folder === dirname(folder)) return undefined;
  }
}
