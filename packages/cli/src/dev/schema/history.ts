import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS_FOLDER } from '@svc/compiler';
import type { ProjectMigration } from '@svc/runtime/host';
import { CliError } from '../../errors.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Throws `migrations_invalid` for a folder that is no history. Two branches that were merged each bring a migration on top
 * of the same one: the newest snapshot then describes one branch only.
 */
export function checkHistory(root: string, migrations: readonly ProjectMigration[]): void {
  const reason = findBreak(root, migrations);
  if (reason === undefined) return;
  throw new CliError('migrations_invalid', `${reason}.`, {
    suggestion: `Take it out of ${MIGRATIONS_FOLDER} and its journal, then generate it again: svc schema generate`,
  });
}

// --- internal ---

function findBreak(root: string, migrations: readonly ProjectMigration[]): string | undefined {
  const names = migrations.map(({ name }) => name);
  const unlisted = listFiles(join(root, MIGRATIONS_FOLDER)).find((name) => !names.includes(name));
  if (unlisted !== undefined) return `"${unlisted}.sql" is in no line of the journal, so it is never applied`;
  const ids = names.map((name) => readIds(root, name));
  const at = ids.findIndex(({ prevId }, i) => {
    const before = ids[i - 1]?.id;
    return prevId !== undefined && before !== undefined && prevId !== before;
  });
  if (at > 0) return `"${names[at]}" does not follow "${names[at - 1]}": its snapshot was made on top of another one`;
  return undefined;
}

function listFiles(folder: string): string[] {
  try {
    const files = readdirSync(folder).sort();
    return files.filter((file) => file.endsWith('.sql')).map((file) => file.slice(0, -'.sql'.length));
  } catch {
    return []; // there is no folder
  }
}

/** A migration may have no snapshot; whoever writes the next one asks for the newest alone. */
function readIds(root: string, name: string): Partial<Pick<Snapshot, 'id' | 'prevId'>> {
  try {
    const file = join(root, MIGRATIONS_FOLDER, `meta/${name.split('_')[0]}_snapshot.json`);
    return JSON.parse(readFileSync(file, 'utf8')) as Snapshot;
  } catch {
    return {};
  }
}
