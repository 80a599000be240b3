import { createHash } from 'node:crypto';
import type { Pool, PoolClient, QueryArrayResult, QueryConfig, QueryResult, types } from 'pg';
import { BoxError } from '../errors.ts';
import { commitRefused, parseInt8, storeUnavailable, toStoreError } from './client.ts';
import type { SqlSession, StoreClient } from './client.ts';
import { createRoute } from './pg-route.ts';
import type { PgRoute } from './pg-route.ts';
import type { QueryOptions } from './sql.ts';

export interface PgOptions {
  /** Most connections at a time. Default: 10. */
  connections?: number;
  /** Idle connections stay open: to open one may fail just when it is needed. */
  keepsIdle?: boolean;
  /** How long one statement may take, where neither the role nor the address says so. 0, the default: no limit. */
  statementTimeoutMs?: number;
  /** Called with each new connection before anything else is sent over it. */
  onOpen?: (session: SqlSession) => Promise<void>;
  /** Called when one is gone. */
  onGone?: () => void;
}

export interface PgClient extends StoreClient {
  /** The connections lead to the server itself, as far as one has been opened. */
  readonly isDirect: boolean;
}

/** Postgres over a pool of connections. `pg` is loaded here and not before. */
export function openPg(url: string, options: PgOptions = {}): PgClient {
  const route = createRoute(options.statementTimeoutMs ?? 0);
  const how: How = { nameOf: createNames(), route };
  const pool = createPool(url, { ...options, how });
  let closing: Promise<void> | undefined;
  const ready = pool.then(async (opened) => {
    await opened.query('select 1');
    await route.check(opened);
  });
  pool.catch(() => {}); // every use of it rejects with the same error
  ready.catch(() => {});
  const open = async (): Promise<Pool> => {
    if (closing) throw storeUnavailable('The database is closed.');
    const opened = await pool;
    // How a statement is sent depends on where the connections lead.
    if (!route.isKnown) (await opened.connect().catch(rethrow)).release();
    return opened;
  };
  return {
    ready,
    get isDirect() {
      return route.isDirect;
    },
    ...createSession(open, how),
    async transaction(work) {
      const client = await (await open()).connect().catch(rethrow);
      let broken: Error | undefined;
      // A connection lost while nothing runs on it would otherwise end the process.
      const onError = (error: Error): void => void (broken = error);
      client.on('error', onError);
      try {
        return await runTransaction({ client, how }, work);
      } catch (error) {
        // A connection that is lost, or does not answer, must not go back to the pool.
        if (error instanceof BoxError && error.code === 'store_unavailable') broken ??= error;
        throw error;
      } finally {
        client.off('error', onError);
        client.release(broken);
      }
    },
    close() {
      closing ??= pool.then(
        (opened) => opened.end(),
        () => {},
      );
      return closing;
    },
  };
}

// --- internal ---

const POOL_SIZE = 10;
const CONNECT_MS = 10_000;
/** `begin`, `commit`, `rollback` and what opens a connection wait for no lease. */
const BOUNDARY_MS = 10_000;

async function createPool(connectionString: string, options: PgOptions & { how: How }): Promise<Pool> {
  const { connections = POOL_SIZE, keepsIdle = false, onOpen, onGone, how } = options;
  const { default: pg } = await import('pg');
  const parsers = createParsers(pg.types);
  const pool = new pg.Pool({
    connectionString,
    max: connections,
    ...(keepsIdle ? { idleTimeoutMillis: 0 } : {}),
    connectionTimeoutMillis: CONNECT_MS,
    async onConnect(client) {
      if (onGone) client.once('end', onGone);
      await how.route.setUp(client, BOUNDARY_MS);
      await onOpen?.(createSession(async () => client, how));
    },
    types: { getTypeParser: (oid, format) => parsers.get(oid) ?? pg.types.getTypeParser(oid, format) },
  });
  // An idle connection that the server closes is dropped from the pool; the next query opens another.
  pool.on('error', () => {});
  return pool;
}

type Parser = (text: string) => unknown;

/** The same values PGlite's worker gives: date and time types, their arrays, numeric[] and geometry stay text. */
function createParsers(defaults: typeof types): Map<number, Parser> {
  // The package's own list of numbers has no arrays in it.
  const int8Array = (defaults.getTypeParser as (oid: number) => Parser)(1016);
  const toNumbers = (value: unknown): unknown => (Array.isArray(value) ? value.map(toNumbers) : toNumber(value));
  const textTypes = [1082, 1114, 1184, 1186, 1115, 1182, 1185, 1187, 1231, 600, 718, 1017, 719];
  return new Map<number, Parser>([
    ...textTypes.map((oid): [number, Parser] => [oid, (text) => text]),
    [20, parseInt8],
    [1016, (text) => toNumbers(int8Array(text))],
  ]);
}

function toNumber(value: unknown): unknown {
  return typeof value === 'string' ? parseInt8(value) : value;
}

interface Queryable {
  query(config: {
    name?: string;
    text: string;
    values?: unknown[];
    rowMode?: 'array';
    query_timeout?: number;
  }): Promise<QueryResult | QueryArrayResult>;
}

/**
 * Names prepared statements by their texts. The texts that are prepared are few: a hash of each at every call took longer
 * than all else here. Those over the limit are hashed again.
 */
function createNames(): ToName {
  const known = new Map<string, string>();
  return (text) => {
    const name = known.get(text) ?? createHash('sha1').update(text).digest('hex');
    if (known.size < MOST_NAMES) known.set(text, name);
    return name;
  };
}

const MOST_NAMES = 500;

type ToName = (text: string) => string;

interface How {
  nameOf: ToName;
  route: PgRoute;
  /** A transaction has its limit from the server. */
  isTransaction?: true;
}

function createSession(open: () => Promise<Queryable>, { nameOf, route, isTransaction }: How): SqlSession {
  const limitOf = (timeoutMs = isTransaction ? 0 : route.limitMs) =>
    timeoutMs > 0 ? { query_timeout: timeoutMs } : {};
  return {
    async query<Row>(text: string, params: unknown[] = [], options: QueryOptions = {}) {
      const at = await open();
      const name = options.prepared && route.isDirect ? { name: nameOf(text) } : {};
      const config = { ...name, ...limitOf(options.timeoutMs), text, values: params };
      const { rows } = await at.query(config).catch(rethrow);
      return rows as Row[];
    },
    async queryArrays(text, params = []) {
      const at = await open();
      const { rows } = await at.query({ ...limitOf(), text, values: params, rowMode: 'array' }).catch(rethrow);
      return rows as unknown[][];
    },
    async exec(text) {
      const at = await open();
      await at.query({ ...limitOf(), text }).catch(rethrow);
    },
  };
}

async function runTransaction<T>(
  { client, how }: { client: PoolClient; how: How },
  work: (tx: SqlSession) => Promise<T>,
): Promise<T> {
  let isOver = false;
  const session = createSession(
    async () => {
      if (isOver) throw new Error('The transaction is over. Use its "tx" only inside the function it was handed to.');
      return client;
    },
    { ...how, isTransaction: true },
  );
  const say = (text: string) => client.query({ text, query_timeout: BOUNDARY_MS } as QueryConfig).catch(rethrow);
  await say(how.route.begin);
  let result: T;
  try {
    result = await work(session);
  } catch (error) {
    await say('rollback').catch(() => {}); // the first error says why
    throw error;
  } finally {
    isOver = true;
  }
  const { command } = await say('commit');
  if (command === 'ROLLBACK') throw commitRefused();
  return result;
}

function rethrow(error: unknown): never {
  throw toStoreError(error);
}
