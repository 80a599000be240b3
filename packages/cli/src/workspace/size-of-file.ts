import { statSync } from 'node:fs';
import { CliError } from '../errors.ts';

/** In bytes. Throws `file_unreadable` for what is no file. */
export function sizeOfFile(file: string): number {
  let reason = 'there is none';
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.isFile()) return found.size;
    if (found) reason = 'it is no file';
  } catch {
    reason = 'its path does not exist';
  }
  throw new CliError('file_unreadable', `"${file}" cannot be read: ${reason}.`, { suggestion: 'Check the path.' });
}
