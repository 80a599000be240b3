import type { Problem, Program } from '../manifest.ts';
import { withTables } from './drizzle.ts';
import type { Drizzle } from './drizzle.ts';

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
        problem = toProblem(error, file ?? '');
      }
    },
    database: () => current,
    problems: () => (problem ? [problem] : []),
  };
}

// --- internal ---

/** A loader may attach the place to the error as `problem`; otherwise the file is all that is known. */
function toProblem(error: unknown, file: string): Problem {
  const { problem, message = String(error) } = error as { problem?: Problem; message?: string };
  return problem ?? { code: 'schema_invalid', message, file, line: 1, column: 1, frame: '' };
}
