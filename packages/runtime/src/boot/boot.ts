import { createBox } from '../box.ts';
import type { Box } from '../box.ts';
import type { BoxOptions } from '../box/options.ts';
import { createHostCheck } from '../http/hosts.ts';
import { listen } from '../http/listen.ts';
import { createLog, withFields } from '../log.ts';
import { createMask } from '../mask.ts';
import type { Mask } from '../mask.ts';
import type { Log } from '../log.ts';
import type { Isolate, Supervisor } from '../engine/isolation.ts';
import { createProviderStore } from '../provider/store.ts';
import { listSecretValues } from '../secret-variables.ts';
import { loadMasterKey } from '../secrets/master-key.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { toBucketName } from '../storage/bucket-name.ts';
import type { S3Settings } from '../storage/s3.ts';
import { createStorage } from '../storage/storage.ts';
import { applyProjectMigrations } from '../stores/project-migrations.ts';
import { openBundle } from './bundle.ts';
import type { OpenBundle } from './bundle.ts';
import { createCloser } from '../box/closer.ts';
import type { Closer } from '../box/closer.ts';
import { readEnvironment } from './environment.ts';
import type { BoxEnvironment } from './environment.ts';
import { armGate } from './gate.ts';
import { resolveIdentity } from './identity.ts';
import type { Identity } from './identity.ts';
import { createProbes } from './probes.ts';
import { openServerDatabase, openServerJournal, openServerKv, toDatabaseError } from './server-stores.ts';

export interface BootOptions {
  env: NodeJS.ProcessEnv;
  /** The folder `svc build` wrote. */
  bundleDir: string;
  /** One line of the log. Default: stderr. */
  write?(line: string): void;
  /** Begins a process for runs that may have killed theirs: one that calls `bootSupervised`. Default: they go on in this. */
  isolate?: Isolate;
}

export interface SupervisedOptions extends BootOptions {
  supervisor: Supervisor;
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
export async function boot({ isolate, ...options }: BootOptions): Promise<RunningBox> {
  return begin(options, (opening) => serve({ ...opening, options: isolate ? { isolate } : {} }));
}

/** The same box over the same stores, that opens no port and takes no run but those its supervisor hands it. */
export async function bootSupervised({
  supervisor,
  ...options
}: SupervisedOptions): Promise<Pick<RunningBox, 'close'>> {
  return begin(options, async (opening) => {
    const { box } = await openBox({ ...opening, options: { supervisor } });
    await box.gate.check();
    return { close: () => opening.closer.close() };
  });
}

// --- internal ---

interface Starting {
  environment: BoxEnvironment;
  bundle: OpenBundle;
  write(line: string): void;
  closer: Closer;
  mask: Mask;
  /** What is in the box's options besides. */
  options: Pick<BoxOptions, 'isolate' | 'supervisor'>;
}

/** What cannot be opened closes what was opened before it. */
async function begin<T>(
  { env, bundleDir, write = toStderr }: Omit<BootOptions, 'isolate'>,
  work: (opening: Omit<Starting, 'options'>) => Promise<T>,
): Promise<T> {
  const environment = readEnvironment(env);
  const bundle = await openBundle(bundleDir);
  const closer = createCloser();
  try {
    return await work({ environment, bundle, write, closer, mask: createMask(environment.variables) });
  } catch (error) {
    await closer.close().catch(() => {}); // the first error says why
    throw error;
  }
}

/** Opens the port last: a balancer that finds it open sends requests at once. */
async function serve(starting: Starting): Promise<RunningBox> {
  const { environment, closer } = starting;
  const { box, identity, log, announce, strategy, host } = await openBox(starting);
  const missing = await box.missingSecrets(starting.bundle.config.secrets ?? []);
  await box.gate.check();
  const listener = await listen(box.app, { port: environment.port, host, proxies: environment.proxies });
  closer.add(() => listener.close());
  // Before the listener: requests that come while the box releases its runs are refused with the reason.
  closer.add(() => box.close());
  const running = { url: listener.url, port: listener.port, identity, box, close: () => closer.close() };
  announce(`The identity gate is armed: ${strategy.name}.`);
  report(log, running, { isOpen: environment.insecureLocal, missing });
  return running;
}

/** The box over its stores. */
async function openBox({ environment, bundle, write, closer, mask, options }: Starting) {
  const { slug, config, program, migrations } = bundle;
  const plainLog = createLog({ level: environment.logLevel, write, mask });
  const database = openServerDatabase(environment.databaseUrl, environment);
  closer.add(() => database.close());
  await database.ready.catch((error: unknown) => {
    throw toDatabaseError(error);
  });
  const key = await loadMasterKey({ value: environment.secretKey, file: undefined });
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const previousKey = await readPreviousKey(environment);
  const given = environment.identity;
  const { identity, secrets } = await resolveIdentity({ database, key, previousKey, given, slug, warn });
  const tenant = `${environment.orgSlug}:${identity.agentId}`;
  const log = withFields(plainLog, { tenant });
  for (const warning of warnings) log.warn(warning);
  // Whatever the level: who lets whom in is to be read off the log of any box.
  const announce = (message: string) => {
    log.info(message);
    if (log.writes?.('info') || environment.logLevel === 'silent') return;
    withFields(createLog({ level: 'info', write, mask }), { tenant }).info(message);
  };
  // Once the key has shown that the database is this box's own.
  await applyProjectMigrations(database.client, migrations, {
    onApplied: ({ name }) => log.info('Applied a migration of the project.', { migration: name }),
  });
  const journal = await openServerJournal(environment.databaseUrl);
  closer.add(() => journal.close());
  const kv = openServerKv({ environment, identity, log });
  closer.add(() => kv.close());
  const s3 = environment.storage && {
    ...environment.storage,
    bucket: environment.storage.bucket ?? toBucketName(slug),
  };
  // Not closed: it holds no connection of its own.
  const storage = s3 && createStorage({ ...s3, prefix: `${environment.orgSlug}/${identity.agentId}/` });
  const strategy = armGate(environment, identity, log);
  const host = environment.insecureLocal ? '127.0.0.1' : '0.0.0.0';
  const box = await createBox({
    ...options,
    host: 'image',
    strategy,
    ...(environment.insecureLocal ? {} : { registration: identity }),
    slug,
    log,
    records: plainLog,
    telemetry: environment.telemetry,
    mask,
    journal,
    exclusive: false,
    engine: environment.maxRuns === undefined ? {} : { maxLive: environment.maxRuns },
    db: database.db,
    readable: { kind: 'server', url: environment.databaseUrl, client: database.client },
    kv,
    secretKey: key,
    previousSecretKey: previousKey,
    secretValues: async () => [...listSecretValues(environment.variables), ...(await secrets.values())],
    provider: {
      environment: environment.provider,
      store: createProviderStore(database.db, Promise.resolve(secrets)),
      egress: { allowLoopback: false, allowed: environment.privateEgress },
    },
    browser: environment.browser,
    proxies: environment.proxies,
    environmentModel: () => environment.defaultModel,
    defaultModel: () => config.model,
    embeddingModel: () => config.embeddingModel,
    rerankModel: () => config.rerankModel,
    prices: () => config.prices ?? {},
    retention: () => config.retention ?? {},
    notify: () => config.notify,
    users: () => config.users,
    loadProgram: async () => program,
    storage,
    probes: createProbes({ client: database.client, journal, storage }),
    services: () => ({
      database: { url: environment.databaseUrl },
      storage: s3 ? toStorageInfo(s3) : null,
      agent: { url: environment.publicUrl ?? `http://127.0.0.1:${environment.port}` },
    }),
    mcpTools: () => config.mcp?.tools === true,
    corsOrigins: () => [...environment.corsOrigins, ...(config.studio?.corsOrigins ?? [])],
    ...(environment.insecureLocal ? { isAllowedHost: createHostCheck({ listen: false }) } : {}),
  });
  closer.add(() => box.close());
  return { box, identity, log, announce, strategy, host };
}

async function readPreviousKey({ previousSecretKey: value }: BoxEnvironment): Promise<MasterKey | undefined> {
  if (value === undefined) return undefined;
  return loadMasterKey({ value, file: undefined, variable: 'SVC_SECRET_KEY_PREVIOUS' });
}

function report(
  log: Log,
  { url, identity, box }: RunningBox,
  { isOpen, missing }: { isOpen: boolean; missing: string[] },
): void {
  for (const problem of box.problems())
    log.warn('A part of the bundle does not run.', { ...problem, frame: undefined });
  if (missing.length > 0) log.warn('Secrets that svc.config.ts lists are not set.', { secrets: missing });
  const gate = box.gate.state();
  if (!gate.open && box.agentNames().length > 0)
    log.warn('No model provider is set, so agents are held back. Set MODEL_PROVIDER_BASE_URL.');
  if (isOpen) log.warn('SVC_INSECURE_LOCAL is set: no credential is asked for. Only this machine is let in.');
  log.info('The box serves.', {
    url,
    installation: identity.installationId,
    gate: gate.reason,
    agents: box.agentNames(),
    workflows: box.workflowNames(),
  });
}

/** Without the secret key. */
function toStorageInfo({ endpoint, bucket, region, accessKey, forcePathStyle }: S3Settings) {
  return { endpoint, bucket, region, accessKeyId: accessKey, forcePathStyle };
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
