import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeWriteError, makeFolder, removeFolders } from '../../../create/src/place.ts';
import { CliError } from '../errors.ts';

export interface Place {
  /** Without its dashes. */
  flag: string;
  kind: 'file' | 'folder';
  /** Of the failure. Default: `write_failed`. */
  code?: string;
}

/**
 * Throws when nothing of that kind can be written to an absolute path, before anything that takes long is
 * done for it. Leaves nothing behind.
 */
export function checkPlace(path: string, { flag, kind, code = 'write_failed' }: Place): void {
  const refuse = (reason: string) =>
    new CliError(code, `--${flag} names "${path}", where no ${kind} can be written: ${reason}.`, {
      suggestion: `Choose another path for --${flag}.`,
    });
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there && there.isDirectory() !== (kind === 'folder'))
      throw refuse(kind === 'file' ? 'it is a folder' : 'it is a file');
    // A folder is prepared beside its place, a file in the folder of it.
    const tried = kind === 'folder' ? `${path}.${process.pid}.new` : dirname(path);
    const made = makeFolder(tried);
    if (made !== undefined) return removeFolders(tried, made);
    accessSync(there ? path : tried, constants.W_OK);
  } catch (error) {
    throw error instanceof CliError ? error : refuse(describeWriteError(error));
  }
}
