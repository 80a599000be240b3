import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import { dirname, join } from 'node:path';

/** The text of a file, or undefined when there is none. */
export function findText(path: string): string | undefined {
  return orMissing(() => readFileSync(path, 'utf8'));
}

/** The stats of a regular file, or undefined when there is none. */
export function findFile(path: string): Stats | undefined {
  // Below a file there is none either, and that throws: "data.json/index.ts".
  const stats = orMissing(() => statSync(path, { throwIfNoEntry: false }));
  return stats?.isFile() ? stats : undefined;
}

/** True for a folder, also behind a link. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The entries of a folder, sorted by name and without dot files; none when there is no such folder. */
export function listFolder(path: string): Dirent[] {
  const entries = orMissing(() => readdirSync(path, { withFileTypes: true })) ?? [];
  const visible = entries.filter(({ name }) => !name.startsWith('.'));
  return visible.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Writes by rename, so that no reader sees half a file. */
export function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`);
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Writes only another text than the file holds. True: it was written. */
export function writeChanged(path: string, text: string): boolean {
  if (findText(path) === text) return false;
  writeText(path, text);
  return true;
}

// --- internal ---

const MISSING = new Set(['ENOENT', 'ENOTDIR']);

function orMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (MISSING.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
