import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, Journal } from '@svc/runtime/host';
import { findSqlite, openPostgresJournal, openServerJournal, openSqliteJournal, readVariable } from '@svc/runtime/host';
import { CliError } from '../errors.ts';

export interface JournalOptions {
  /** `.svc` of the workspace. */
  dir: string;
  database: Database;
  /** The server that the database is on: the journal lives there too. Undefined: it is embedded. */
  url: string | undefined;
  env: NodeJS.ProcessEnv;
}

/**
 * The journal where `.svc/stores.json` says it is. A new workspace takes SQLite where it opens, else PGlite. One that
 * exists is never replaced by an empty one: when its adapter does not open, this refuses. `adapter` names it in words.
 */
export async function openJournal({
  dir,
  database,
  url,
  env,
}: JournalOptions): Promise<{ journal: Journal; adapter: string }> {
  if (url !== undefined) return { journal: await openServerJournal(url), adapter: 'PostgreSQL' };
  const recorded = readRecord(dir);
  const { opener, reasons } = await findSqlite(
    readVariable(env, 'SVC_SQLITE_DRIVER') as Parameters<typeof findSqlite>[0],
  );
  if (recorded === 'sqlite' && !opener) throw journalUnavailable(dir, reasons);
  const choice = recorded ?? (opener ? 'sqlite' : 'pglite');
  const path = join(dir, 'journal.db');
  const journal =
    choice === 'sqlite' && opener
      ? await openSqliteJournal({ path, driver: opener.driver })
      : await openOnPglite(database);
  if (!recorded) writeRecord(dir, choice);
  return { journal, adapter: formatAdapter(choice, opener?.driver, reasons) };
}

// --- internal ---

function formatAdapter(choice: 'sqlite' | 'pglite', driver: string | undefined, reasons: string[]): string {
  if (choice === 'sqlite') return `SQLite (${driver})`;
  // SQLite opens here, and did not where this workspace began.
  if (driver) return 'PGlite (as .svc/stores.json records)';
  return `PGlite (no SQLite opens here: ${reasons.join(' ')})`;
}

async function openOnPglite(database: Database): Promise<Journal> {
  await database.ready;
  return openPostgresJournal({ sql: database.client });
}

function readRecord(dir: string): 'sqlite' | 'pglite' | undefined {
  const file = join(dir, 'stores.json');
  if (!existsSync(file)) return undefined;
  const { journal } = JSON.parse(readFileSync(file, 'utf8')) as { journal?: unknown };
  return journal === 'sqlite' || journal === 'pglite' ? journal : undefined;
}

function writeRecord(dir: string, journal: 'sqlite' | 'pglite'): void {
  const file = join(dir, 'stores.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ format: 1, journal })}\n`);
  renameSync(`${file}.new`, file);
}

function journalUnavailable(dir: string, reasons: string[]): CliError {
  const path = join(dir, 'journal.db');
  return new CliError(
    'journal_unavailable',
    `The runs of this workspace are in "${path}", and no SQLite opens on this machine: ${reasons.join(' ')}`,
    {
      suggestion:
        'Install the packages again with the Node you run, unset SVC_SQLITE_DRIVER, or move the file and .svc/stores.json away to begin with no runs.',
    },
  );
}
