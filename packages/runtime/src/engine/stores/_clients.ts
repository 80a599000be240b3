import { createHash } from 'node:crypto';
import type { PGlite } from '@electric-sql/pglite';
import type { CustomTypesConfig } from 'pg';
import { Client, Pool, types } from 'pg';
import type { QueryOptions, SqlClient } from '../../stores/sql.ts';

// The thinnest clients a test of the journal needs.

export function toPgliteClient(db: PGlite): SqlClient {
  return {
    query: async <Row>(text: string, params?: unknown[]) => (await db.query<Row>(text, params)).rows,
    exec: async (text) => void (await db.exec(text)),
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          query: async <Row>(text: string, params?: unknown[]) => (await tx.query<Row>(text, params)).rows,
          exec: async (text) => void (await tx.exec(text)),
        }),
      ),
    close: () => db.close(),
  };
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

// node-postgres leaves int8 as text; `SqlClient` promises a number.
const NUMBERS = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === types.builtins.INT8 ? Number : (types.getTypeParser(oid, format as 'text') as (text: string) => unknown),
} as CustomTypesConfig;
