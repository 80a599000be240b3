import type { Catalog } from '../catalog/catalog.ts';
import type { ProjectTables } from '../catalog/project-tables.ts';
import type { ConfigValues } from '../config-values/config-values.ts';
import type { DeclaredSchedules, Jobs } from '../jobs/jobs.ts';
import type { Problem, Program } from '../manifest.ts';

/** What the workspace declares, over all the rooms that hold it. */
export interface LoadedProgram {
  /** Swaps in a program. */
  load(program: Program): Promise<void>;
  /** What of it does not load. */
  problems(): Problem[];
}

export interface ProgramRooms {
  catalog: Catalog;
  config: ConfigValues;
  tables: ProjectTables;
  jobs: Jobs;
  /** Called once a program is in force. */
  onLoad(): void;
}

export function createProgram({ catalog, config, tables, jobs, onLoad }: ProgramRooms): LoadedProgram {
  return {
    async load(program) {
      await Promise.all([catalog.load(program), config.load(program), tables.load(program)]);
      await jobs.reconcile(declaredSchedules(catalog));
      onLoad();
    },
    problems: () => [...catalog.problems(), ...config.problems(), ...tables.problems()],
  };
}

// --- internal ---

function declaredSchedules(catalog: Catalog): DeclaredSchedules[] {
  return catalog.workflows().map(({ entry, definition }) => ({ name: entry.name, schedules: definition?.schedules }));
}
