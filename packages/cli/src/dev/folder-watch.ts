import { readdirSync, realpathSync, statSync, watch } from 'node:fs';
import type { FSWatcher, Stats } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

export type FileEvent = 'add' | 'change' | 'unlink';

export interface FolderWatchOptions {
  root: string;
  onEvent(event: FileEvent, file: string): void;
  /** A folder cannot be watched: the system's limit is reached. Called once. */
  onBlind(folder: string, reason: string): void;
}

export interface FolderWatch {
  /** Watches a file outside of the root as well. */
  addFile(file: string): void;
  close(): void;
}

/**
 * Watches a folder and everything below it but `node_modules`, `dist` and whatever begins with a dot. Every event of
 * the system leads to a look at the disk some milliseconds later, so the last of several quick saves is never missed.
 * (Chokidar drops a save that comes within 50 ms of the one before, and loses folders that are quickly replaced.)
 */
export function watchFolder({ root, onEvent, onBlind }: FolderWatchOptions): FolderWatch {
  const folders = new Map<string, Folder>();
  const due = new Map<string, NodeJS.Timeout>();
  let isBlind = false;

  const schedule = (path: string): void => {
    clearTimeout(due.get(path));
    due.set(path, setTimeout(() => look(path), SETTLE_MS).unref());
  };

  const watchOne = (path: string): FSWatcher | undefined => {
    try {
      // Of an error there is nothing to learn: the folder above tells when this one is gone.
      return watch(path, { persistent: false }, (_, name) => schedule(name === null ? path : join(path, name))).on(
        'error',
        () => {},
      );
    } catch (error) {
      if (!isBlind && statOf(path)) onBlind(path, (error as Error).message);
      isBlind = true;
      return undefined;
    }
  };

  /** Opens a folder, afresh if it is known: one that was replaced has the same name and is another. */
  const open = (path: string, emit: typeof onEvent): void => {
    const before = folders.get(path);
    before?.watcher?.close();
    // Watched before it is read, so that nothing falls in between.
    const folder: Folder = { watcher: watchOne(path), files: new Map(), folders: new Set() };
    folders.set(path, folder);
    for (const name of namesIn(path)) {
      const below = join(path, name);
      const stats = statOf(below);
      if (stats?.isDirectory()) {
        const real = realpathSync(below);
        // A link leads to where the module loader will say the file is; one that leads back up is left alone.
        if (real !== below && (folders.has(real) || path.startsWith(real + sep))) continue;
        folder.folders.add(real);
        open(real, emit);
      } else if (stats) note(folder, { path: below, stats, known: before?.files.get(name), emit });
    }
    for (const name of before?.files.keys() ?? []) if (!folder.files.has(name)) emit('unlink', join(path, name));
    for (const below of before?.folders ?? []) if (!folder.folders.has(below)) shut(below);
  };

  const shut = (path: string): void => {
    const folder = folders.get(path);
    if (!folder) return;
    folders.delete(path);
    folder.watcher?.close();
    for (const name of folder.files.keys()) onEvent('unlink', join(path, name));
    for (const below of folder.folders) shut(below);
  };

  const look = (path: string): void => {
    due.delete(path);
    const name = basename(path);
    const folder = folders.get(dirname(path));
    if (!folder || isIgnored(name) || (folder.only && !folder.only.has(name))) return;
    const stats = statOf(path);
    if (!stats?.isDirectory()) {
      folder.folders.delete(path);
      shut(path);
    }
    if (!stats || stats.isDirectory()) {
      if (folder.files.delete(name)) onEvent('unlink', path);
    }
    if (stats?.isDirectory()) {
      folder.folders.add(path);
      open(path, onEvent);
    } else if (stats) note(folder, { path, stats, known: folder.files.get(name), emit: onEvent });
  };

  open(root, () => {});
  return {
    addFile(file) {
      const path = dirname(file);
      const folder = folders.get(path) ?? {
        watcher: watchOne(path),
        files: new Map(),
        folders: new Set(),
        only: new Set(),
      };
      folders.set(path, folder);
      folder.only?.add(basename(file));
      const stats = statOf(file);
      if (stats) note(folder, { path: file, stats, known: undefined, emit: () => {} });
    },
    close() {
      for (const timer of due.values()) clearTimeout(timer);
      for (const { watcher } of folders.values()) watcher?.close();
      folders.clear();
    },
  };
}

// --- internal ---

interface Folder {
  watcher: FSWatcher | undefined;
  /** What each file was when it was last looked at. */
  files: Map<string, string>;
  folders: Set<string>;
  /** Outside of the root: the files that were asked for. */
  only?: Set<string>;
}

/** A save is several events; this is the quiet after the last one. */
const SETTLE_MS = 2;
/** Two writes within one tick of the file system's clock leave the same times. */
const CLOCK_TICK_MS = 50;

function note(
  folder: Folder,
  {
    path,
    stats,
    known,
    emit,
  }: { path: string; stats: Stats; known: string | undefined; emit: FolderWatchOptions['onEvent'] },
): void {
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

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
