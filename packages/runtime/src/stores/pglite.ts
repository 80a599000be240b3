import { AsyncLocalStorage } from 'node:async_hooks';
import { resolve } from 'node:path';
import { commitRefused, storeUnavailable } from './client.ts';
import type { SqlSession, StoreClient } from './client.ts';
import { getPackageFile } from './package-file.ts';
import { createDeferred } from './deferred.ts';
import { connectWorker } from './pglite-connection.ts';
import type { QueryOptions } from './sql.ts';
import type { WorkerCall, WorkerConnection } from './pglite-connection.ts';

export interface PgliteOptions {
  /** The database's folder. Made on the first open; the caller holds its lock (`lock.ts`). */
  dataDir: string;
  /** Archive a new folder starts from. Default: the shipped one. False: PGlite makes an empty database, slowly. */
  template?: string | false;
  /** How long a statement that a transaction makes beside itself may wait for that transaction to end. */
  deadlockMs?: number;
}

/**
 * PGlite in a worker thread, one session for everyone. Statements run in the order they are made; a lease or a
 * transaction is alone with the database until it ends, and all others wait.
 */
export interface PgliteClient extends StoreClient {
  /** The database for one holder, for as long as it takes. */
  lease(): Promise<PgliteLease>;
  /**
   * Replaces the worker at once and opens the same folder again; nothing acknowledged is lost. What is in flight is
   * rejected with `store_unavailable`: it may or may not be stored.
   */
  restart(): Promise<void>;
}

export interface PgliteLease {
  readonly session: SqlSession;
  /** Aborted when the worker behind the lease is gone; the lease is of no more use then. */
  readonly ended: AbortSignal;
  /** Runs messages of the wire protocol and says whether a transaction is open afterwards. What is answered beyond `most` bytes is dropped. */
  wire(bytes: Uint8Array, onChunk: (chunk: Uint8Array) => void, most?: number): Promise<WireEnd>;
  release(): void;
}

export interface WireEnd {
  inTransaction: boolean;
  /** Some of the answer was dropped. */
  isCut?: boolean;
}

export function openPglite(options: PgliteOptions): PgliteClient {
  const dataDir = resolve(options.dataDir);
  const template = options.template === false ? undefined : (options.template ?? getPackageFile(TEMPLATE));
  const connect = (): WorkerConnection => connectWorker({ dataDir, template });
  const inside = new AsyncLocalStorage<Scope>();
  let connection = connect();
  let tail: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;

  const refuseClosed = (): void => {
    if (closing) throw storeUnavailable(CLOSED);
  };
  /**
   * Made inside a transaction but not through its `tx`, a statement waits for the end of what may be waiting for it.
   * That is fine as long as it is not awaited, so it is given some time before it is called a deadlock.
   */
  const waitFor = (turn: Promise<unknown>): Promise<unknown> => {
    const isInside = inside.getStore()?.open === true;
    return isInside ? rejectAfter(turn, options.deadlockMs ?? DEADLOCK_MS, OUTSIDE) : turn;
  };
  /** The live worker. One that died by itself is replaced: its folder opens again in half a second. */
  const live = (): WorkerConnection => {
    if (connection.ended.aborted && !closing) connection = connect();
    return connection;
  };
  const acquire = async (): Promise<{ connection: WorkerConnection; release: () => void }> => {
    refuseClosed();
    const turn = tail;
    const held = createDeferred();
    tail = turn.then(() => held.promise);
    await waitFor(turn).catch((error: Error) => {
      held.resolve();
      throw error;
    });
    return { connection: live(), release: held.resolve };
  };
  /** Waits for the lease before it and blocks no caller: the worker keeps the order. */
  const shared = async <T>(use: (session: SqlSession) => Promise<T>): Promise<T> => {
    refuseClosed();
    await waitFor(tail);
    return use(createSession(live()));
  };

  return {
    get ready() {
      return connection.opened;
    },
    query: (text, params, how) => shared((session) => session.query(text, params, how)),
    queryArrays: (text, params) => shared((session) => session.queryArrays(text, params)),
    exec: (text) => shared((session) => session.exec(text)),
    async lease() {
      const held = await acquire();
      return createLease(held.connection, held.release);
    },
    async transaction(work) {
      const held = await acquire();
      const scope = { open: true };
      try {
        return await inside.run(scope, () => runTransaction(held.connection, scope, work));
      } finally {
        scope.open = false;
        held.release();
      }
    },
    async restart() {
      refuseClosed();
      const old = connection;
      await old.terminate(storeUnavailable(RESTARTED));
      // A statement that came in between has already opened the next one.
      if (connection === old) connection = connect();
      await connection.opened;
    },
    close() {
      closing ??= closeConnection(tail, () => connection).finally(() => inside.disable());
      return closing;
    },
  };
}

// --- internal ---

interface Scope {
  open: boolean;
}

const TEMPLATE = 'template/pglite.tar.br';
const CLOSE_MS = 5_000;
const DEADLOCK_MS = 5_000;
const CLOSED = 'The database is closed.';
const RESTARTED = 'The database was restarted. What was in flight may or may not be stored.';
const OVER = 'The transaction is over. Use its "tx" only inside the function it was handed to.';
const OUTSIDE =
  'A statement inside a transaction was made through the database itself, and each waited for the other. ' +
  'Use the "tx" that the transaction hands over.';

function createSession(connection: WorkerConnection, scope: Scope = { open: true }): SqlSession {
  const call = async (message: WorkerCall): Promise<unknown> => {
    if (!scope.open) throw new Error(OVER);
    return connection.call(message);
  };
  return {
    async query<Row>(text: string, params: unknown[] = [], { prepared }: QueryOptions = {}) {
      return (await call({ op: 'query', text, params, rowMode: 'object', prepared })) as Row[];
    },
    async queryArrays(text, params = []) {
      return (await call({ op: 'query', text, params, rowMode: 'array' })) as unknown[][];
    },
    async exec(text) {
      await call({ op: 'exec', text });
    },
  };
}

function createLease(connection: WorkerConnection, release: () => void): PgliteLease {
  return {
    session: createSession(connection),
    ended: connection.ended,
    async wire(bytes, onChunk, most) {
      return (await connection.call({ op: 'wire', bytes, most }, onChunk)) as WireEnd;
    },
    release,
  };
}

async function runTransaction<T>(
  connection: WorkerConnection,
  scope: Scope,
  work: (tx: SqlSession) => Promise<T>,
): Promise<T> {
  await connection.call({ op: 'exec', text: 'begin' });
  let result: T;
  try {
    result = await work(createSession(connection, scope));
  } catch (error) {
    // A worker that is gone has rolled back by itself; the first error says why.
    await connection.call({ op: 'exec', text: 'rollback' }).catch(() => {});
    throw error;
  }
  const command = await connection.call({ op: 'exec', text: 'commit' });
  if (command === 'ROLLBACK') throw commitRefused();
  return result;
}

async function rejectAfter(turn: Promise<unknown>, ms: number, message: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    await Promise.race([turn, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets what is queued finish and the database write its checkpoint, for a while; being stopped loses nothing committed. */
async function closeConnection(queued: Promise<unknown>, current: () => WorkerConnection): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((done) => (timer = setTimeout(done, CLOSE_MS)));
  await Promise.race([queued.then(() => current().call({ op: 'close' })).catch(() => {}), deadline]);
  clearTimeout(timer);
  await current().terminate(storeUnavailable(CLOSED));
}
