import { createCatalog } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { createConfigValues } from '../config-values/config-values.ts';
import { createJobs } from '../jobs/jobs.ts';
import type { DeclaredSchedules } from '../jobs/jobs.ts';
import type { Problem, Program } from '../manifest.ts';
import { createProjectTables } from '../catalog/project-tables.ts';
import { createWorkflows } from '../workflows/workflows.ts';
import type { ProjectTables } from '../catalog/project-tables.ts';
import type { ConfigValues } from '../config-values/config-values.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Workflows } from '../workflows/workflows.ts';
import type { Foundation } from './foundation.ts';

/** What the workspace declares, as it is loaded: agents, workflows, tables, dynamic configuration, schedules. */
export interface LoadedProgram {
  catalog: Catalog;
  config: ConfigValues;
  tables: ProjectTables;
  workflows: Workflows;
  jobs: Jobs;
  /** Swaps in a program. */
  load(program: Program): Promise<void>;
  /** What of it does not load. */
  problems(): Problem[];
}

export function createProgram({ options, closer, engine, above, log }: Foundation): LoadedProgram {
  const { db, journal, kv, isBlank = () => false } = options;
  const catalog = createCatalog();
  const tables = createProjectTables(db);
  const config = createConfigValues({ db, kv, isBlank, loadProgram: options.loadProgram });
  closer.add(() => config.close());
  const workflows = createWorkflows({
    catalog,
    engine,
    journal,
    isArmed: () => engine.armed,
    retryTurn: (retry) => above.get().agents.retryTurn(retry),
  });
  const jobs = createJobs({
    journal,
    engine,
    log,
    start: async (name, input, how) => workflows.start(name, input, { trigger: 'schedule', ...how }),
    check: workflows.check,
  });
  return {
    catalog,
    config,
    tables,
    workflows,
    jobs,
    async load(program) {
      await Promise.all([catalog.load(program), config.load(program), tables.load(program)]);
      await jobs.reconcile(declaredSchedules(catalog));
    },
    problems: () => [...catalog.problems(), ...config.problems(), ...tables.problems()],
  };
}

// --- internal ---

function declaredSchedules(catalog: Catalog): DeclaredSchedules[] {
  return catalog.workflows().map(({ entry, definition }) => ({ name: entry.name, schedules: definition?.schedules }));
}
