import type { StoreClient } from '../client.ts';
import type { PgliteClient } from '../pglite.ts';
import { createEmbeddedReader } from './embedded.ts';
import type { LoginPassword } from './login.ts';
import { limitReader } from './reader.ts';
import type { Reader } from './reader.ts';
import { createServerReader } from './server.ts';

/** A relational store as statements of people are read over it. */
export type ReadableStore =
  | { kind: 'embedded'; pglite(): Promise<PgliteClient>; timeoutMs?: number }
  | { kind: 'server'; url: string; client: StoreClient & { readonly isDirect: boolean }; timeoutMs?: number };

/** @param login the name of the login on a server, and where its password is kept */
export function createReader(
  store: ReadableStore,
  login: { role(): Promise<string>; password: LoginPassword },
): Reader {
  return limitReader(
    store.kind === 'server' ? createServerReader({ ...store, ...login }) : createEmbeddedReader(store),
  );
}
