import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MIGRATIONS_FOLDER } from '@svc/compiler';
import { CliError } from '../../errors.ts';
import { EMPTY_SNAPSHOT, upgradeSnapshot } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';

export const JOURNAL_FILE = `${MIGRATIONS_FOLDER}/meta/_journal.json`;

export interface NewMigration {
  statements: readonly string[];
  /** What the schema is once they have run. */
  snapshot: Snapshot;
  /** The file's name behind its number: `add_users_age`. */
  label: string;
}

/** A migration that is not in the folder yet. */
export interface Draft {
  name: string;
  sql: string;
  /** From the workspace. */
  file: string;
  /** Puts it there; the journal, which makes it one, comes last. */
  write(): void;
  /** Takes it away again, if it was put there. */
  remove(): void;
}

/** What the newest migration leaves behind; an empty schema where there is none. */
export async function readNewestSnapshot(root: string): Promise<Snapshot> {
  const last = readJournal(root).entries.at(-1);
  if (!last) return EMPTY_SNAPSHOT;
  const file = `${MIGRATIONS_FOLDER}/${toSnapshotFile(last.tag)}`;
  const snapshot = readJson(join(root, file)) as Snapshot | undefined;
  if (snapshot?.tables) return upgradeSnapshot(snapshot);
  throw invalid(`"${file}" is missing or no snapshot, so what "${last.tag}" left behind is not known`);
}

/** The next migration, in drizzle-kit's layout. */
export function draftMigration(root: string, { statements, snapshot, label }: NewMigration): Draft {
  const journal = readJournal(root);
  const last = journal.entries.at(-1);
  const idx = (last?.idx ?? -1) + 1;
  const name = `${String(idx).padStart(4, '0')}_${label}`;
  const when = Math.max(Date.now(), (last?.when ?? 0) + 1);
  const next = { ...journal, entries: [...journal.entries, { idx, version: '7', when, tag: name, breakpoints: true }] };
  const sql = `${statements.join('\n--> statement-breakpoint\n')}\n`;
  const folder = join(root, MIGRATIONS_FOLDER);
  const files = { sql: join(folder, `${name}.sql`), snapshot: join(folder, toSnapshotFile(name)) };
  let isWritten = false;
  const remove = (): void => {
    if (!isWritten) return;
    if (last) writeText(join(root, JOURNAL_FILE), toJson(journal));
    else rmSync(join(root, JOURNAL_FILE), { force: true });
    for (const file of Object.values(files)) rmSync(file, { force: true });
  };
  return {
    name,
    sql,
    file: `${MIGRATIONS_FOLDER}/${name}.sql`,
    write() {
      isWritten = true;
      writeText(files.sql, sql);
      writeText(files.snapshot, toJson({ ...snapshot, id: randomUUID() }));
      writeText(join(root, JOURNAL_FILE), toJson(next));
    },
    remove,
  };
}

// --- internal ---

interface Journal {
  version: string;
  dialect: string;
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

function readJournal(root: string): Journal {
  const found = readJson(join(root, JOURNAL_FILE));
  if (found === undefined) return { version: '7', dialect: 'postgresql', entries: [] };
  const journal = found as Partial<Journal>;
  if (Array.isArray(journal.entries) && journal.dialect === 'postgresql') return journal as Journal;
  throw invalid(`"${JOURNAL_FILE}" is no journal of migrations for PostgreSQL`);
}

function toSnapshotFile(name: string): string {
  return `meta/${name.split('_')[0]}_snapshot.json`;
}

/** Undefined: there is no such file. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw invalid(`"${path}" cannot be read: ${(error as Error).message}`);
  }
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** By rename: whoever looks finds the whole file, or the one before. */
function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

function invalid(reason: string): CliError {
  return new CliError('migrations_invalid', `${reason}.`, {
    suggestion: `Bring ${MIGRATIONS_FOLDER} back as it is in git.`,
  });
}
