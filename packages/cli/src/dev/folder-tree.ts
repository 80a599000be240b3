import { readdirSync, realpathSync, statSync } from 'node:fs';
import type { FSWatcher, Stats } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

export type FileEvent = 'add' | 'change' | 'unlink';
export type OnFileEvent = (event: FileEvent, file: string) => void;

/** The folders that are watched, by their paths. */
export interface FolderTree {
  folders: Map<string, Folder>;
  /** Undefined: the folder cannot be watched. */
  watch(path: string): FSWatcher | undefined;
  emit: OnFileEvent;
}

export interface Folder {
  watcher: FSWatcher | undefined;
  /** What each file was when it was last looked at. */
  files: Map<string, string>;
  folders: Set<string>;
  /** Outside of the root: the files that were asked for. */
  only?: Set<string>;
}

/** Opens a folder, afresh if it is known: one that was replaced has the same name and is another. */
export function openFolder(tree: FolderTree, path: string, emit: OnFileEvent): void {
  const before = tree.folders.get(path);
  before?.watcher?.close();
  // Watched before it is read, so that nothing falls in between.
  const folder: Folder = { watcher: tree.watch(path), files: new Map(), folders: new Set() };
  tree.folders.set(path, folder);
  for (const name of namesIn(path)) {
    const below = join(path, name);
    const stats = statOf(below);
    if (stats?.isDirectory()) openBelow(tree, { folder, path, below, emit });
    else if (stats) note(folder, { path: below, stats, known: before?.files.get(name), emit });
  }
  for (const name of before?.files.keys() ?? []) if (!folder.files.has(name)) emit('unlink', join(path, name));
  for (const below of before?.folders ?? []) if (!folder.folders.has(below)) closeFolder(tree, below);
}

/** Looks at the disk again: emits how a file or folder has changed since the last look. */
export function lookAt(tree: FolderTree, path: string): void {
  const name = basename(path);
  const folder = tree.folders.get(dirname(path));
  if (!folder || isIgnored(name) || (folder.only && !folder.only.has(name))) return;
  const stats = statOf(path);
  if (stats && !stats.isDirectory()) {
    dropFolder(tree, folder, path);
    return note(folder, { path, stats, known: folder.files.get(name), emit: tree.emit });
  }
  if (!stats) dropFolder(tree, folder, path);
  if (folder.files.delete(name)) tree.emit('unlink', path);
  if (!stats) return;
  folder.folders.add(path);
  openFolder(tree, path, tree.emit);
}

/** Watches one file of a folder, of which nothing else is of interest unless it is watched already. */
export function addFile(tree: FolderTree, file: string): void {
  const path = dirname(file);
  const folder = tree.folders.get(path) ?? {
    watcher: tree.watch(path),
    files: new Map(),
    folders: new Set(),
    only: new Set(),
  };
  tree.folders.set(path, folder);
  folder.only?.add(basename(file));
  const stats = statOf(file);
  if (stats) note(folder, { path: file, stats, known: undefined, emit: () => {} });
}

export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

// --- internal ---

/** Two writes within one tick of the file system's clock leave the same times. */
const CLOCK_TICK_MS = 50;

interface Below {
  folder: Folder;
  path: string;
  below: string;
  emit: OnFileEvent;
}

function openBelow(tree: FolderTree, { folder, path, below, emit }: Below): void {
  const real = realpathSync(below);
  // A link leads to where the module loader will say the file is; one that leads back up is left alone.
  if (real !== below && (tree.folders.has(real) || path.startsWith(real + sep))) return;
  folder.folders.add(real);
  openFolder(tree, real, emit);
}

function dropFolder(tree: FolderTree, above: Folder, path: string): void {
  above.folders.delete(path);
  closeFolder(tree, path);
}

function closeFolder(tree: FolderTree, path: string): void {
  const folder = tree.folders.get(path);
  if (!folder) return;
  tree.folders.delete(path);
  folder.watcher?.close();
  for (const name of folder.files.keys()) tree.emit('unlink', join(path, name));
  for (const below of folder.folders) closeFolder(tree, below);
}

interface Noted {
  path: string;
  stats: Stats;
  known: string | undefined;
  emit: OnFileEvent;
}

function note(folder: Folder, { path, stats, known, emit }: Noted): void {
  const stamp = `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
  folder.files.set(basename(path), stamp);
  if (known === undefined) emit('add', path);
  else if (known !== stamp || Date.now() - stats.mtimeMs < CLOCK_TICK_MS) emit('change', path);
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path).filter((name) => !isIgnored(name));
  } catch {
    return [];
  }
}

function isIgnored(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules' || name === 'dist';
}
