import { PlaneError } from './errors.ts';
import type { Db, Queries } from './store/db.ts';
import { databaseNewer, MIGRATIONS } from './store/migrations.ts';
import { raw, sql } from './store/sql.ts';

/** What a backup begins with. */
interface Header {
  svcControlPlaneBackup: 1;
  /** How many migrations the database had. */
  migrations: number;
  at: string;
}

/** What is kept, each after those it refers to, with the order its rows are read in. */
export const TABLES: readonly { table: string; key: string }[] = [
  { table: 'plane_users', key: 'id' },
  { table: 'plane_organizations', key: 'id' },
  { table: 'plane_members', key: 'organization_id, user_id' },
  { table: 'plane_invites', key: 'id' },
  { table: 'plane_installations', key: 'id' },
  { table: 'plane_deployments', key: 'installation_id' },
  { table: 'plane_audit', key: 'id' },
  { table: 'plane_personal_tokens', key: 'id' },
  { table: 'plane_settings', key: 'name' },
];

/**
 * What would come back to life although it was ended since: who was signed out, a refresh token that was used, a key that had
 * leaked. Each before those it refers to. A backup of an earlier version has them, and a restore passes over them.
 */
const ENDED: readonly string[] = [
  'plane_access_tokens',
  'plane_refresh_tokens',
  'plane_families',
  'plane_device_codes',
  'plane_sessions',
  'plane_signing_keys',
];

/** What a backup does not have: besides those, what is counted for a minute, where tunnels are, and what the database itself knows. */
export const LEFT_OUT: readonly string[] = [...ENDED, 'plane_attempts', 'plane_migrations', 'plane_tunnels'];

/** Takes the lines of a backup. */
export type Write = (line: string) => Promise<void>;

/** What it ends with: one that is cut off has none. */
interface End {
  /** How many rows it has. */
  end: number;
}

/**
 * Every row that is worth keeping as a line of JSON, as they were at one moment, of either store: what was backed up from SQLite is restored to
 * PostgreSQL as well. What is sealed stays sealed: without its PLANE_SECRET_KEY a backup opens nowhere.
 * `begin` may be called again, to start over. Answers how many rows there are.
 */
export async function backUp(db: Db, now: number, begin: () => Promise<Write>): Promise<number> {
  return db.transaction(async (tx) => {
    const write = await begin();
    let rows = 0;
    const header: Header = {
      svcControlPlaneBackup: 1,
      migrations: MIGRATIONS.length,
      at: new Date(now).toISOString(),
    };
    const migrated = await tx.get<{ done: number }>(sql`select max(number) as done from plane_migrations`);
    // What that version has added would be missing.
    if ((migrated?.done ?? 0) > MIGRATIONS.length) throw databaseNewer();
    await write(JSON.stringify(header));
    for (const { table, key } of TABLES)
      for (let at = 0; ; at += PAGE) {
        const page = await tx.all<object>(
          sql`select * from ${raw(table)} order by ${raw(key)} limit ${PAGE} offset ${at}`,
        );
        for (const row of page) await write(JSON.stringify({ table, row }));
        rows += page.length;
        if (page.length < PAGE) break;
      }
    await write(JSON.stringify({ end: rows } satisfies End));
    return rows;
  });
}

/**
 * Puts a backup into a database that holds no one yet, all of it or nothing. Throws `conflict` for one that does,
 * `invalid_request` for what is no backup, `database_newer` for one of a later version. `read` may be called again; what `check`
 * throws of the whole leaves nothing of it. No one is signed in afterwards, and tokens are signed by new keys. Answers how many
 * rows there were in it.
 */
export async function restore(
  db: Db,
  read: () => AsyncIterable<string>,
  check: (tx: Queries) => Promise<unknown> = async () => {},
): Promise<number> {
  return db.transaction(async (tx) => {
    if (await tx.get(sql`select id from plane_users limit 1`))
      throw new PlaneError('conflict', 'The database has people in it. Restore into an empty one.');
    // What opening it has put there.
    for (const table of [...ENDED, ...TABLES.map((one) => one.table).toReversed()])
      await tx.run(sql`delete from ${raw(table)}`);
    let rows = 0;
    let isFirst = true;
    let end: number | undefined;
    for await (const line of read()) {
      const value = parse(line) as Partial<Header & End & Line>;
      if (end !== undefined) throw noBackup();
      if (isFirst) checkHeader(value);
      else if (value.end === undefined) rows += await insert(tx, value);
      else end = value.end;
      isFirst = false;
    }
    if (end !== rows) throw noBackup();
    await check(tx);
    return rows;
  });
}

// --- internal ---

const PAGE = 1_000;

/** Members of rows in a backup of an earlier version that are kept no more. */
const DROPPED: Readonly<Record<string, readonly string[]>> = { plane_deployments: ['secret'] };

interface Line {
  table: unknown;
  row: unknown;
}

function checkHeader(header: Partial<Header>): void {
  if (header.svcControlPlaneBackup !== 1 || typeof header.migrations !== 'number') throw noBackup();
  if (header.migrations > MIGRATIONS.length)
    throw new PlaneError(
      'database_newer',
      'The backup was made by a later version of the control plane. Use that one.',
    );
}

async function insert(tx: Queries, { table, row }: Partial<Line>): Promise<number> {
  if (ENDED.includes(String(table))) return 1;
  const known = TABLES.find((one) => one.table === table);
  if (!known || typeof row !== 'object' || row === null) throw noBackup();
  const names = Object.keys(row).filter((name) => !DROPPED[known.table]?.includes(name));
  // Names become part of a statement.
  if (names.length === 0 || !names.every((name) => /^[a-z]+$/i.test(name))) throw noBackup();
  const columns = names.map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const values = names.map((name) => (row as Record<string, string | number | null>)[name] ?? null);
  const list = values.slice(1).reduce((all, value) => sql`${all}, ${value}`, sql`${values[0] ?? null}`);
  return tx.run(sql`insert into ${raw(known.table)} (${raw(columns.join(', '))}) values (${list})`);
}

function parse(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below.
  }
  throw noBackup();
}

function noBackup(): PlaneError {
  return new PlaneError('invalid_request', 'This is no backup of a control plane, or not all of one.');
}
