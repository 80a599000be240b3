import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandError } from './errors.ts';

export interface NewFile {
  /** Relative to the folder it is placed in, with `/`. */
  path: string;
  text: string;
  /** Who may read it. Default: as the system has it for a new file. */
  mode?: number;
}

export interface PlaceOptions {
  /** Replace files that are there. */
  force: boolean;
}

/** Writes all files or none: a write that fails takes back those before it, replaced files and made folders included. */
export function placeFiles(root: string, files: readonly NewFile[], { force }: PlaceOptions): void {
  const taken = files.filter(({ path }) => exists(join(root, path))).map(({ path }) => path);
  if (taken.length > 0 && !force) throw alreadyThere(taken);
  const undo: (() => void)[] = [];
  let path = root;
  try {
    for (const file of files) placeFile((path = join(root, file.path)), file, undo);
  } catch (error) {
    for (const step of undo.reverse()) step();
    throw toWriteError(error, path);
  }
}

/** Whether anything is at a path, a link that leads nowhere included. */
export function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw toWriteError(error, path);
  }
}

/**
 * Makes a folder with those above it. Answers the first that was made, or undefined. One at a time: Node's recursive
 * mkdir never ends where the system answers ENOENT to every attempt, as below /proc.
 */
export function makeFolder(folder: string): string | undefined {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  const above = dirname(folder);
  const first = above === folder ? undefined : makeFolder(above);
  try {
    mkdirSync(folder);
  } catch (error) {
    if (first !== undefined) removeFolders(above, first);
    throw error;
  }
  return first ?? folder;
}

/** Takes back what `makeFolder` made: from the innermost to the first. */
export function removeFolders(from: string, first: string): void {
  for (let folder = from; ; folder = dirname(folder)) {
    rmdirSync(folder);
    if (folder === first) return;
  }
}

/** Why the system refused a write. */
export function describeWriteError(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}

/** What the system said about a write, in words. */
export function toWriteError(error: unknown, path: string): unknown {
  const { code, path: at = path } = error as NodeJS.ErrnoException;
  if (error instanceof CommandError || typeof code !== 'string') return error;
  return new CommandError(
    'write_failed',
    `"${at.replace(DRAFT, '')}" cannot be written: ${describeWriteError(error)}. Nothing was kept.`,
    {
      suggestion: 'Choose another folder, or make this one writable.',
    },
  );
}

// --- internal ---

function placeFile(path: string, { text, mode }: NewFile, undo: (() => void)[]): void {
  const made = makeFolder(dirname(path));
  if (made !== undefined) undo.push(() => removeFolders(dirname(path), made));
  const before = exists(path) ? readFileSync(path) : undefined;
  const draft = `${path}.${process.pid}.new`;
  try {
    // A reader, such as svc dev, never sees half a file.
    writeFileSync(draft, text, { mode });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  undo.push(() => (before === undefined ? rmSync(path, { force: true }) : writeFileSync(path, before)));
}

function alreadyThere(taken: string[]): CommandError {
  const named = taken.map((path) => `"${path}"`).join(', ');
  return new CommandError('already_exists', `${named} ${taken.length === 1 ? 'exists' : 'exist'} already.`, {
    suggestion: 'Choose another name, or add --force to replace what is there.',
    details: { files: taken },
  });
}

/** What comes after the name of a file while it is written. */
const DRAFT = /\.\d+\.new$/;

const REASONS: Record<string, string | undefined> = {
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'a part of the path is a file',
  ENOENT: 'there can be no folder here',
  EISDIR: 'a folder is in its place',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its links lead in a circle',
};
