import { readFileSync } from 'node:fs';
import { getPackageFile } from '../../runtime/src/stores/package-file.ts';

/** Of @svc/control-plane, as it is installed. */
export function readVersion(): string {
  const { version } = JSON.parse(readFileSync(getPackageFile('package.json'), 'utf8')) as { version: string };
  return version;
}
