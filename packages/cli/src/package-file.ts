import { fileURLToPath } from 'node:url';

/** A file of this package, as a path: `src` and `dist` lie beside it alike. */
export function packageFile(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}
