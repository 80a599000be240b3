import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BoxOptions, Database, Journal, KeyValueStore, Log, StoreClient } from '@svc/runtime/host';
import {
  createCloser,
  createMemoryKv,
  createProviderStore,
  createSecretStore,
  openDatabase,
  openPglite,
  openRedisKv,
  openServerDatabase,
  readVariable,
  servePostgres,
} from '@svc/runtime/host';
import {
  readDatabaseUrl,
  readKeyPrefix,
  readKvUrl,
  readProvider,
  readStatementSeconds,
  readStorage,
} from './environment.ts';
import { openJournal } from './journal.ts';
import { openObjects } from './objects.ts';
import type { Objects } from './objects.ts';
import type { Ports } from './ports.ts';
import { deriveSecret, loadSecretKeys, unlockDatabase } from './secret-keys.ts';
import type { MasterKey } from './secret-keys.ts';
import { writeServicesFile } from './services-file.ts';
import type { Endpoints } from './services-file.ts';

type ReadableStore = NonNullable<BoxOptions['readable']>;

export interface DevStores {
  journal: Journal;
  /** Where the journal is kept, in words. */
  adapter: string;
  exclusive: boolean;
  db: BoxOptions['db'];
  readable: ReadableStore;
  /** The same, without drizzle. */
  client: StoreClient;
  kv: KeyValueStore;
  /** SVC_SECRET_KEY, or what is used in its place. */
  secretKey: MasterKey;
  secretValues(): Promise<string[]>;
  provider: BoxOptions['provider'];
  /** Seals the provider of the environment, for a start without it. */
  seedProvider(): Promise<void>;
  storage: BoxOptions['storage'];
  probes: BoxOptions['probes'];
  services(agentUrl: string): ReturnType<BoxOptions['services']>;
  endpoints: Endpoints;
  /** Opens the database and object ports. */
  startServers(): Promise<void>;
  /** The installation id, once the database is open and the secret key fits it. */
  ready: Promise<string>;
  /** Whether it is. */
  isOpen(): boolean;
  close(): Promise<void>;
}

export interface DevStoresOptions {
  root: string;
  env: NodeJS.ProcessEnv;
  ports: Ports;
  slug: string;
  log: Log;
  /** Another process has the embedded ones open: they are reached over its ports. */
  isAttached?: boolean;
}

/** The embedded stores in `.svc/`, or the servers the environment names. Serves before the database is open. */
export async function openDevStores(options: DevStoresOptions): Promise<DevStores> {
  const { root, env, ports, slug } = options;
  const dir = join(root, '.svc');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // One that an earlier version made is open to everyone on the machine, and so is the journal in it.
  chmodSync(dir, 0o700);
  checkEnvironment(env);
  const keys = await loadSecretKeys(env, dir);
  const password = deriveSecret(keys.master.key, 'database');
  const embedded = embeddedUrl(ports, password);
  const { database, pglite, url, readable } = openRelational(options, { dir, embedded });
  let isOpen = false;
  const ready = unlockDatabase(database, keys);
  ready.then(
    () => (isOpen = true),
    () => {},
  );
  const { journal, adapter } = await openJournal({ dir, database, url, env });
  const objects = openObjects({ dir, env, port: ports.objects, slug, key: keys.master.key });
  const endpoints = {
    postgres_url: url ?? embedded,
    s3_endpoint: objects.settings.endpoint,
    s3_bucket: objects.settings.bucket,
  };
  const kv = openKv(options, ready);
  const closer = createCloser();
  closer.add(() => kv.close());
  closer.add(() => database.close());
  closer.add(() => journal.close());
  return {
    journal,
    db: database.db,
    readable,
    client: database.client,
    adapter,
    exclusive: url === undefined,
    kv,
    secretKey: keys.master,
    ...openSecrets({ env, database, master: keys.master, ready }),
    ready,
    isOpen: () => isOpen,
    endpoints,
    storage: objects.storage,
    probes: toProbes(database, journal, objects),
    services: (agentUrl) => toServices(endpoints.postgres_url, objects, agentUrl),
    async startServers() {
      if (objects.isEmbedded) closer.add(await objects.startServer());
      if (pglite) {
        const socket = await servePostgres({ pglite, port: ports.postgres, password });
        closer.add(() => socket.close());
      }
      writeServicesFile(dir, { ...endpoints, ...objects.settings });
    },
    close: () => closer.close(),
  };
}

// --- internal ---

/** Of the embedded database, for other processes. */
function embeddedUrl({ postgres }: Ports, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${postgres}/postgres`;
}

/** Refuses what the environment says of any store before the first of them is opened. */
function checkEnvironment(env: NodeJS.ProcessEnv): void {
  readDatabaseUrl(env);
  readStatementSeconds(env);
  readKvUrl(env);
  readStorage(env);
}

function openRelational({ env, isAttached }: DevStoresOptions, { dir, embedded }: { dir: string; embedded: string }) {
  const url = readDatabaseUrl(env);
  if (url !== undefined || isAttached) {
    const database = openServerDatabase(
      url ?? embedded,
      url === undefined ? {} : { statementTimeoutS: readStatementSeconds(env) },
    );
    const readable: ReadableStore = { kind: 'server', url: url ?? embedded, client: database.client };
    return { url, database, readable };
  }
  const pglite = openPglite({ dataDir: join(dir, 'pgdata') });
  const database = openDatabase(pglite);
  const readable: ReadableStore = { kind: 'embedded', pglite: () => database.ready.then(() => pglite) };
  return { url, pglite, database, readable };
}

function openKv({ env, slug, log }: DevStoresOptions, installation: Promise<string>): KeyValueStore {
  const url = readKvUrl(env);
  if (url === undefined) return createMemoryKv();
  const name = readKeyPrefix(env, slug);
  // A database that does not open is said where it is opened.
  const prefix = installation.then(
    (id) => `${name}:${id}`,
    () => name,
  );
  return openRedisKv({ url, prefix, log });
}

interface SecretsOptions {
  env: NodeJS.ProcessEnv;
  database: Database;
  master: MasterKey;
  ready: Promise<string>;
}

/** What is sealed in the database: secrets, and the key of the model provider. */
function openSecrets({
  env,
  database,
  master,
  ready,
}: SecretsOptions): Pick<DevStores, 'secretValues' | 'provider' | 'seedProvider'> {
  const secrets = ready.then((installation) => createSecretStore({ db: database.db, key: master, installation }));
  secrets.catch(() => {});
  const allowed = (readVariable(env, 'SVC_ALLOW_PRIVATE_EGRESS') ?? '').split(',').map((host) => host.trim());
  const store = createProviderStore(database.db, secrets);
  const environment = readProvider(env);
  return {
    secretValues: async () => (await secrets).values(),
    provider: {
      environment,
      store,
      egress: { allowLoopback: true, allowed },
    },
    seedProvider: async () => (environment ? store.seed(environment) : undefined),
  };
}

function toProbes(database: Database, journal: Journal, { storage, isEmbedded }: Objects): BoxOptions['probes'] {
  return {
    database: async () => {
      await database.ready;
      await database.client.query('select 1');
    },
    journal: async () => void (await journal.now()),
    ...(isEmbedded ? {} : { storage: () => storage.check() }),
  };
}

function toServices(postgresUrl: string, { settings }: Objects, agentUrl: string): ReturnType<DevStores['services']> {
  const { endpoint, bucket, region, accessKey, forcePathStyle } = settings;
  return {
    database: { url: postgresUrl },
    storage: { endpoint, bucket, region, accessKeyId: accessKey, forcePathStyle },
    agent: { url: agentUrl },
  };
}
