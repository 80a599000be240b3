// @ts-check
import { createRequire } from 'node:module';

/**
 * The part of better-sqlite3 that benchmarks use.
 * @typedef {object} Sqlite
 * @property {(sql: string) => void} exec
 * @property {(sql: string) => any} prepare
 * @property {(work: (...args: any[]) => void) => (...args: any[]) => void} transaction
 * @property {() => void} close
 */

/**
 * The driver that the engine takes: where better-sqlite3 was built for another Node, the one that comes with this Node.
 * @param {string} path
 * @returns {Sqlite}
 */
export function openSqlite(path) {
  const Database = createRequire(new URL('../packages/runtime/package.json', import.meta.url))('better-sqlite3');
  try {
    return new Database(path);
  } catch (error) {
    if (/** @type {{ code?: string }} */ (error).code !== 'ERR_DLOPEN_FAILED') throw error;
  }
  const { DatabaseSync } = /** @type {any} */ (process).getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(path);
  return {
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    transaction:
      (work) =>
      (...args) => {
        db.exec('begin immediate');
        try {
          work(...args);
          db.exec('commit');
        } catch (error) {
          db.exec('rollback');
          throw error;
        }
      },
    close: () => db.close(),
  };
}
