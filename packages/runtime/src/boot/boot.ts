import { KEYS_ONLY, OPEN } from '../auth/strategy.ts';
import { createBox } from '../box.ts';
import type { Box } from '../box.ts';
import { openPostgresJournal } from '../engine/stores/postgres.ts';
import { BoxError } from '../errors.ts';
import { createHostCheck } from '../http/hosts.ts';
import { listen } from '../http/listen.ts';
import { createLog, withFields } from '../log.ts';
import type { Log } from '../log.ts';
import { createProviderStore } from '../provider/store.ts';
import { loadMasterKey } from '../secrets/master-key.ts';
import { openDatabase } from '../stores/database.ts';
import { openRedisKv } from '../stores/kv-redis.ts';
import { openPg } from '../stores/pg.ts';
import { openBundle } from './bundle.ts';
import type { OpenBundle } from './bundle.ts';
import { createCloser } from './closer.ts';
import type { Closer } from './closer.ts';
import { readEnvironment } from './environment.ts';
import type { BoxEnvironment, StorageSettings } from './environment.ts';
import { resolveIdentity } from './identity.ts';
import type { Identity } from './identity.ts';

export interface BootOptions {
  env: NodeJS.ProcessEnv;
  /** The folder `svc build` wrote. */
  bundleDir: string;
  /** One line of the log. Default: stderr. */
  write?(line: string): void;
}

export interface RunningBox {
  url: string;
  port: number;
  identity: Identity;
  box: Box;
  /**
   * Refuses what begins, gives the runs back, then stops listening and closes the stores. Until the runs are given back
   * the port answers: 503 to what would begin something.
   */
  close(): Promise<void>;
}

/**
 * Starts a deployed box. Everything that keeps it from serving is found before the port is opened: the environment as a
 * whole, the bundle, the database and its schema, the identity, the secret key. Once the port is open it serves.
 */
export async function boot({ env, bundleDir, write = toStderr }: BootOptions): Promise<RunningBox> {
  const environment = readEnvironment(env);
  const bundle = await openBundle(bundleDir);
  const closer = createCloser();
  try {
    return await start({ environment, bundle, write, closer });
  } catch (error) {
    await closer.close().catch(() => {}); // the first error is the one that tells
    throw error;
  }
}

// --- internal ---

interface Starting {
  environment: BoxEnvironment;
  bundle: OpenBundle;
  write(line: string): void;
  closer: Closer;
}

async function start({ environment, bundle, write, closer }: Starting): Promise<RunningBox> {
  const { slug, config, program } = bundle;
  const plainLog = createLog({ level: environment.logLevel, write });
  const database = openDatabase(openPg(environment.databaseUrl));
  closer.add(() => database.close());
  await database.ready.catch((error: unknown) => {
    throw toDatabaseError(error);
  });
  const key = await loadMasterKey({ value: environment.secretKey, file: undefined });
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const { identity, secrets } = await resolveIdentity({ database, key, given: environment.identity, slug, warn });
  const tenant = `${environment.orgSlug}:${identity.agentId}`;
  const log = withFields(plainLog, { tenant });
  for (const warning of warnings) log.warn(warning);
  const journal = await openPostgresJournal({ sql: database.client });
  closer.add(() => journal.close());
  const kv = openRedisKv({ url: environment.kvUrl, prefix: tenant, log });
  closer.add(() => kv.close());
  const strategy = environment.insecureLocal ? OPEN : KEYS_ONLY;
  const host = environment.insecureLocal ? '127.0.0.1' : '0.0.0.0';
  const box = await createBox({
    host: 'image',
    strategy,
    slug,
    log,
    journal,
    exclusive: false,
    db: database.db,
    kv,
    secretKey: key,
    provider: {
      environment: environment.provider,
      store: createProviderStore(database.db, Promise.resolve(secrets)),
      egress: { allowLoopback: false, allowed: environment.privateEgress },
    },
    defaultModel: () => environment.defaultModel ?? config.model,
    retention: () => config.retention ?? {},
    loadProgram: async () => program,
    probes: {
      database: async () => void (await database.client.query('select 1')),
      journal: async () => void (await journal.now()),
    },
    services: () => ({
      database: { url: environment.databaseUrl },
      storage: environment.storage ? toStorageInfo(environment.storage, slug) : null,
      agent: { url: environment.publicUrl ?? `http://127.0.0.1:${environment.port}` },
    }),
    mcpTools: () => config.mcp?.tools === true,
    corsOrigins: () => [...environment.corsOrigins, ...(config.studio?.corsOrigins ?? [])],
    ...(environment.insecureLocal ? { isAllowedHost: createHostCheck({ listen: false }) } : {}),
  });
  closer.add(() => box.close());
  // Before the port is open: a balancer that finds it open sends requests at once.
  await box.gate.check();
  const listener = await listen(box.app, { port: environment.port, host });
  closer.add(() => listener.close());
  // Before the listener: what comes while the box gives back its runs is told so.
  closer.add(() => box.close());
  const running = { url: listener.url, port: listener.port, identity, box, close: () => closer.close() };
  report(log, running, { strategy: strategy.name, isOpen: environment.insecureLocal });
  return running;
}

function report(log: Log, { url, identity, box }: RunningBox, auth: { strategy: string; isOpen: boolean }): void {
  for (const problem of box.problems())
    log.warn('A part of the bundle does not run.', { ...problem, frame: undefined });
  const gate = box.gate.state();
  if (!gate.open)
    log.warn('No model provider is set, so agents and workflows are held back. Set MODEL_PROVIDER_BASE_URL.');
  if (auth.isOpen)
    log.warn('SVC_INSECURE_LOCAL is set: nobody is asked for a credential. Only this machine is let in.');
  log.info('The box serves.', {
    url,
    installation: identity.installationId,
    credentials: auth.strategy,
    gate: gate.reason,
    agents: box.agentNames(),
    workflows: box.workflowNames(),
  });
}

/** What the server or the network says, as a sentence; a refusal of ours is one already. */
function toDatabaseError(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  const { message, code } = error as { message?: string; code?: string };
  const reason = `The database that DATABASE_URL names cannot be used: ${message || code || String(error)}.`;
  return new BoxError('store_unavailable', `${reason} Start its server, or correct the address.`, { cause: error });
}

function toStorageInfo(storage: StorageSettings, slug: string) {
  const { endpoint, bucket = slug, region, accessKey, forcePathStyle } = storage;
  return { endpoint, bucket, region, accessKeyId: accessKey, forcePathStyle };
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
