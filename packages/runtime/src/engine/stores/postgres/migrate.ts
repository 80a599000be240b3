import type { SqlClient } from '../../../stores/sql.ts';
import { newerJournal } from '../sql/schema-version.ts';
import { MIGRATIONS, POSTGRES_VERSION } from './schema.ts';
import type { Migration } from './schema.ts';

export interface MigrateOptions {
  /** Default: the version this build works on. */
  newest?: number;
  /**
   * Connections beside those of `sql`: over them the indexes of a large table are made while others write to it. Absent:
   * all is done in the transaction, as on PGlite, which is one session.
   */
  beside?: SqlClient;
  /** From so many runs on a journal is large. */
  large?: number;
}

/** Brings the journal's schema to that version. Of processes that boot together one migrates, the others wait. */
export async function migratePostgres(sql: SqlClient, schema: string, options: MigrateOptions = {}): Promise<void> {
  while (!(await migrateOnce(sql, schema, options))) await pause();
}

// --- internal ---

const LARGE = 20_000;
const PAUSE_MS = 100;

type Session = Pick<SqlClient, 'query' | 'exec'>;

/** Answers whether all is done; otherwise another process is at it. */
async function migrateOnce(sql: SqlClient, schema: string, options: MigrateOptions): Promise<boolean> {
  const { newest = POSTGRES_VERSION, beside, large = LARGE } = options;
  const changed = await whenAlone(sql, schema, async (tx) => {
    let version = await readVersion(tx, schema, newest);
    for (; version < newest; version++) {
      const { change, ...later } = toMigration(version, schema);
      await tx.exec(change);
      const isLater = later.fill !== undefined || later.indexes !== undefined;
      // The change can be made again: it counts with what is to come after it.
      if (isLater && beside && (await isLarge(tx, schema, large))) break;
      await tx.exec(textOf(later, schema));
    }
    await writeVersion(tx, schema, version);
    return version;
  });
  if (changed === undefined) return false;
  if (changed === newest || !beside) return true;
  await whenAlone(sql, schema, async (tx) => {
    if ((await readVersion(tx, schema, newest)) !== changed) return;
    await finish(beside, schema, toMigration(changed, schema));
    await writeVersion(tx, schema, changed + 1);
  });
  return false;
}

/**
 * Undefined: another process has the lock. No process waits for it in the database, since a statement that waits has a snapshot,
 * and an index that is made while others write waits for the end of every older one.
 */
function whenAlone<T>(sql: SqlClient, schema: string, work: (tx: Session) => Promise<T>): Promise<T | undefined> {
  return sql.transaction(async (tx) => {
    const key = [`journal:${schema}`];
    const [lock] = await tx.query<{ got: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as got',
      key,
    );
    return lock?.got ? work(tx) : undefined;
  });
}

async function readVersion(tx: Session, schema: string, newest: number): Promise<number> {
  await tx.exec(`
    create schema if not exists ${schema};
    create table if not exists ${schema}.schema_version (version int4 not null);
  `);
  const [stored] = await tx.query<{ version: number }>(`select version from ${schema}.schema_version`);
  const version = stored?.version ?? 0;
  if (version > newest) throw newerJournal(`in the schema "${schema}"`, version, newest);
  return version;
}

function writeVersion(tx: Session, schema: string, version: number): Promise<void> {
  return tx.exec(`
    delete from ${schema}.schema_version;
    insert into ${schema}.schema_version values (${version});
  `);
}

function toMigration(version: number, schema: string): Migration {
  const given = MIGRATIONS[version]?.(schema) ?? '';
  return typeof given === 'string' ? { change: given } : given;
}

async function isLarge(tx: Session, schema: string, large: number): Promise<boolean> {
  return (await tx.query(`select 1 from ${schema}.runs offset ${large} limit 1`)).length > 0;
}

function textOf({ fill, indexes = [] }: Omit<Migration, 'change'>, schema: string): string {
  const made = indexes.map(([name, on]) => `drop index if exists ${schema}.${name}; create index ${name} on ${on}`);
  return [...(fill === undefined ? [] : [fill]), ...made].join(';\n');
}

async function finish(sql: SqlClient, schema: string, { fill, indexes = [] }: Migration): Promise<void> {
  if (fill !== undefined) await sql.exec(fill);
  for (const [name, on] of indexes) {
    // One that a process left half made is of no use, and in the way.
    await sql.exec(`drop index concurrently if exists ${schema}.${name}`);
    await sql.exec(`create index concurrently ${name} on ${on}`);
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
