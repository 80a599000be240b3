import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Path of a file that ships beside the code (`template/`, `migrations/`), from the sources and the build alike. */
export function getPackageFile(name: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`There is no package.json above "${fileURLToPath(import.meta.url)}".`);
    folder = parent;
  }
  return join(folder, name);
}
