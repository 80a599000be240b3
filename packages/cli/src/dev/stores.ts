import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startObjectServer } from '@svc/dev-s3';
import type {
  BoxOptions,
  Database,
  Journal,
  KeyValueStore,
  Log,
  StorageSettings,
  StoreClient,
} from '@svc/runtime/host';
import {
  checkCanary,
  createCloser,
  createMemoryKv,
  createProviderStore,
  createSecretStore,
  createStorage,
  ensureInstallation,
  findSqlite,
  loadMasterKey,
  openDatabase,
  openPg,
  openPglite,
  openPostgresJournal,
  openRedisKv,
  openSqliteJournal,
  readVariable,
  rewrapSecrets,
  servePostgres,
  toBucketName,
} from '@svc/runtime/host';
import { CliError } from '../errors.ts';
import { readDatabaseUrl, readKeyPrefix, readKvUrl, readProvider, readStorage } from './environment.ts';
import type { Ports } from './ports.ts';

export interface DevStores {
  journal: Journal;
  /** Where the journal is kept, in words. */
  adapter: string;
  exclusive: boolean;
  db: BoxOptions['db'];
  /** The same, without drizzle. */
  client: StoreClient;
  kv: KeyValueStore;
  /** SVC_SECRET_KEY, or what stands in for it. */
  secretKey: MasterKey;
  secretValues(): Promise<string[]>;
  provider: BoxOptions['provider'];
  storage: BoxOptions['storage'];
  probes: BoxOptions['probes'];
  services(agentUrl: string): ReturnType<BoxOptions['services']>;
  endpoints: { postgres_url: string; s3_endpoint: string; s3_bucket: string };
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
}

/** The embedded stores in `.svc/`, or the servers the environment names. Serves before the database is open. */
export async function openDevStores(options: DevStoresOptions): Promise<DevStores> {
  const { root, env, ports, slug } = options;
  const dir = join(root, '.svc');
  mkdirSync(dir, { recursive: true });
  const databaseUrl = readDatabaseUrl(env);
  const kvUrl = readKvUrl(env);
  const ownObjects = readStorage(env);
  const pglite = databaseUrl === undefined ? openPglite({ dataDir: join(dir, 'pgdata') }) : undefined;
  const database = openDatabase(pglite ?? openPg(databaseUrl ?? ''));
  const master = await loadMasterKey({ value: readVariable(env, 'SVC_SECRET_KEY'), file: join(dir, 'secret.key') });
  const previousValue = readVariable(env, 'SVC_SECRET_KEY_PREVIOUS');
  const previous =
    previousValue === undefined
      ? undefined
      : await loadMasterKey({ value: previousValue, file: undefined, variable: 'SVC_SECRET_KEY_PREVIOUS' });
  let isOpen = false;
  const ready = prepare(database, { master, previous });
  ready.then(
    () => (isOpen = true),
    () => {},
  );
  const { journal, adapter } = await openJournal({ dir, database, server: databaseUrl !== undefined, env });
  const secrets = ready.then((installation) => createSecretStore({ db: database.db, key: master, installation }));
  secrets.catch(() => {});
  const embedded = {
    endpoint: `http://127.0.0.1:${ports.objects}`,
    accessKey: 'svc-dev',
    secretKey: deriveObjectsKey(master.key),
    region: 'us-east-1',
    forcePathStyle: true,
  };
  const objects = { ...(ownObjects ?? embedded), bucket: ownObjects?.bucket ?? toBucketName(slug) };
  const storage = createStorage({ ...objects, prefix: `${readKeyPrefix(env, slug).replace(':', '/')}/` });
  const endpoints = {
    postgres_url: databaseUrl ?? `postgres://postgres@127.0.0.1:${ports.postgres}/postgres`,
    s3_endpoint: objects.endpoint,
    s3_bucket: objects.bucket,
  };
  const kv =
    kvUrl === undefined
      ? createMemoryKv()
      : openRedisKv({ url: kvUrl, prefix: readKeyPrefix(env, slug), log: options.log });
  const closer = createCloser();
  closer.add(() => kv.close());
  closer.add(() => database.close());
  closer.add(() => journal.close());
  return {
    journal,
    db: database.db,
    client: database.client,
    adapter,
    exclusive: databaseUrl === undefined,
    kv,
    secretKey: master,
    secretValues: async () => (await secrets).values(),
    ready,
    isOpen: () => isOpen,
    endpoints,
    provider: {
      environment: readProvider(env),
      store: createProviderStore(database.db, secrets),
      egress: {
        allowLoopback: true,
        allowed: (readVariable(env, 'SVC_ALLOW_PRIVATE_EGRESS') ?? '').split(',').map((host) => host.trim()),
      },
    },
    storage,
    probes: {
      database: async () => {
        await database.ready;
        await database.client.query('select 1');
      },
      journal: async () => void (await journal.now()),
      ...(ownObjects ? { storage: () => storage.check() } : {}),
    },
    services: (agentUrl) => ({
      database: { url: endpoints.postgres_url },
      storage: {
        endpoint: objects.endpoint,
        bucket: objects.bucket,
        region: objects.region,
        accessKeyId: objects.accessKey,
        forcePathStyle: objects.forcePathStyle,
      },
      agent: { url: agentUrl },
    }),
    async startServers() {
      const { accessKey, secretKey, region } = objects;
      if (!ownObjects) {
        const store = { dir: join(dir, 'objects'), port: ports.objects, buckets: [objects.bucket] };
        const server = await startObjectServer({ ...store, accessKey, secretKey, region });
        closer.add(() => server.close());
      }
      if (pglite) {
        const socket = await servePostgres({ pglite, port: ports.postgres });
        closer.add(() => socket.close());
      }
      writeServicesFile(dir, { ...endpoints, ...objects });
    },
    close: () => closer.close(),
  };
}

// --- internal ---

type MasterKey = Awaited<ReturnType<typeof loadMasterKey>>;

async function prepare(
  database: Database,
  { master, previous }: { master: MasterKey; previous: MasterKey | undefined },
): Promise<string> {
  await database.ready;
  const { id } = await ensureInstallation(database.db);
  if (previous) await rewrapSecrets({ db: database.db, key: master, previous, installation: id });
  await checkCanary(database.db, master, id, previous);
  return id;
}

interface JournalOptions {
  dir: string;
  database: Database;
  /** The database is a server of its own: the journal lives there too. */
  server: boolean;
  env: NodeJS.ProcessEnv;
}

/**
 * The journal where `.svc/stores.json` says it is. A new workspace takes SQLite where it opens, else PGlite. One that
 * exists is never replaced by an empty one: when its adapter does not open, this refuses.
 */
async function openJournal({
  dir,
  database,
  server,
  env,
}: JournalOptions): Promise<{ journal: Journal; adapter: string }> {
  if (server) return { journal: await openPostgresJournal({ sql: database.client }), adapter: 'PostgreSQL' };
  const recorded = readRecord(dir);
  const { opener, reasons } = await findSqlite(
    readVariable(env, 'SVC_SQLITE_DRIVER') as Parameters<typeof findSqlite>[0],
  );
  if (recorded === 'sqlite' && !opener) throw journalUnavailable(dir, reasons);
  const choice = recorded ?? (opener ? 'sqlite' : 'pglite');
  const path = join(dir, 'journal.db');
  const journal =
    choice === 'sqlite' && opener
      ? await openSqliteJournal({ path, driver: opener.driver })
      : await openOnPglite(database);
  if (!recorded) writeRecord(dir, choice);
  return { journal, adapter: formatAdapter(choice, opener?.driver, reasons) };
}

function formatAdapter(choice: 'sqlite' | 'pglite', driver: string | undefined, reasons: string[]): string {
  if (choice === 'sqlite') return `SQLite (${driver})`;
  // SQLite opens here, and did not where this workspace began.
  if (driver) return 'PGlite (as .svc/stores.json records)';
  return `PGlite (no SQLite opens here: ${reasons.join(' ')})`;
}

async function openOnPglite(database: Database): Promise<Journal> {
  await database.ready;
  return openPostgresJournal({ sql: database.client });
}

function readRecord(dir: string): 'sqlite' | 'pglite' | undefined {
  const file = join(dir, 'stores.json');
  if (!existsSync(file)) return undefined;
  const { journal } = JSON.parse(readFileSync(file, 'utf8')) as { journal?: unknown };
  return journal === 'sqlite' || journal === 'pglite' ? journal : undefined;
}

function writeRecord(dir: string, journal: 'sqlite' | 'pglite'): void {
  const file = join(dir, 'stores.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ format: 1, journal })}\n`);
  renameSync(`${file}.new`, file);
}

function journalUnavailable(dir: string, reasons: string[]): CliError {
  const path = join(dir, 'journal.db');
  return new CliError(
    'journal_unavailable',
    `The runs of this workspace are in "${path}", and no SQLite opens on this machine: ${reasons.join(' ')}`,
    {
      suggestion:
        'Install the packages again with the Node you run, unset SVC_SQLITE_DRIVER, or move the file and .svc/stores.json away to begin with no runs.',
    },
  );
}

/** The object store's secret follows from the secret key, so that it stays the same and is in no second file to lose. */
function deriveObjectsKey(key: MasterKey['key']): string {
  return createHmac('sha256', key).update('objects').digest('base64url');
}

/** For other programs of the project, `set -a; . .svc/services.env`. Readable by its owner alone. */
function writeServicesFile(
  dir: string,
  services: DevStores['endpoints'] & Pick<StorageSettings, 'accessKey' | 'secretKey' | 'region' | 'forcePathStyle'>,
): void {
  const lines = [
    `DATABASE_URL=${services.postgres_url}`,
    `SVC_S3_ENDPOINT=${services.s3_endpoint}`,
    `SVC_S3_BUCKET=${services.s3_bucket}`,
    `SVC_S3_ACCESS_KEY=${services.accessKey}`,
    `SVC_S3_SECRET_KEY=${services.secretKey}`,
    `SVC_S3_REGION=${services.region}`,
    `SVC_S3_FORCE_PATH_STYLE=${services.forcePathStyle}`,
  ];
  writeFileSync(join(dir, 'services.env'), `${lines.join('\n')}\n`, { mode: 0o600 });
}
