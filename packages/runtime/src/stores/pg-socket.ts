import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { portBusy } from '../errors.ts';
import { servePgSession } from './pg-session.ts';
import type { PgliteClient } from './pglite.ts';

export interface PgSocketOptions {
  pglite: PgliteClient;
  /** 0: any free one. */
  port: number;
  host?: string;
  /** How long a client may hold a transaction open and idle before it is closed and rolled back. */
  idleTransactionMs?: number;
  /** What a client has to show. Default: none. */
  password?: string;
}

export interface PgSocket {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Opens the embedded database to Postgres clients. Listens at once, whether the database is open or not. A client that
 * holds a transaction open makes everyone wait, the box included; hence the timeout.
 */
export async function servePostgres(options: PgSocketOptions): Promise<PgSocket> {
  const { pglite, port, host = '127.0.0.1', idleTransactionMs = IDLE_TRANSACTION_MS, password } = options;
  const sessions = new Map<Socket, Promise<void>>();
  let lastId = 0;

  const serve = async (socket: Socket): Promise<void> => {
    socket.setNoDelay(true);
    socket.on('error', () => {}); // the session ends when its socket does
    await servePgSession({ pglite, socket, id: ++lastId, idleTransactionMs, password });
    sessions.delete(socket);
    if (sessions.size === 0) await forgetClients(pglite);
  };
  const server = createServer((socket) => {
    sessions.set(socket, serve(socket));
  });
  const bound = await listen(server, port, host);
  return {
    port: bound,
    async close() {
      const closed = new Promise((done) => server.close(done));
      const running = [...sessions.values()];
      for (const socket of sessions.keys()) socket.destroy();
      await Promise.all(running);
      await closed;
    },
  };
}

// --- internal ---

const WANTED = ', and the embedded database would listen there';
const IDLE_TRANSACTION_MS = 30_000;

async function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? portBusy(port, { wanted: WANTED, cause: error }) : error);
    });
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** Prepared statements, temporary tables and cursors belong to the one session: they go when the last client has gone. */
async function forgetClients(pglite: PgliteClient): Promise<void> {
  await pglite.exec('discard all').catch(() => {}); // the database may be closing
}
