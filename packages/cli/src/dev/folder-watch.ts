import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { addFile, lookAt, openFolder, statOf } from './folder-tree.ts';
import type { FolderTree, OnFileEvent } from './folder-tree.ts';

export interface FolderWatchOptions {
  root: string;
  onEvent: OnFileEvent;
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
  const due = new Map<string, NodeJS.Timeout>();
  const schedule = (path: string): void => {
    clearTimeout(due.get(path));
    due.set(path, setTimeout(() => look(path), SETTLE_MS).unref());
  };
  const tree: FolderTree = { folders: new Map(), watch: createOpener(schedule, onBlind), emit: onEvent };
  const look = (path: string): void => {
    due.delete(path);
    const stats = statOf(path);
    if (!stats || stats.size === 0) due.set(path, setTimeout(() => lookNow(path), EMPTY_MS).unref());
    else lookNow(path);
  };
  const lookNow = (path: string): void => {
    due.delete(path);
    lookAt(tree, path);
  };
  openFolder(tree, root, () => {});
  return {
    addFile: (file) => addFile(tree, file),
    close() {
      for (const timer of due.values()) clearTimeout(timer);
      for (const { watcher } of tree.folders.values()) watcher?.close();
      tree.folders.clear();
    },
  };
}

// --- internal ---

/** A save is several events; this is the quiet after the last one. */
const SETTLE_MS = 2;

/** A save empties the file or takes it away, and then writes it: how long it may still be about to be written. */
const EMPTY_MS = 100;

function createOpener(
  onTouch: (path: string) => void,
  onBlind: FolderWatchOptions['onBlind'],
): (path: string) => FSWatcher | undefined {
  let isBlind = false;
  return (path) => {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => onTouch(name === null ? path : join(path, name)));
      // An error has no news: the folder above notices when this one is gone.
      return watcher.on('error', () => {});
    } catch (error) {
      if (!isBlind && statOf(path)) onBlind(path, (error as Error).message);
      isBlind = true;
      return undefined;
    }
  };
}
