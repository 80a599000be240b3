import { fileURLToPath } from 'node:url';
import type { Problem } from '@svc/runtime/host';
import { findInstalled } from '../../workspace/installed.ts';

/**
 * Throws, with the `problem`, for a project whose drizzle-orm is of another series than the one here. A copy of its own is
 * fine, as drizzle knows its things by a mark they carry; what the mark stands for changes from one series to the next.
 */
export function checkDrizzle(root: string): void {
  const installed = findInstalled(root, NAME);
  const ours = findInstalled(fileURLToPath(new URL('.', import.meta.url)), NAME);
  // One that is missing is reported where what imports it is loaded.
  if (installed === undefined || ours === undefined || seriesOf(installed) === seriesOf(ours)) return;
  const message = `The project has ${NAME} ${installed} installed, and svc works with ${ours}. Install ${NAME}@${ours}.`;
  const problem: Problem = { code: 'drizzle_mismatch', message, file: 'package.json', line: 1, column: 1, frame: '' };
  throw Object.assign(new Error(message), { problem });
}

// --- internal ---

const NAME = 'drizzle-orm';

/** Of `0.45.4` it is `0.45`, as a minor version before 1.0 may change anything; of `1.2.3` it is `1`. */
function seriesOf(version: string): string {
  const [major = '', minor = ''] = version.split('.');
  // What comes before a release is like no other.
  if (version.includes('-')) return version;
  return major === '0' ? `${major}.${minor}` : major;
}
