import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ProjectMigration } from '@svc/runtime/host';
import { findText } from '../files.ts';

/** Where the migrations of the project's own tables are, in drizzle-kit's layout. */
export const MIGRATIONS_FOLDER = '.svc/migrations';

/**
 * The migrations of the workspace, in the order of their journal; none where there is no journal. Throws with the code
 * `migrations_invalid` for a journal that cannot be read, or that names a file which is not there.
 */
export function readMigrations(root: string): ProjectMigration[] {
  const folder = join(root, MIGRATIONS_FOLDER);
  const journal = findText(join(folder, JOURNAL_FILE));
  if (journal === undefined) return [];
  return listNames(journal).map((name) => {
    const sql = findText(join(folder, `${name}.sql`));
    if (sql === undefined) throw invalid(`names "${name}", and there is no "${name}.sql"`);
    return { name, sql, hash: createHash('sha256').update(sql).digest('hex') };
  });
}

// --- internal ---

const JOURNAL_FILE = 'meta/_journal.json';
/** What drizzle-kit makes; the name becomes a path. */
const NAME = /^\w[\w.-]*$/;

function listNames(text: string): string[] {
  const entries = parseEntries(text);
  if (!entries) throw invalid('is not a journal');
  const names = entries.map((entry) => (typeof entry?.tag === 'string' ? entry.tag : ''));
  const wrong = names.find((name, at) => !NAME.test(name) || names.indexOf(name) !== at);
  if (wrong === undefined) return names;
  throw invalid(`names "${wrong}", which is no name of a migration or is there twice`);
}

/** Undefined: it is no JSON of the right shape; after a merge, for example, with the marks of a conflict in it. */
function parseEntries(text: string): ({ tag?: unknown } | null)[] | undefined {
  try {
    const { entries } = JSON.parse(text) as { entries?: unknown };
    return Array.isArray(entries) ? (entries as ({ tag?: unknown } | null)[]) : undefined;
  } catch {
    return undefined;
  }
}

function invalid(reason: string): Error {
  const message = `"${MIGRATIONS_FOLDER}/${JOURNAL_FILE}" ${reason}. Bring the folder back as it is in git, or write the migration again.`;
  return Object.assign(new Error(message), { code: 'migrations_invalid' });
}
