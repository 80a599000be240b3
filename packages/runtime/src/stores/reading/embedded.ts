import { BoxError } from '../../errors.ts';
import type { PgliteClient, PgliteLease } from '../pglite.ts';
import { grantTables, quote, revokeFunctions, takeTurn } from './role.ts';
import { MOST_BYTES, MOST_ROWS, offsetOf, queryFailed, queryTimeout, toAnswer, toStatements } from './reader.ts';
import type { ReadAnswer, Reader } from './reader.ts';
import { readMessages, toExtended } from './wire.ts';
import type { WireAnswer } from './wire.ts';

export interface EmbeddedReaderOptions {
  /** The database, once it is open and migrated. */
  pglite(): Promise<PgliteClient>;
  /** After this the database's thread is replaced: nothing else ends a statement in it. */
  timeoutMs?: number;
}

/**
 * Reads in PGlite, whose one session was begun as a superuser: a role that may read the tables of the project is set for the
 * transaction. As a cursor is declared for the statement, it is a query; and a query has no function left to take the role off.
 */
export function createEmbeddedReader({ pglite, timeoutMs = TIMEOUT_MS }: EmbeddedReaderOptions): Reader {
  let prepared: Promise<void> | undefined;
  const prepare = async (): Promise<PgliteClient> => {
    const client = await pglite();
    prepared ??= makeRole(client);
    await prepared.catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    await grantTables(client, ROLE);
    return client;
  };
  return {
    async read(text, { rows = MOST_ROWS } = {}) {
      const client = await prepare();
      const lease = await client.lease();
      const stop = createStop(client, timeoutMs);
      try {
        return await readIn(lease, text, rows);
      } catch (error) {
        if (stop.isLate) throw queryTimeout(timeoutMs);
        throw lease.ended.aborted ? broken(error) : error;
      } finally {
        stop.cancel();
        // Whoever is next must not find a thread that is about to end.
        await stop.stopped;
        if (!lease.ended.aborted) await lease.session.exec('rollback').catch(() => {});
        lease.release();
      }
    },
  };
}

// --- internal ---

const ROLE = 'svc_query';
const TIMEOUT_MS = 5_000;

const BEGIN = `
  begin read only;
  set local search_path = public;
  set local standard_conforming_strings = on;
  set local role ${quote(ROLE)};
  select 1`;

async function makeRole(client: PgliteClient): Promise<void> {
  await client.transaction(async (tx) => {
    await takeTurn(tx);
    const [found] = await tx.query('select 1 from pg_roles where rolname = $1', [ROLE]);
    if (!found)
      await tx.exec(`create role ${quote(ROLE)} nologin nosuperuser nocreatedb nocreaterole noinherit nobypassrls`);
    await tx.exec(revokeFunctions({ isEmbedded: true }));
  });
}

async function readIn(lease: PgliteLease, text: string, rows: number): Promise<ReadAnswer> {
  await lease.session.exec(BEGIN);
  const statements = toStatements(text, rows);
  const offset = offsetOf(statements);
  if (statements.declare !== undefined) await send(lease, statements.declare, { rows, offset });
  const { isCut, ...answer } = await send(lease, statements.answer, { rows, offset: 0 });
  return toAnswer(answer, { rows, isCut });
}

async function send(lease: PgliteLease, text: string, { rows, offset }: { rows: number; offset: number }) {
  const chunks: Uint8Array[] = [];
  const { isCut = false } = await lease.wire(toExtended(text, rows + 1), (chunk) => chunks.push(chunk), MOST_BYTES);
  const answer: WireAnswer = readMessages(Buffer.concat(chunks));
  if (answer.error) throw queryFailed(answer.error, offset);
  return { columns: answer.columns, rows: answer.rows, isCut };
}

/** Replaces the thread of the database at the deadline. */
function createStop(client: PgliteClient, ms: number) {
  const stop = {
    isLate: false,
    stopped: Promise.resolve(),
    cancel: () => clearTimeout(timer),
  };
  const timer = setTimeout(() => {
    stop.isLate = true;
    stop.stopped = client.restart().catch(() => {});
  }, ms);
  return stop;
}

function broken(cause: unknown): BoxError {
  const message =
    'The statement ended the embedded database, which has been opened again: as a rule it needs more memory than there is.';
  return new BoxError('query_failed', message, { cause, details: { sqlState: '53200' } });
}
