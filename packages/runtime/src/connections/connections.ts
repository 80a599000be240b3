import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { createFetchFor } from '../provider/given-address.ts';
import type { MasterKey } from '../secrets/seal.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { callService } from './call.ts';
import { createCredentials } from './credentials.ts';
import { createDeclared } from './declared.ts';
import type { DeclaredConnections } from './declared.ts';
import { BOX, createConnectionStore } from './drizzle-store.ts';
import { toCredential } from './given.ts';
import type { GivenCredential } from './given.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { createUseNotes } from './notes.ts';
import { createOAuth } from './oauth.ts';
import { requireAddresses, resolve, toStored } from './resolve.ts';
import type { NewConnection, Resolved } from './resolve.ts';
import { createRevoke } from './revocation.ts';
import type { Revocation } from './revocation.ts';
import { toConnection } from './show.ts';
import { connectionNotFound, createSignInFlow } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';
import { testService } from './test-call.ts';
import type { ConnectionTest } from './test-call.ts';
import type { Connection, ConnectionUse, ListedConnection, Owner } from './store.ts';

/** The code that calls, and for whom. */
export interface ConnectionCaller {
  kind: 'agent' | 'workflow' | 'trigger';
  name: string;
  /** The end user of the run; null: it has none. */
  user: { client: string | null; id: string } | null;
  signal: AbortSignal | undefined;
}

export interface Connections extends Pick<DeclaredConnections, 'load' | 'problems'> {
  /** By id. Throws `invalid_cursor`. */
  list(page: { limit: number; cursor?: string }): Promise<{ items: Connection[]; nextCursor: string | null }>;
  /** Throws `connection_not_found`. */
  get(id: string): Promise<Connection & { usedBy: ConnectionUse[] }>;
  /** Throws `connection_invalid`, `connection_exists`, `too_many_connections`. */
  create(connection: NewConnection, by: string): Promise<Connection>;
  /** Throws `connection_not_found`, and `connection_invalid` for what its service knows no one by. */
  setCredential(id: string, credential: GivenCredential): Promise<Connection>;
  /** Begins the sign-in whose token the box is to have. Throws `connection_not_found`, `connection_not_ready`. */
  authorize(id: string): Promise<SignIn>;
  /** Ends a sign-in with what the browser has brought back. Throws `sign_in_invalid`, `sign_in_refused`, `connection_failed`. */
  finish(answer: URLSearchParams): Promise<{ id: string; title: string }>;
  test(id: string, signal: AbortSignal): Promise<ConnectionTest>;
  /** Takes back at the service what it has granted, as far as that succeeds in time. Throws `connection_not_found`. */
  delete(id: string): Promise<Revocation>;
  /** For code: a call with the credential of the box, or of the user. */
  fetch(id: string, caller: ConnectionCaller, input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** For code: whose credential its calls have; empty: the box's own. Throws `connection_not_found`, `connection_not_ready`. */
  ownerOf(id: string, caller: ConnectionCaller): Promise<Owner>;
  /** For code: where the user of the run signs in; of a connection of the box, where an operator does. */
  signInUrl(id: string, caller: ConnectionCaller): Promise<SignIn>;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  db: Drizzle;
  key: MasterKey;
  installation(): Promise<string>;
  egress: EgressPolicy;
  /** The address of the box. */
  url(): string;
  mask: Pick<Mask, 'addPassing'>;
  log: Log;
}

export const CALLBACK_PATH = '/api/connect/callback';

export function createConnections(options: ConnectionsOptions): Connections {
  const { db, key, installation, egress, url, mask, log } = options;
  const store = createConnectionStore({ db, key, installation });
  const declared = createDeclared({ store, egress, log });
  const fetchFor = createFetchFor(egress, createGuardedFetch);
  const oauth = createOAuth((to, request) => fetchFor(to)(to, request));
  const revoke = createRevoke({ oauth, log });
  const credentials = createCredentials({ store, oauth, mask, revoke });
  const noteUse = createUseNotes((id, use) => store.noteUse(id, use), log);
  const callbackUrl = () => `${url()}${CALLBACK_PATH}`;
  const signIns = createSignInFlow({ store, oauth, key, mask, callbackUrl, revoke });
  const show = (listed: ListedConnection): Connection => toConnection(listed, callbackUrl());
  const find = async (id: string): Promise<ListedConnection> => {
    await declared.settled();
    const listed = await store.find(id);
    if (!listed) throw connectionNotFound(id);
    return listed;
  };
  const open = async (id: string): Promise<Resolved> => {
    await declared.settled();
    const opened = await store.open(id, BOX);
    if (!opened) throw connectionNotFound(id);
    return resolve(opened.connection);
  };

  return {
    load: declared.load,
    problems: declared.problems,
    async list({ limit, cursor }) {
      await declared.settled();
      const rows = await store.list(cursor === undefined ? undefined : parseIdCursor(cursor), limit + 1);
      const items = rows.slice(0, limit).map(show);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return { items, nextCursor: last ? toIdCursor(last.id) : null };
    },
    async get(id) {
      const [listed, usedBy] = await Promise.all([find(id), store.listUses(id)]);
      return { ...show(listed), usedBy };
    },
    async create(connection, by) {
      const stored = toStored(connection, egress);
      await requireAddresses(stored, egress);
      const outcome = await store.create({ ...stored, createdBy: by });
      if (outcome === 'created') return show(await find(stored.id));
      const taken = `There is a connection "${stored.id}". Delete it first, or name this one otherwise.`;
      const full = 'This box has as many connections as it may have. Delete one that nothing uses.';
      throw outcome === 'exists'
        ? new BoxError('connection_exists', taken)
        : new BoxError('too_many_connections', full);
    },
    async setCredential(id, given) {
      const service = await open(id);
      const { clientSecret, credential } = toCredential(service, given);
      if (!(await store.setCredential(id, BOX, { credential, clientSecret }))) throw connectionNotFound(id);
      return show(await find(id));
    },
    async authorize(id) {
      const service = await open(id);
      if (service.per === 'box') return signIns.begin(service, BOX);
      throw new BoxError(
        'connection_not_ready',
        `Each user signs in for the connection "${id}". An agent or a workflow hands out where: svc.connection('${id}').signInUrl().`,
      );
    },
    finish: (answer) => signIns.finish(answer),
    async test(id, signal) {
      const service = await open(id);
      if (service.per === 'user')
        throw new BoxError(
          'connection_not_ready',
          `Each user has a credential of their own for the connection "${id}": there is none to test.`,
        );
      return testService(service, {
        fetchFor,
        credential: (rejected) => credentials.get(service, BOX, rejected),
        signal: AbortSignal.any([signal, AbortSignal.timeout(TEST_MS)]),
      });
    },
    async delete(id) {
      const dropped = await store.delete(id);
      if (!dropped) throw connectionNotFound(id);
      return revoke({ ...dropped, service: resolve(dropped.connection) });
    },
    async fetch(id, caller, input, init = {}) {
      const service = await open(id);
      const owner = ownerOf(service, caller);
      noteUse(id, { kind: caller.kind, name: caller.name });
      return callService(service, input, init, {
        fetchFor,
        credential: (rejected) => credentials.get(service, owner, rejected),
        signal: caller.signal,
      });
    },
    ownerOf: async (id, caller) => ownerOf(await open(id), caller),
    async signInUrl(id, caller) {
      const service = await open(id);
      return signIns.begin(service, ownerOf(service, caller));
    },
    async close() {
      await declared.settled();
      await noteUse.close();
    },
  };
}

// --- internal ---

const TEST_MS = 15_000;
function ownerOf({ connectionId, per }: Resolved, { user }: ConnectionCaller): Owner {
  if (per === 'box') return BOX;
  if (user) return JSON.stringify([user.client, user.id]);
  throw new BoxError(
    'connection_not_ready',
    `The connection "${connectionId}" is one per user, and this run has no end user. Name one where it is started: with the header x-svc-user, or a user token.`,
  );
}
