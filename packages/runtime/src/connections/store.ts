import { z } from 'zod';
import { AUTH_KINDS, TOKEN_AUTHS } from './providers.ts';
import type { AuthKind } from './providers.ts';

/** What a connection says other than its service does. */
export const ConnectionSettings = z.strictObject({
  baseUrl: z.string().optional(),
  origins: z.array(z.string()).optional(),
  authorizationUrl: z.string().optional(),
  tokenUrl: z.string().optional(),
  revocationUrl: z.string().optional(),
  clientId: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  tokenAuth: z.enum(TOKEN_AUTHS).optional(),
  params: z.record(z.string(), z.string()).optional(),
  header: z.string().optional(),
  prefix: z.string().optional(),
});
export type ConnectionSettings = z.infer<typeof ConnectionSettings>;

/** `expired`: there is no way to a new token but a sign-in. `revoked`: the service no longer takes it. */
export const CREDENTIAL_STATES = ['ready', 'expired', 'revoked'] as const;
export type CredentialState = (typeof CREDENTIAL_STATES)[number];

/** As every surface shows it: never a credential. */
export const Connection = z.object({
  id: z.string(),
  provider: z.string(),
  title: z.string(),
  auth: z.enum(AUTH_KINDS),
  per: z.enum(['box', 'user']).describe('Whose credential calls are made with'),
  state: z
    .enum(['ready', 'needs_credential', 'needs_sign_in', 'expired', 'revoked'])
    .describe('Of the credential of the box; of a connection per user, whether users can sign in'),
  problem: z.string().nullable().describe('Why it does not work'),
  baseUrl: z.string().nullable(),
  origins: z.array(z.string()).describe('What the credential is sent to'),
  authorizationUrl: z.string().nullable(),
  tokenUrl: z.string().nullable(),
  revocationUrl: z.string().nullable().describe('Where tokens are revoked when it is deleted'),
  clientId: z.string().nullable(),
  hasClientSecret: z.boolean(),
  scopes: z.array(z.string()).describe('What is asked for'),
  grantedScopes: z.array(z.string()).nullable().describe('What the service has granted; null: it did not say'),
  expiresAt: z.iso.datetime().nullable().describe('When the token ends; it is refreshed before'),
  users: z.int().describe('How many end users have signed in'),
  callbackUrl: z.string().describe('What to register at the service as the redirect address'),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Connection = z.infer<typeof Connection>;

export const ConnectionUse = z.object({
  kind: z.enum(['agent', 'workflow', 'trigger']),
  name: z.string(),
  lastUsedAt: z.iso.datetime().describe('To the minute'),
});
export type ConnectionUse = z.infer<typeof ConnectionUse>;

/** A connection as it is stored. */
export interface StoredConnection {
  id: string;
  provider: string;
  auth: AuthKind;
  per: 'box' | 'user';
  title: string | null;
  settings: ConnectionSettings;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** What is known of a credential. */
export interface CredentialRow {
  version: number;
  state: CredentialState;
  scopes: string | null;
  expiresAt: Date | null;
  problem: string | null;
}

/** The parts of a credential that are secret. Which there are is up to how the service knows its callers. */
export interface CredentialParts {
  key?: string;
  username?: string;
  password?: string;
  access?: string;
  refresh?: string;
}

export interface NewCredential extends CredentialParts {
  scopes?: string | null;
  expiresAt?: Date | null;
}

/** Whose credential it is. Empty: the box's own. */
export type Owner = string;

/** What a connection consisted of that is gone. */
export interface Dropped {
  connection: StoredConnection;
  clientSecret: string | undefined;
  /** What could be used of the first 500 owners, the box before its users. */
  credentials: CredentialParts[];
  /** How many there were. */
  count: number;
}

/** The right to put another credential in the place of one. */
export interface Lease {
  id: string;
  /** Who had it before has ended without a word: what the service answered it, if anything, is lost. */
  isInherited: boolean;
}

export interface ListedConnection {
  connection: StoredConnection;
  /** Of the box. */
  credential: CredentialRow | undefined;
  hasClientSecret: boolean;
  users: number;
}

export interface ConnectionStore {
  /** In the order of their ids, those behind `after`. */
  list(after: string | undefined, limit: number): Promise<ListedConnection[]>;
  find(id: string): Promise<ListedConnection | undefined>;
  /** The connection, and the credential of the owner, in one look. */
  open(
    id: string,
    owner: Owner,
  ): Promise<{ connection: StoredConnection; credential: CredentialRow | undefined } | undefined>;
  listUses(id: string): Promise<ConnectionUse[]>;
  /** `exists`: there is one of that id. `full`: there are as many as a box has. */
  create(connection: Omit<StoredConnection, 'createdAt' | 'updatedAt'>): Promise<'created' | 'exists' | 'full'>;
  /** With all its credentials and sign-ins. Undefined: there was none. */
  delete(id: string): Promise<Dropped | undefined>;
  readClientSecret(id: string): Promise<string | undefined>;
  /**
   * Replaces what is given of both as one, whoever is at a new token: the credential of the owner, and the client's secret.
   * False: there is no such connection.
   */
  setCredential(
    id: string,
    owner: Owner,
    given: { credential?: NewCredential | undefined; clientSecret?: string | undefined },
  ): Promise<boolean>;
  readParts(id: string, owner: Owner): Promise<CredentialParts>;
  /** Undefined: another process is at it, or has put another in its place. */
  lease(id: string, owner: Owner, version: number): Promise<Lease | undefined>;
  /** The new tokens, in place of the leased ones. False: the lease has been lost. */
  replace(id: string, owner: Owner, lease: string, credential: NewCredential): Promise<boolean>;
  release(id: string, owner: Owner, lease: string): Promise<void>;
  /** Says that this version no longer works, and drops what it consists of. */
  end(id: string, owner: Owner, version: number, state: 'expired' | 'revoked', problem: string): Promise<void>;
  addSignIn(signIn: { stateHash: string; connectionId: string; owner: Owner; expiresAt: Date }): Promise<void>;
  /** Hands it over once. */
  takeSignIn(stateHash: string): Promise<{ connectionId: string; owner: Owner } | undefined>;
  noteUse(id: string, use: Omit<ConnectionUse, 'lastUsedAt'>): Promise<void>;
}
