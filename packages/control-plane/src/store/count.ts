import type { Db, Queries } from './db.ts';
import type { Sql } from './sql.ts';

/** The same store, and how many statements of a kind it was asked for so far. */
export function countStatements(db: Db, isCounted: (query: Sql) => boolean): { db: Db; count(): number } {
  let count = 0;
  const note = (query: Sql): Sql => {
    if (isCounted(query)) count += 1;
    return query;
  };
  const watch = (queries: Queries): Queries => ({
    all: (query) => queries.all(note(query)),
    get: (query) => queries.get(note(query)),
    run: (query) => queries.run(note(query)),
  });
  return {
    db: {
      ...watch(db),
      dialect: db.dialect,
      transaction: (work, options) => db.transaction((tx) => work(watch(tx)), options),
      close: () => db.close(),
    },
    count: () => count,
  };
}
