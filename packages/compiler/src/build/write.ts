import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findText } from '../files.ts';
import type { BundleFile } from './bundle.ts';

export const MANIFEST_FILE = 'manifest.json';

/** Whether the folder may be replaced: it is not there, is empty, or holds an earlier bundle. */
export function isReplaceable(folder: string): boolean {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return true;
  try {
    return 'modules' in (JSON.parse(findText(join(folder, MANIFEST_FILE)) ?? '') as object);
  } catch {
    return false;
  }
}

/** Replaces the folder by one that holds these files. Whoever looks finds the bundle before or the one after. */
export function writeBundle(folder: string, files: readonly BundleFile[]): void {
  const draft = `${folder}.${process.pid}.new`;
  const old = `${folder}.${process.pid}.old`;
  try {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { recursive: true });
    writeFiles(draft, files);
    if (existsSync(folder)) renameSync(folder, old);
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

export function writeFiles(folder: string, files: readonly BundleFile[]): void {
  for (const { path, content } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
