import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProjectMigration } from '../stores/project-migrations.ts';

/**
 * The migrations of a workspace in the order of their journal; none where there is no journal. The compiler has a stricter
 * reading of the same folder for builds, and may not be asked from here: see `arrows.test.ts`.
 */
export function readWorkspaceMigrations(root: string): ProjectMigration[] {
  const folder = join(root, '.svc/migrations');
  const journal = join(folder, 'meta/_journal.json');
  if (!existsSync(journal)) return [];
  const { entries } = JSON.parse(readFileSync(journal, 'utf8')) as { entries: { tag: string }[] };
  return entries.map(({ tag }) => {
    const sql = readFileSync(join(folder, `${tag}.sql`), 'utf8');
    return { name: tag, sql, hash: createHash('sha256').update(sql).digest('hex') };
  });
}
