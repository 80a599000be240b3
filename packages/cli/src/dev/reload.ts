import type { Box, Closer, Problem } from '@svc/runtime/host';
import type { Host } from './host.ts';
import { SCHEMA_FILE } from './schema/compare.ts';
import { createMigrator } from './schema/migrator.ts';
import { countOf } from '../workspace/workspace.ts';
import type { DevStores } from './stores.ts';

export interface ReloadOptions {
  root: string;
  /** Whether migrations of the project's own tables are written and applied. */
  isAutomatic: boolean;
  stores: DevStores;
  box: Box;
  host: Host;
  closer: Closer;
  say(line: string): void;
}

/** What does not load is printed by it, unless it was printed last. */
export type ReportAll = () => void;

/** Brings the box and the tables of the project in step with the files, and keeps them there. */
export async function followFiles(options: ReloadOptions): Promise<ReportAll> {
  const { root, isAutomatic, stores, box, host, closer, say } = options;
  // Why src/schema.ts cannot be used.
  let unusable: Problem[] = [];
  const listProblems = (): Problem[] => [...unusable, ...box.problems()];
  const reportAll = (): void => void host.report(listProblems());
  const migrator = createMigrator({
    root,
    client: stores.client,
    ready: stores.ready,
    isEmbedded: stores.exclusive,
    isAutomatic,
    load: (file) => host.program().load(file),
    say,
    report(found) {
      unusable = found;
      reportAll();
    },
  });
  closer.add(() => migrator.close());
  const offerMove = createMoveOffer(box, say);
  host.onChange(async (program) => {
    // First, so that the code that comes with it finds its tables.
    unusable = await migrator.refresh();
    // A gate that is about to open has begun to load the files as they were.
    await box.gate.check();
    await box.reload(program);
    // Nothing waits for it.
    void offerMove().catch(() => {});
    return { problems: listProblems(), left: migrator.isBehind() ? [SCHEMA_FILE] : [] };
  });
  // Chat answers before the database is open, except where its code may want tables of the project.
  if (migrator.isNeeded()) await stores.ready;
  unusable = await migrator.refresh();
  await box.gate.check();
  return reportAll;
}

// --- internal ---

/** Says after an edit that runs go on with the code they have: once for each version of a workflow that takes their place. */
function createMoveOffer(box: Pick<Box, 'oldRuns'>, say: (line: string) => void): () => Promise<void> {
  let said = new Set<string>();
  return async () => {
    const old = await box.oldRuns();
    const isNew = old.some(({ name, codeHash }) => !said.has(`${name} ${codeHash}`));
    said = new Set(old.map(({ name, codeHash }) => `${name} ${codeHash}`));
    if (!isNew) return;
    const list = (member: 'runs' | 'waiting', words: string): string => {
      const some = old.filter((one) => one[member] > 0).map((one) => `${countOf(one[member], 'run')} of ${one.name}`);
      return some.length === 0 ? '' : `${words}: ${some.join(', ')}. `;
    };
    const on = list('runs', 'On with the code they began with');
    say(`${on}${list('waiting', 'Waiting for the code they began with')}See which the edit fits: svc upgrade --check`);
  };
}
