import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { PGlite } from '@electric-sql/pglite';
import type { CustomTypesConfig } from 'pg';
import { Client, Pool, types } from 'pg';
import { getPackageFile } from '../../stores/package-file.ts';
import { createQueries } from '../../stores/pglite-query.mjs';
import type { QueryOptions, SqlClient } from '../../stores/sql.ts';

// The thinnest clients a test of the journal needs.

/** The one PGlite of this process, begun from what a development box starts from: to open another takes longer than most tests. */
export function sharePglite(): Promise<SqlClient> {
  shared ??= openPglite().catch((error: unknown) => {
    shared = undefined;
    throw error;
  });
  return shared;
}

export function openPgClient(url: string): SqlClient {
  const pool = new Pool({ connectionString: url, types: NUMBERS });
  // Dropping the database ends sessions that are still closing.
  pool.on('error', () => {});
  return {
    async query<Row>(text: string, values?: unknown[], options?: QueryOptions) {
      const name = options?.prepared ? createHash('sha1').update(text).digest('hex') : undefined;
      const { rows } = await pool.query({ text, values, ...(name ? { name } : {}) });
      return rows as Row[];
    },
    exec: async (text) => void (await pool.query(text)),
    async transaction(work) {
      const session = await pool.connect();
      try {
        await session.query('begin');
        const result = await work({
          query: async <Row>(text: string, params?: unknown[]) => (await session.query(text, params)).rows as Row[],
          exec: async (text) => void (await session.query(text)),
        });
        await session.query('commit');
        return result;
      } catch (error) {
        await session.query('rollback');
        throw error;
      } finally {
        session.release();
      }
    },
    close: () => pool.end(),
  };
}

/** Makes an empty database on the server of `url`; answers its address and how to drop it. */
export async function createDatabase(url: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `journal_${process.pid}_${Date.now()}`;
  await administer(url, `create database ${name}`);
  return { url: new URL(`/${name}`, url).href, drop: () => administer(url, `drop database ${name} with (force)`) };
}

/** One statement, over a connection of its own. */
export async function administer(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

// --- internal ---

let shared: Promise<SqlClient> | undefined;

/** Statements go to it in one message, as those of a box do. */
async function openPglite(): Promise<SqlClient> {
  const template = brotliDecompressSync(readFileSync(getPackageFile('template/pglite.tar.br')));
  const db = await PGlite.create({ loadDataDir: new Blob([template]) });
  const queries = createQueries(db, {});
  let tail: Promise<unknown> = Promise.resolve();
  /** It has one session: a statement or a transaction is alone with it. */
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work);
    tail = turn.catch((error: Error) => {
      // It hit a trap: what it holds is not to be trusted, and the next file opens another.
      if (error.name === 'RuntimeError') shared = undefined;
    });
    return turn;
  };
  const query = <Row>(text: string, params: unknown[] = [], { prepared }: QueryOptions = {}) =>
    queries.run({ text, params, rowMode: 'object', prepared }) as Promise<Row[]>;
  const exec = async (text: string): Promise<void> => {
    try {
      await db.exec(text);
    } finally {
      await queries.forget();
    }
  };
  return {
    query: <Row>(text: string, params?: unknown[], options?: QueryOptions) =>
      alone(() => query<Row>(text, params, options)),
    exec: (text) => alone(() => exec(text)),
    transaction: (work) =>
      alone(async () => {
        await db.exec('begin');
        try {
          const result = await work({ query, exec });
          await db.exec('commit');
          return result;
        } catch (error) {
          await exec('rollback');
          throw error;
        }
      }),
    close: async () => {},
  };
}

// node-postgres leaves int8 as text; `SqlClient` promises a number.
const NUMBERS = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === types.builtins.INT8 ? Number : (types.getTypeParser(oid, format as 'text') as (text: string) => unknown),
} as CustomTypesConfig;
