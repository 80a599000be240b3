import type { DatabaseSync } from '@photostructure/sqlite';
import { toStoreError } from './errors.ts';

export const SQLITE_DRIVERS = ['better-sqlite3', 'node:sqlite', '@photostructure/sqlite'] as const;
export type SqliteDriver = (typeof SQLITE_DRIVERS)[number];
export type SqliteValue = string | number | null;

export interface SqliteStatement<Row = unknown> {
  run(...params: SqliteValue[]): { changes: number | bigint };
  get(...params: SqliteValue[]): Row | undefined;
  all(...params: SqliteValue[]): Row[];
}

/** What the drivers have in common: one connection, synchronous, positional parameters `?`. */
export interface SqliteDatabase {
  /** Several statements without parameters. */
  exec(sql: string): void;
  /** Parsed at its first use, where a text that SQLite does not understand throws. */
  prepare<Row = unknown>(sql: string): SqliteStatement<Row>;
  /** Runs `work` in one write transaction: commits when it returns, rolls back when it throws. Not nested. */
  transaction<T>(work: () => T): T;
  close(): void;
}

export interface SqliteOpener {
  driver: SqliteDriver;
  open(path: string): SqliteDatabase;
}

export interface SqliteSearch {
  /** Undefined: no driver opens a database on this machine; `reasons` has a sentence for each. */
  opener: SqliteOpener | undefined;
  reasons: string[];
}

/**
 * The first driver that opens a database on this machine, in the order of `SQLITE_DRIVERS`, or the one that `driver`
 * or `SVC_SQLITE_DRIVER` names; "none" is as if no driver opened. Throws when the name is unknown.
 */
export async function findSqlite(driver?: string): Promise<SqliteSearch> {
  const forced = driver ?? process.env.SVC_SQLITE_DRIVER;
  if (forced === NO_DRIVER) return { opener: undefined, reasons: ['SVC_SQLITE_DRIVER is "none".'] };
  const reasons: string[] = [];
  for (const name of forced ? [toDriver(forced)] : SQLITE_DRIVERS) {
    try {
      const open = await LOADERS[name]();
      // Loading proves nothing: a package without its native part fails at the first database.
      open(':memory:').close();
      return { opener: { driver: name, open }, reasons };
    } catch (error) {
      reasons.push(`${name} does not open a database: ${reasonOf(error)}`);
    }
  }
  return { opener: undefined, reasons };
}

// --- internal ---

/** As on a machine where no SQLite opens: for tests, and for a box that is to keep everything in one database. */
const NO_DRIVER = 'none';

type Open = SqliteOpener['open'];

/** What each driver's own connection offers; their statements fit `SqliteStatement` as they are. */
interface NativeDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): unknown;
  close(): void;
}

const LOADERS: Record<SqliteDriver, () => Promise<Open>> = {
  'better-sqlite3': async () => {
    const { default: Database } = await import('better-sqlite3');
    return (path) => toFacade(new Database(path));
  },
  'node:sqlite': async () => {
    const { DatabaseSync: Database } = loadNodeSqlite();
    return (path) => toFacade(new Database(path));
  },
  '@photostructure/sqlite': async () => {
    const { DatabaseSync: Database } = await import('@photostructure/sqlite');
    return (path) => toFacade(new Database(path));
  },
};

function toFacade(native: NativeDatabase): SqliteDatabase {
  const prepare = <Row>(sql: string): SqliteStatement<Row> => {
    // A journal has more than a hundred, and most lives of a process use a few of them. Once parsed the driver's own
    // methods stand here: passing parameters on took a twentieth of the time of a run of one step.
    const parse = (): SqliteStatement<Row> => {
      const parsed = native.prepare(sql) as SqliteStatement<Row>;
      statement.run = parsed.run.bind(parsed);
      statement.get = parsed.get.bind(parsed);
      statement.all = parsed.all.bind(parsed);
      return parsed;
    };
    const statement: SqliteStatement<Row> = {
      run: (...params) => parse().run(...params),
      get: (...params) => parse().get(...params),
      all: (...params) => parse().all(...params),
    };
    return statement;
  };
  const begin = prepare('begin immediate');
  const commit = prepare('commit');
  const rollback = prepare('rollback');
  return {
    exec: (sql) => void native.exec(sql),
    prepare,
    transaction(work) {
      try {
        begin.run();
        const result = work();
        commit.run();
        return result;
      } catch (error) {
        try {
          rollback.run();
        } catch {
          // SQLite has rolled back by itself, as it does when the disk is full.
        }
        throw toStoreError(error);
      }
    },
    close: () => native.close(),
  };
}

/** Loads Node's own SQLite without the ExperimentalWarning it prints; every other warning passes. */
function loadNodeSqlite(): { DatabaseSync: typeof DatabaseSync } {
  const { emitWarning } = process;
  const filtered = (...args: Parameters<typeof emitWarning>): void => {
    if (!isExperimental(args)) Reflect.apply(emitWarning, process, args);
  };
  process.emitWarning = filtered as typeof emitWarning;
  try {
    const loaded = process.getBuiltinModule('node:sqlite');
    if (!loaded) throw new Error(`Node ${process.version} does not have it.`);
    return loaded as { DatabaseSync: typeof DatabaseSync };
  } finally {
    process.emitWarning = emitWarning;
  }
}

function isExperimental([warning, options]: [string | Error, unknown?, ...unknown[]]): boolean {
  const type = typeof options === 'object' ? (options as { type?: string } | null)?.type : options;
  return type === 'ExperimentalWarning' && String(warning).includes('SQLite');
}

function toDriver(name: string): SqliteDriver {
  const driver = SQLITE_DRIVERS.find((known) => known === name);
  if (driver) return driver;
  const known = SQLITE_DRIVERS.map((each) => `"${each}"`).join(', ');
  throw new Error(`There is no SQLite driver "${name}". Set SVC_SQLITE_DRIVER to one of ${known}, or leave it unset.`);
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n')[0] ?? message;
}
