import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AppliedMigration } from '@svc/runtime/host';

/** What the dev database had when it was last looked at: known to a build, which asks no database. */
export interface Applied {
  /** The database in `.svc/pgdata`; false: a server. */
  isEmbedded: boolean;
  migrations: readonly AppliedMigration[];
}

export function writeApplied(root: string, applied: Applied): void {
  const path = join(root, FILE);
  const text = `${JSON.stringify(applied, null, 2)}\n`;
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** Empty where nothing is known, or where the database it was about is gone. */
export function readApplied(root: string): readonly AppliedMigration[] {
  try {
    const { isEmbedded, migrations } = JSON.parse(readFileSync(join(root, FILE), 'utf8')) as Applied;
    return isEmbedded && !existsSync(join(root, '.svc/pgdata')) ? [] : migrations;
  } catch {
    return [];
  }
}

// --- internal ---

const FILE = '.svc/cache/migrations.json';
