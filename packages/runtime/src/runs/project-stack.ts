import { sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * A stack without the paths of the machine: what lies in the folder of the project is called as it is there, and lines
 * from elsewhere are left out. Where all are from elsewhere, they keep the names of the files.
 */
export function toProjectStack(stack: string, root: string = process.cwd()): string {
  const folders = [`${pathToFileURL(root).href}/`, root.endsWith(sep) ? root : root + sep];
  const lines = stack
    .split('\n')
    .map((line) => (FRAME.test(line) ? folders.reduce((text, folder) => text.replaceAll(folder, ''), line) : line));
  const isInside = (line: string): boolean => FRAME.test(line) && !ABSOLUTE.test(line) && !NODE.test(line);
  if (lines.some(isInside)) return lines.filter((line) => !ABSOLUTE.test(line)).join('\n');
  return lines.map((line) => (ABSOLUTE.test(line) ? line.replaceAll(FOLDERS, '') : line)).join('\n');
}

// --- internal ---

const FRAME = /^\s+at /;
const NODE = /[( ]node:/;
/** A line whose place in the code begins at the root of a disk. */
const ABSOLUTE = /^\s+at (?:.*\()?(?:async )?(?:file:\/\/|[a-z]:\\|\/)/i;
const FOLDERS = /(?:file:\/\/|[a-z]:\\|\/)(?:[^()\n]*[\\/])?/gi;
