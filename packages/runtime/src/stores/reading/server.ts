import type { Client, CustomTypesConfig, QueryArrayConfig } from 'pg';
import { toStoreError } from '../client.ts';
import type { StoreClient } from '../client.ts';
import { loginUnavailable, openLogin } from './login.ts';
import type { Login, LoginPassword } from './login.ts';
import { MOST_BYTES, MOST_ROWS, offsetOf, queryFailed, queryTimeout, toAnswer, toStatements } from './reader.ts';
import type { ReadAnswer, Reader } from './reader.ts';
import { grantTables } from './role.ts';

export interface ServerReaderOptions {
  /** Of the server, as the box itself reaches it. */
  url: string;
  /** The box's own pool. */
  client: StoreClient & { readonly isDirect: boolean };
  /** The name of the login of this box: roles belong to the whole server. */
  role(): Promise<string>;
  password: LoginPassword;
  timeoutMs?: number;
}

/**
 * Reads on a server as a login of its own, which may read the tables of the project and cannot become anyone else. Each
 * statement has a connection that is thrown away, so nothing it leaves behind meets another.
 */
export function createServerReader(options: ServerReaderOptions): Reader {
  const { client, timeoutMs = TIMEOUT_MS } = options;
  let login: Promise<Login> | undefined;
  const prepare = async (): Promise<Login> => {
    await client.ready;
    if (!client.isDirect) throw loginUnavailable(POOLER);
    login ??= openLogin(options);
    const opened = await login.catch((error: unknown) => {
      login = undefined;
      throw error;
    });
    await grantTables(client, opened.role);
    return opened;
  };
  return {
    async read(text, { rows = MOST_ROWS } = {}) {
      const { role, password, repair } = await prepare();
      const connection = await connect(options.url, { role, password }).catch(async (error: unknown) => {
        login = undefined;
        throw await repair(error);
      });
      return readOver(connection, { text, rows, timeoutMs });
    },
  };
}

// --- internal ---

const TIMEOUT_MS = 15_000;
/** The server ends the statement; after this more the connection is given up. */
const GRACE_MS = 2_000;
const CONNECT_MS = 10_000;
const POOLER = 'DATABASE_URL leads to a connection pooler, which knows no login but its own';

async function connect(url: string, { role, password }: { role: string; password: string }): Promise<Client> {
  const address = new URL(url);
  // Parameters of an address win over what comes before its host.
  address.searchParams.set('user', role);
  address.searchParams.set('password', password);
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: address.href, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => {});
  await client.connect();
  return client;
}

interface Reading {
  text: string;
  rows: number;
  timeoutMs: number;
}

async function readOver(client: Client, { text, rows, timeoutMs }: Reading): Promise<ReadAnswer> {
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream & { destroy(): void } } })
    .connection;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stream.destroy();
  }, timeoutMs + GRACE_MS);
  const statements = toStatements(text, rows);
  let offset = offsetOf(statements);
  try {
    await client.query(beginFor(timeoutMs));
    if (statements.declare !== undefined) await ask(client, statements.declare).done;
    offset = statements.declare === undefined ? offset : 0;
    let size = 0;
    let isCut = false;
    // A message is held in memory until it is whole, so what arrives is counted and not what is in a row.
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MOST_BYTES || isCut) return;
      isCut = true;
      stream.destroy();
    });
    const answer = ask(client, statements.answer);
    await answer.done.catch((error: unknown) => {
      if (!isCut) throw error;
    });
    return toAnswer({ columns: answer.columns(), rows: answer.rows }, { rows, isCut });
  } catch (error) {
    if (isLate || (error as { code?: string }).code === STOPPED) throw queryTimeout(timeoutMs);
    throw toStoreError(queryFailed(error, offset));
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
}

/** `query_canceled` */
const STOPPED = '57014';

function beginFor(timeoutMs: number): string {
  return `
    begin read only;
    set local statement_timeout = ${timeoutMs};
    set local search_path = public;
    set local standard_conforming_strings = on;
    select 1`;
}

const TEXTS: CustomTypesConfig = { getTypeParser: () => (text: string) => text };

interface Fields {
  fields: { name: string; dataTypeID: number }[];
}

/** One statement: the extended protocol refuses a second in the same text. */
function ask(client: Client, text: string) {
  const rows: (string | null)[][] = [];
  let fields: Fields['fields'] = [];
  const config = { text, queryMode: 'extended', rowMode: 'array', types: TEXTS } as QueryArrayConfig;
  const done = import('pg').then(({ default: pg }) => {
    const query = new pg.Query(config as never);
    query.on('row', (row, result) => {
      rows.push(row as unknown as (string | null)[]);
      fields = (result as unknown as Fields).fields;
    });
    return new Promise<void>((resolve, reject) => {
      query.on('end', (result) => {
        fields = (result as unknown as Fields).fields;
        resolve();
      });
      query.on('error', reject);
      client.query(query);
    });
  });
  return { done, rows, columns: () => fields.map(({ name, dataTypeID }) => ({ name, typeId: dataTypeID })) };
}
