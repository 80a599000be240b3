import { sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * A stack without the paths of the machine: what lies in the folder of the project is called as it is there, and lines
 * from elsewhere are left out, those of installed packages too. Where all are from elsewhere, they keep the names of the
 * files.
 */
export function toProjectStack(stack: string, root: string = process.cwd()): string {
  const folders = [`${pathToFileURL(root).href}/`, root.endsWith(sep) ? root : root + sep];
  const lines = stack
    .split('\n')
    .map((line) => (FRAME.test(line) ? folders.reduce((text, folder) => text.replaceAll(folder, ''), line) : line));
  const isInside = (line: string): boolean => FRAME.test(line) && !isOutside(line) && !NODE.test(line);
  if (lines.some(isInside)) return lines.filter((line) => !isOutside(line)).join('\n');
  return lines.map(toFileName).join('\n');
}

// --- internal ---

const FRAME = /^\s+at /;
const NODE = /[( ]node:/;
/** A line whose place in the code begins at the root of a disk. */
const ABSOLUTE = /^\s+at (?:.*\()?(?:async )?(?:file:\/\/|[a-z]:\\|\/)/i;
/** One in an installed package: this one, in the folder of a project, or any other. */
const PACKAGE = /[\\/( ]node_modules[\\/]/;
const FOLDERS = /(?:file:\/\/|[a-z]:\\|\/)(?:[^()\n]*[\\/])?/gi;

function isOutside(line: string): boolean {
  return ABSOLUTE.test(line) || isInPackage(line);
}

function isInPackage(line: string): boolean {
  return FRAME.test(line) && PACKAGE.test(line);
}

function toFileName(line: string): string {
  if (ABSOLUTE.test(line)) return line.replaceAll(FOLDERS, '');
  if (!isInPackage(line)) return line;
  const start = Math.max(line.lastIndexOf('('), line.lastIndexOf(' ')) + 1;
  return line.slice(0, start) + line.slice(Math.max(line.lastIndexOf('/'), line.lastIndexOf('\\')) + 1);
}
