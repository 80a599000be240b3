import { problemOf } from '../manifest.ts';
import type { Problem, Program } from '../manifest.ts';
import { withTables } from '../stores/drizzle.ts';
import type { Drizzle } from '../stores/drizzle.ts';

/** The store as the code of a workspace sees it: `svc.database`. */
export interface ProjectTables {
  /** Takes the tables of `src/schema.ts`. A file that does not load leaves the last good ones. */
  load(program: Program): Promise<void>;
  database(): Drizzle;
  problems(): Problem[];
}

export function createProjectTables(db: Drizzle): ProjectTables {
  let current = db;
  let problem: Problem | undefined;
  return {
    async load({ manifest, load }) {
      const file = manifest.databaseSchema?.file;
      try {
        current = file === undefined ? db : withTables(db, (await load(file)).exports);
        problem = undefined;
      } catch (error) {
        problem = problemOf(error, file ?? '', 'schema_invalid');
      }
    },
    database: () => current,
    problems: () => (problem ? [problem] : []),
  };
}
