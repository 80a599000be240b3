import { randomBytes, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { ADVISORY_LOCKS } from '../stores/advisory-locks.ts';
import { checkCanary } from '../secrets/canary.ts';
import { rewrapSecrets } from '../secrets/rewrap.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { Database } from '../stores/database.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { ensureInstallation, findInstallation } from '../stores/installation.ts';
import { settings } from '../stores/table.ts';
import type { GivenIdentity } from './environment.ts';

/** Who this box is, the same for all of its replicas and after every restart. */
export interface Identity {
  installationId: string;
  /** Signs between the control plane and the box. */
  hmacSecret: string;
  agentId: string;
  workspaceId: string;
}

export interface IdentityOptions {
  database: Database;
  key: MasterKey;
  /** The key before it: what is sealed under that one is wrapped again. */
  previousKey?: MasterKey | undefined;
  given: GivenIdentity;
  slug: string;
  warn(message: string): void;
}

export interface ResolvedIdentity {
  identity: Identity;
  secrets: SecretStore;
}

/**
 * What the environment gives wins. The rest is made at the first boot and kept: the first of several boots at once
 * makes it. With both the installation id and the signing secret given, what is kept of the two is not looked at; with
 * one of them given, it is kept if nothing was, and a kept one that differs is warned of.
 */
export async function resolveIdentity(options: IdentityOptions): Promise<ResolvedIdentity> {
  const { database, key, previousKey, given } = options;
  await database.ready;
  return database.client.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.identity]);
    const { db } = database;
    // What secrets are sealed for is the row, whatever id the environment gives the box.
    const { id } = await ensureInstallation(db, given.installationId);
    if (previousKey && (await rewrapSecrets({ db, key, previous: previousKey, installation: id })) === 0)
      options.warn(NOTHING_TO_REWRAP);
    await checkCanary(db, key, id, previousKey);
    const secrets = createSecretStore({ db, key, installation: id });
    const names = { agentId: options.slug, workspaceId: randomUUID() };
    const identity = { ...(await readPair(secrets, id, options)), ...(await readNames(db, given, names)) };
    return { identity, secrets };
  });
}

/** Who the box of this database is, once it has started. Undefined: it has not. Writes nothing. */
export async function findIdentity({
  database,
  key,
  given,
}: Pick<IdentityOptions, 'database' | 'key' | 'given'>): Promise<
  Pick<Identity, 'installationId' | 'agentId'> | undefined
> {
  await database.ready;
  const { db } = database;
  const kept = await findInstallation(db);
  if (!kept) return undefined;
  await checkCanary(db, key, kept.id);
  const agentId = given.agentId ?? (await findNames(db)).agentId;
  return agentId === undefined ? undefined : { installationId: given.installationId ?? kept.id, agentId };
}

// --- internal ---

/** Any number but the one of the migrations; every version of the box must use this one. */
const NOTHING_TO_REWRAP =
  'SVC_SECRET_KEY_PREVIOUS is set, and nothing is sealed under that key any more. Take it out of the environment.';
const HMAC = 'hmac-secret';
const NAMES = 'identity';

type Pair = Pick<Identity, 'installationId' | 'hmacSecret'>;
type Names = Pick<Identity, 'agentId' | 'workspaceId'>;

async function readPair(secrets: SecretStore, keptId: string, { given, warn }: IdentityOptions): Promise<Pair> {
  const { installationId, hmacSecret } = given;
  if (installationId !== undefined && hmacSecret !== undefined) return { installationId, hmacSecret };
  const kept = await secrets.get(HMAC);
  if (installationId !== undefined && installationId !== keptId) warn(contradiction('SVC_INSTALLATION_ID'));
  if (hmacSecret !== undefined && kept !== undefined && hmacSecret !== kept) warn(contradiction('HMAC_SECRET'));
  const secret = hmacSecret ?? kept ?? randomBytes(32).toString('hex');
  if (kept === undefined) await secrets.set(HMAC, secret);
  return { installationId: installationId ?? keptId, hmacSecret: secret };
}

/** Only what was made is kept: a value of the environment that goes leaves nothing behind. */
async function readNames(db: Drizzle, given: GivenIdentity, made: Names): Promise<Names> {
  const { agentId, workspaceId } = given;
  if (agentId !== undefined && workspaceId !== undefined) return { agentId, workspaceId };
  const kept = await findNames(db);
  const value: Partial<Names> = {
    ...kept,
    ...(agentId === undefined ? { agentId: kept.agentId ?? made.agentId } : {}),
    ...(workspaceId === undefined ? { workspaceId: kept.workspaceId ?? made.workspaceId } : {}),
  };
  if (value.agentId !== kept.agentId || value.workspaceId !== kept.workspaceId)
    await db
      .insert(settings)
      .values({ key: NAMES, value })
      .onConflictDoUpdate({ target: settings.key, set: { value, updatedAt: new Date() } });
  return { agentId: agentId ?? value.agentId ?? '', workspaceId: workspaceId ?? value.workspaceId ?? '' };
}

async function findNames(db: Drizzle): Promise<Partial<Names>> {
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, NAMES));
  return (row?.value ?? {}) as Partial<Names>;
}

function contradiction(name: string): string {
  return `${name} is not what this database was set up with. The variable is used; the other half of the identity is the one kept in the database.`;
}
