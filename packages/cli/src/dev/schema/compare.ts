import { readMigrations } from '@svc/compiler';
import { NO_DECISIONS } from './decisions.ts';
import type { Decisions } from './decisions.ts';
import { readNewestSnapshot } from './folder.ts';
import { planChange } from './generate.ts';
import type { Change } from './generate.ts';
import { checkHistory } from './history.ts';
import { takeSnapshot } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';

/** Where the project's own tables are written down. */
export const SCHEMA_FILE = 'src/schema.ts';

export interface Comparison extends Change {
  /** What the schema is. */
  snapshot: Snapshot;
}

/** What `src/schema.ts` says that no migration holds. */
export async function compareSchema(
  root: string,
  exports: Record<string, unknown>,
  decisions: Decisions = NO_DECISIONS,
): Promise<Comparison> {
  checkHistory(root, readMigrations(root));
  const before = await readNewestSnapshot(root);
  const snapshot = await takeSnapshot(exports, before.id);
  return { ...(await planChange(before, snapshot, decisions)), snapshot };
}
