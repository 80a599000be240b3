import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { BoxError } from '../../errors.ts';
import { toStoreError } from '../client.ts';
import type { SqlSession, StoreClient } from '../client.ts';
import { quote, revokeFunctions, takeTurn } from './role.ts';

/** Where the password of the login is kept. */
export interface LoginPassword {
  get(): Promise<string | undefined>;
  set(password: string): Promise<void>;
}

export interface Login {
  role: string;
  password: string;
  /** What a refused connection means to the caller; the password is replaced where it may be. */
  repair(error: unknown): Promise<unknown>;
}

export interface LoginOptions {
  client: StoreClient;
  role(): Promise<string>;
  password: LoginPassword;
}

/**
 * Makes the login where it is not there, with a password that the server never sees: it is given what proves it. Throws
 * `query_login_unavailable`, with what an administrator runs instead.
 */
export async function openLogin(options: LoginOptions): Promise<Login> {
  const role = await options.role();
  const password = await keepPassword(options);
  const made = await makeRole(options.client, { role, password });
  if (made !== undefined) throw loginUnavailable(made, createText(role, password));
  const [found] = await options.client.query<{ tooMuch: boolean }>(TOO_MUCH, [role]);
  if (!found || found.tooMuch)
    throw loginUnavailable(`The role "${role}" may do more than read`, createText(role, password));
  return {
    role,
    password,
    async repair(error) {
      const { code = '', message = '' } = error as { code?: string; message?: string };
      if (!REFUSED.test(code)) return toStoreError(error);
      const alter = alterText(role, password);
      const isSet = await options.client.exec(alter).then(
        () => true,
        () => false,
      );
      const again = isSet ? 'Its password has been replaced: try again' : 'Its password is another one';
      return loginUnavailable(`The login "${role}" is refused: ${message}. ${again}`, alter);
    },
  };
}

export function loginUnavailable(reason: string, sql?: string): BoxError {
  const advice =
    sql === undefined
      ? 'Let DATABASE_URL lead to the server itself.'
      : 'An administrator of the server can run the statement in "details".';
  const message = `Database queries have no login of their own: ${reason}. ${advice}`;
  return new BoxError('query_login_unavailable', message, { details: sql === undefined ? {} : { sql } });
}

// --- internal ---

/** Authentication and authorization of a connection. */
const REFUSED = /^(28|42501)/;

async function keepPassword({ password }: LoginOptions): Promise<string> {
  const kept = await password.get();
  if (kept !== undefined) return kept;
  await password.set(randomBytes(32).toString('base64url'));
  // Of two replicas at once, one was last.
  return (await password.get()) as string;
}

/** Answers why it cannot be made. */
async function makeRole(
  client: StoreClient,
  { role, password }: { role: string; password: string },
): Promise<string | undefined> {
  try {
    await client.transaction(async (tx) => {
      await takeTurn(tx);
      const [found] = await tx.query('select 1 from pg_catalog.pg_roles where rolname = $1', [role]);
      if (!found) await tx.exec(createText(role, password));
      await shieldFunctions(tx);
    });
    return undefined;
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== '42501') throw error;
    return `The database does not let the box make one (${message})`;
  }
}

async function shieldFunctions(tx: SqlSession): Promise<void> {
  const [own] = await tx.query<{ may: boolean }>(
    'select rolsuper as may from pg_catalog.pg_roles where rolname = current_user',
  );
  if (own?.may) await tx.exec(revokeFunctions({ isEmbedded: false }));
}

function createText(role: string, password: string): string {
  const name = quote(role);
  return [
    `create role ${name} login nosuperuser nocreatedb nocreaterole noinherit password '${toVerifier(password)}'`,
    `alter role ${name} set default_transaction_read_only = on`,
    `alter role ${name} set statement_timeout = '15s'`,
  ].join(';\n');
}

function alterText(role: string, password: string): string {
  return `alter role ${quote(role)} password '${toVerifier(password)}'`;
}

/** Rights that no reader has, and roles it could become. */
const TOO_MUCH = `
  select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
    or exists (select from pg_catalog.pg_auth_members where member = role.oid) as "tooMuch"
  from pg_catalog.pg_roles role where rolname = $1`;

const ROUNDS = 4096;

/** What a server keeps of a password with SCRAM-SHA-256: it proves the password, and does not reveal it. RFC 5803. */
function toVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ROUNDS, 32, 'sha256');
  const sign = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const stored = createHash('sha256').update(sign(salted, 'Client Key')).digest('base64');
  const server = sign(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${ROUNDS}:${salt.toString('base64')}$${stored}:${server}`;
}
