import type { H3 } from 'h3';
import { createActivity } from './activity/activity.ts';
import { createAskerFinder } from './activity/asker.ts';
import { createAgents } from './agents/agents.ts';
import type { Agents } from './agents/agents.ts';
import { createModelClient } from './agents/model/client.ts';
import type { CallModel } from './agents/model/client.ts';
import { createApiKeys } from './keys/api-keys.ts';
import { createAuth } from './auth/auth.ts';
import { mountRegistration, REGISTRATION_ROUTES } from './auth/registration.ts';
import type { Registration } from './auth/registration.ts';
import { KEYS_ONLY, OPEN } from './auth/strategy.ts';
import type { Strategy } from './auth/strategy.ts';
import { createApprovals } from './approvals/approvals.ts';
import { createCatalog } from './catalog/catalog.ts';
import { createCatalogEntries } from './catalog/entries.ts';
import type { Catalog } from './catalog/catalog.ts';
import { createConfigValues } from './config-values/config-values.ts';
import { atMost } from './engine/at-most.ts';
import { installBodies } from './engine/values/bodies.ts';
import { createEngine } from './engine/engine.ts';
import type { Engine, EngineOptions } from './engine/engine.ts';
import { installGuard } from './engine/guard/guard.ts';
import { newRunId } from './engine/ids.ts';
import { joinObservers } from './engine/observer.ts';
import type { Journal } from './engine/journal.ts';
import type { RunRow } from './engine/journal/run.ts';
import { createEvents } from './events/events.ts';
import { createGate } from './gate/gate.ts';
import type { Gate } from './gate/gate.ts';
import { contractPayload } from './health/contract.ts';
import { createHealth } from './health/health.ts';
import type { Probe, ServicesInfo } from './health/health.ts';
import { HEALTH_ROUTES, mountHealth } from './health/routes.ts';
import { createHooks } from './hooks/hooks.ts';
import { mountWebhooks, WEBHOOK_PREFIX, WEBHOOK_ROUTES } from './hooks/routes.ts';
import { createStreamLimits } from './auth/stream-limits.ts';
import { createApp, mountFallback } from './http/app.ts';
import type { RouteEntry } from './http/app.ts';
import { DOCS_ROUTES, mountDocs } from './openapi/docs.ts';
import { mountOpenApi, OPENAPI_ROUTE } from './openapi/route.ts';
import { mountRoot, ROOT_ROUTE } from './http/root.ts';
import { createJobs } from './jobs/jobs.ts';
import type { DeclaredSchedules } from './jobs/jobs.ts';
import { withFields } from './log.ts';
import type { Log, RootLog } from './log.ts';
import { createMask } from './mask.ts';
import type { Mask } from './mask.ts';
import { createConfirmations } from './mcp/confirmations.ts';
import { MCP_ERRORS, MCP_ROUTES, mountMcp } from './mcp/routes.ts';
import { createOwnStateKey, createSharedStateKey } from './mcp/state-key.ts';
import type { Problem, Program } from './manifest.ts';
import { createOperationCatalog } from './surface/catalog.ts';
import { splitRoute } from './operations/define.ts';
import { mountOperations } from './surface/http.ts';
import type { OpenApiDocument } from './openapi/document.ts';
import { OPERATIONS } from './surface/index.ts';
import { mayReadChangesOf } from './surface/readable.ts';
import { createLogs } from './logs/logs.ts';
import type { LogQueueLimits } from './logs/queue.ts';
import { createLogStore } from './logs/store.ts';
import { createRetention } from './retention/retention.ts';
import type { RetentionOptions } from './retention/retention.ts';
import { createPublishedInstructions } from './prompts/instructions.ts';
import { createPrompts } from './prompts/prompts.ts';
import type { EgressPolicy } from './provider/egress.ts';
import { createModels } from './provider/models.ts';
import { createModelProvider } from './provider/provider.ts';
import type { ProviderInUse, ProviderSettings, ProviderStore } from './provider/provider.ts';
import type { Rooms } from './surface/rooms.ts';
import { createRunExports } from './runs/export.ts';
import { createRuns } from './runs/runs.ts';
import { createRunWhy } from './runs/why.ts';
import { createStopObserver } from './runs/stopped.ts';
import type { StoppedRun } from './runs/stopped.ts';
import { listSecretValues } from './secret-variables.ts';
import { createSessionHistory } from './sessions/history.ts';
import { createSessions } from './sessions/sessions.ts';
import { newMasterKey } from './secrets/master-key.ts';
import type { MasterKey } from './secrets/seal.ts';
import { createSecrets } from './secrets/secrets.ts';
import { createSettings } from './settings/settings.ts';
import { createSetup } from './settings/setup.ts';
import type { Storage } from './storage/storage.ts';
import { createCatalogOverrides } from './catalog/stored-overrides.ts';
import type { Drizzle } from './stores/drizzle.ts';
import { currentFields, currentRunFields } from './telemetry/log-context.ts';
import { METRICS_ROUTE, mountMetrics } from './telemetry/routes.ts';
import { readTelemetry } from './telemetry/settings.ts';
import type { TelemetrySettings } from './telemetry/settings.ts';
import { createTelemetry } from './telemetry/telemetry.ts';
import { AGUI_ERRORS } from './wires/agui/error.ts';
import { AGUI_ROUTES, mountAgui } from './wires/agui/routes.ts';
import { WIRE_A_ERRORS } from './wires/chat-completions/error.ts';
import { mountWireA, WIRE_A_ROUTES } from './wires/chat-completions/routes.ts';
import { mountWireB, WIRE_B_ROUTES } from './wires/messages/routes.ts';
import { WIRE_B_ERRORS } from './wires/messages/error.ts';
import { createThinkingSigner } from './wires/thinking-signature.ts';
import { ensureInstallation } from './stores/installation.ts';
import { createProjectTables } from './catalog/project-tables.ts';
import { createUsedOnce } from './stores/used-once.ts';
import type { KeyValueStore } from './stores/kv.ts';
import { createKvDoorbell } from './engine/kv-doorbell.ts';
import { createAmbient } from './box/ambient.ts';
import { CHAT_ROUTES, mountWorkflowChat } from './workflows/chat.ts';
import { createWorkflows, workflowBody } from './workflows/workflows.ts';

export interface BoxOptions {
  host: 'dev' | 'image';
  /** Who may call. Default: anybody in dev, API keys alone in an image. */
  strategy?: Strategy;
  /** What is stored as a secret, to be hidden in what leaves the box. Default: the key of the provider alone. */
  secretValues?(): Promise<string[]>;
  /** What a control plane registers this box by. Undefined: it is not registered anywhere. */
  registration?: Registration;
  /** The agent's slug, from `svc.json`. */
  slug: string;
  log: Log;
  /** Where traces and figures go. Default: nowhere; `/metrics` hands out figures all the same. */
  telemetry?: TelemetrySettings;
  /** Where the log records come from that are kept in the relational store. Default: none are kept. */
  records?: Pick<RootLog, 'listen'>;
  /** Days for which they are kept, rather than what `retention` says. */
  logRetentionDays?(): number | undefined;
  /** How they are stored, for tests. */
  logQueue?: Partial<LogQueueLimits>;
  /** Takes secrets out of traces and of what is kept of runs. Default: one that knows the key of the provider alone. */
  mask?: Mask;
  journal: Journal;
  /** No other process can hold the journal, so runs of a killed process go on at once. */
  exclusive: boolean;
  /** Shorter leases and the like, for tests. Default: the engine's own. */
  engine?: Pick<
    EngineOptions,
    'leaseMs' | 'sweepMs' | 'pollMs' | 'drainMs' | 'maxLive' | 'limits' | 'clock' | 'around'
  >;
  /** Instead of the provider, for tests. */
  callModel?: CallModel;
  /** What replicas tell each other. Undefined: they find out by looking in the journal. */
  kv?: KeyValueStore;
  provider: { environment: ProviderSettings | undefined; store: ProviderStore; egress: EgressPolicy };
  /** The relational store: sessions, keys. */
  db: Drizzle;
  /** Where `svc.storage` keeps objects. Undefined: nowhere. */
  storage?: Storage | undefined;
  /** True while nothing has been written to the relational store: what is looked for there is not asked for. */
  isBlank?(): boolean;
  /** What the box signs and seals with. Undefined: a key made for this process. */
  secretKey?: MasterKey;
  /** The model of agents that name none, as the code says. What is set over the API wins over it. */
  defaultModel(): string | undefined;
  /** The same of the environment, which wins over both. */
  environmentModel?(): string | undefined;
  /** Dev only: false while the database is being opened. Until then what the code says is in force. */
  isDatabaseOpen?(): boolean;
  /** How long what is over is kept. Default: for ever. */
  retention?(): RetentionOptions;
  /** Milliseconds between two looks for what is too old. */
  retentionEveryMs?: number;
  /** Told of each run that fails or is blocked, for somebody who watches. */
  onStopped?(run: StoppedRun): void;
  /** Loads agents and workflows; called when the gate opens. */
  loadProgram(): Promise<Program>;
  probes: Record<string, Probe>;
  services(): ServicesInfo;
  /** Dev only: which Host names may call. */
  isAllowedHost?: (host: string) => boolean;
  /** Whether agents and workflows are tools of their own at `/mcp`. Default: no. */
  mcpTools?: () => boolean;
  /** Origins whose pages may call, as they are in force at a request. Default: `DEFAULT_CORS_ORIGINS`. */
  corsOrigins?: () => readonly string[];
}

export interface Box {
  app: H3;
  engine: Engine;
  agents: Agents;
  gate: Gate;
  /** A request without a socket, for tests. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Swaps in an edited program; while the gate is closed, only its dynamic configuration. */
  reload(program: Program): Promise<void>;
  problems(): Problem[];
  agentNames(): string[];
  workflowNames(): string[];
  /**
   * Refuses starts, ends streams and held answers, and gives runs back to other replicas, after steps under way had 8 s
   * to end. Reads are still answered, so this comes before the listener is closed.
   */
  close(): Promise<void>;
}

/** Routes that are no operations: their status code or their protocol is someone else's. */
export const PLAIN_ROUTES: readonly RouteEntry[] = [
  ROOT_ROUTE,
  OPENAPI_ROUTE,
  ...DOCS_ROUTES,
  ...HEALTH_ROUTES,
  METRICS_ROUTE,
  ...REGISTRATION_ROUTES,
  ...WIRE_A_ROUTES,
  ...WIRE_B_ROUTES,
  ...AGUI_ROUTES,
  ...CHAT_ROUTES,
  ...MCP_ROUTES,
  ...WEBHOOK_ROUTES,
];

/** Event streams that stay open, of all callers. */
const STREAMS = 2_000;
const ERROR_SHAPES = [WIRE_A_ERRORS, WIRE_B_ERRORS, AGUI_ERRORS, MCP_ERRORS];

/** With what comes after it, well below the 20 s after which a platform kills. */
const DRAIN_MS = 8_000;

/** Builds every room, mounts every route. Start reading here. */
export async function createBox(options: BoxOptions): Promise<Box> {
  installGuard();
  installBodies();
  const { journal, isBlank = () => false, mask = createMask(), telemetry: settings = readTelemetry({}) } = options;
  const log = withFields(options.log, currentFields);
  // Not waited for: nothing that is stored has been used yet.
  void options.secretValues?.().then(
    (values) => values.forEach((value) => mask.add(value)),
    () => {},
  );
  const catalog = createCatalog();
  const owner = newRunId();
  const { kv } = options;
  const doorbell = kv && !options.exclusive ? createKvDoorbell(kv, owner) : undefined;
  const limits = createStreamLimits({ perBox: STREAMS });
  const events = createEvents({
    limits,
    owner,
    kv: options.exclusive ? undefined : kv,
  });
  const telemetry = await createTelemetry({
    settings,
    service: { name: options.slug, version: contractPayload().build.version, instanceId: owner },
    journal,
    liveRuns: () => engine.liveRuns,
    log: options.log,
    mask,
  });
  const logs = createLogs({
    store: createLogStore(options.db),
    log: options.log,
    records: options.records,
    mask,
    limits,
    owner,
    kv: options.exclusive ? undefined : kv,
    engine: () => engine,
    queue: options.logQueue,
  });
  // A crash in between leaves records that go when they are old.
  const deleteRun = async (runId: string): Promise<boolean> => {
    const isGone = await journal.deleteRun(runId);
    if (isGone) await logs.deleteRun(runId);
    return isGone;
  };
  const engine = await createEngine({
    // A run that nobody else can take is continued at the next boot: there is nothing to hurry for, nor to wait for.
    drainMs: options.exclusive ? 0 : DRAIN_MS,
    ...(doorbell ? { doorbell } : {}),
    ...options.engine,
    lifecycle: events,
    observer: joinObservers([
      telemetry.observer,
      ...(logs.observer ? [logs.observer] : []),
      ...(options.onStopped ? [createStopObserver(options.onStopped, mask)] : []),
    ]),
    journal,
    log: withFields(options.log, currentRunFields),
    owner,
    exclusive: options.exclusive,
    resolve: async (run) => (run.kind === 'agent' ? agents.body(run as RunRow) : workflowBody(catalog, run.name)),
    ambient: createAmbient({
      journal,
      engine: () => engine,
      hooks: () => rooms.hooks,
      agents: () => agents,
      jobs: () => rooms.jobs,
      services: options.services,
      workflows: () => rooms.workflows,
      async readSecret(name) {
        const value = await rooms.secrets.read(name);
        // From here on it is not logged, whatever the code does with it.
        mask.add(value);
        return value;
      },
      logs: () => logs,
      prompts: () => prompts,
      config: () => config,
      database: () => tables.database(),
      storage: options.storage,
    }),
    onSweep() {
      retention.sweep();
      return rooms.jobs.fireDue();
    },
  });
  const load = async (program: Program): Promise<void> => {
    await Promise.all([catalog.load(program), config.load(program), tables.load(program)]);
    await rooms.jobs.reconcile(declaredSchedules(catalog));
  };
  const { environment, store, egress } = options.provider;
  const hasCompletedRun = async () => (await journal.listRuns({ status: 'completed' }, { limit: 1 })).length > 0;
  const gate = createGate(
    {
      providerInEnvironment: environment !== undefined,
      isProviderStored: async () => (await store.read()) !== undefined,
      hasCompletedRun,
    },
    async () => {
      await load(await options.loadProgram());
      await engine.arm();
    },
  );
  const tables = createProjectTables(options.db);
  const prompts = createPrompts({ db: options.db, kv, isBlank });
  const config = createConfigValues({ db: options.db, kv, isBlank, loadProgram: options.loadProgram });
  const isArmed = () => engine.armed;
  const provider = createModelProvider({
    environment,
    store,
    kv,
    egress,
    onStored: async () => void (await gate.check()),
  });
  const getProvider = async (): Promise<ProviderInUse> => {
    const provided = await provider.get();
    telemetry.sawProvider(provided);
    return provided;
  };
  const live = { db: options.db, kv, ...(options.isDatabaseOpen ? { isOpen: options.isDatabaseOpen } : {}) };
  const workspace = createSettings({
    ...live,
    environmentModel: options.environmentModel ?? (() => undefined),
    codeModel: options.defaultModel,
    codeMcpTools: options.mcpTools ?? (() => false),
  });
  const overrides = createCatalogOverrides(live);
  const sessions = createSessions(options.db, (sessionId, askedBy) =>
    events.tell({ type: 'session.updated', sessionId, askedBy }),
  );
  const agents = createAgents({
    catalog,
    engine,
    log,
    isArmed,
    sessions,
    journal,
    instructions: createPublishedInstructions(prompts, log),
    defaultModel: workspace.defaultModel,
    overrides,
    callModel: options.callModel ?? createModelClient(getProvider, telemetry.modelHeaders),
  });
  const workflows = createWorkflows({ catalog, engine, journal, isArmed });
  const approvals = createApprovals({ journal, engine, checkArguments: agents.checkArguments });
  const keys = createApiKeys({ db: options.db, kv });
  const auth = createAuth({ strategy: options.strategy ?? (options.host === 'dev' ? OPEN : KEYS_ONLY), keys });
  const installation = async () => (await ensureInstallation(options.db)).id;
  // Where no other process can hold the journal, none can be asked for what this one sealed.
  const { exclusive, secretKey } = options;
  const readKey = exclusive || !secretKey ? createOwnStateKey() : await createSharedStateKey(options.db, secretKey);
  const rooms: Rooms = {
    activity: createActivity({
      db: options.db,
      log,
      findAsker: createAskerFinder({ journal, db: options.db }),
      mayRead: mayReadChangesOf,
    }),
    approvals,
    catalog,
    config,
    entries: createCatalogEntries({
      catalog,
      workflows,
      overrides,
      prompts,
      defaultModel: workspace.defaultModel,
    }),
    events,
    gate,
    keys,
    logs,
    models: createModels(provider),
    operations: createOperationCatalog(OPERATIONS),
    prompts,
    provider,
    secrets: createSecrets({
      db: options.db,
      key: options.secretKey ?? newMasterKey(),
      installation,
    }),
    settings: workspace,
    setup: createSetup({ gate, provider, settings: workspace, hasCompletedRun }),
    workflows,
    health: createHealth(kv ? { ...options, probes: { ...options.probes, kv: () => probeKv(kv) } } : options),
    hooks: createHooks({ journal, engine, approvals }),
    jobs: createJobs({
      journal,
      engine,
      log,
      async start(name, input, idempotencyKey) {
        return workflows.start(name, input, { trigger: 'schedule', idempotencyKey });
      },
      check: workflows.check,
    }),
    runs: createRuns({ journal, engine, deleteRun }),
    why: createRunWhy({
      journal,
      engine,
      approvals,
      gate: gate.state,
      findCodeHash: ({ kind, name }) =>
        (kind === 'agent' ? catalog.findAgent(name) : catalog.findWorkflow(name))?.definition?.codeHash,
      version: contractPayload().build.version,
    }),
    exports: createRunExports({
      journal,
      secrets: () => listSecrets(options),
      url: () => options.services().agent.url,
      now: () => engine.clock.now(),
    }),
    sessions: createSessionHistory({
      db: options.db,
      journal,
      deleteRun,
      approvals,
      onRemove: (sessionId, askedBy) => events.tell({ type: 'session.deleted', sessionId, askedBy }),
    }),
  };

  const retention = createRetention({
    settings: options.retention ?? (() => ({})),
    sessions: rooms.sessions,
    journal,
    deleteRun,
    logs: options.records && logs,
    logDays: options.logRetentionDays ?? workspace.logRetentionDays,
    log,
    ...(options.retentionEveryMs === undefined ? {} : { everyMs: options.retentionEveryMs }),
  });

  const app = createApp({
    ...options,
    log,
    onAnswer: telemetry.answered,
    onStream: telemetry.enterStream,
    // What asks a box that has just begun for its agents is not told that there is no provider.
    untilReady(path) {
      const looking = gate.looking();
      return looking && ASKS_PROGRAM.test(path) ? atMost(LONGEST_LOOK_MS, looking) : undefined;
    },
    anyBody: [WEBHOOK_PREFIX],
    errorShapes: ERROR_SHAPES,
  });
  const routes = [...PLAIN_ROUTES, ...OPERATIONS.map(toRouteEntry)];
  mountRoot(app, { slug: options.slug, routes });
  const describe = createDescribe(options);
  mountOpenApi(app, describe);
  mountDocs(app, describe);
  mountHealth(app, rooms.health);
  mountMetrics(app, { telemetry, auth, token: settings.metricsToken });
  mountRegistration(app, options.registration, options.db);
  mountOperations(app, OPERATIONS, { rooms, auth });
  const signThinking = createThinkingSigner(options.secretKey);
  mountWireA(app, { agents, authorize: auth.authorize, startedAt: engine.clock.now() });
  mountWireB(app, {
    agents,
    authorize: auth.authorize,
    signThinking,
    startedAt: engine.clock.now(),
  });
  mountAgui(app, { agents, approvals, sessions, signThinking, log, authorize: auth.authorize });
  mountWorkflowChat(app, { auth, engine, journal, workflows });
  mountWebhooks(app, rooms.hooks);
  const mcp = mountMcp(app, {
    agents,
    auth,
    log,
    rooms,
    slug: options.slug,
    catalog: rooms.operations,
    confirmations: createConfirmations({
      readKey,
      used: createUsedOnce(options.db, 'confirmation'),
      installation,
      now: () => engine.clock.now(),
    }),
    isEnabled: workspace.isMcpEnabled,
    hasProgramTools: workspace.hasMcpTools,
  });
  mountFallback(app, routes, ERROR_SHAPES);

  return {
    app,
    engine,
    agents,
    gate,
    request: async (path, init) => app.request(path, init),
    async reload(program) {
      if (gate.state().open) await load(program);
      else await config.load(program);
    },
    problems: () => [...catalog.problems(), ...config.problems(), ...tables.problems()],
    agentNames: () => catalog.agents().map(({ entry }) => entry.name),
    workflowNames: () => catalog.workflows().map(({ entry }) => entry.name),
    async close() {
      // First of all no more starts: whoever closes reads and streams meanwhile must not let one in.
      const ended = engine.close();
      await events.close();
      await logs.closeStreams();
      await ended;
      await mcp.close();
      await agents.close();
      await retention.close();
      await keys.close();
      await rooms.secrets.close();
      await Promise.all([provider.close(), workspace.close(), overrides.close()]);
      await prompts.close();
      await config.close();
      await doorbell?.close();
      await telemetry.close();
      await logs.close();
    },
  };
}

// --- internal ---

const LONGEST_LOOK_MS = 10_000;
const ASKS_PROGRAM = /^\/(?:api|wire-[ab]|agui|mcp)(?:\/|$)/;

async function probeKv(kv: KeyValueStore): Promise<string | undefined> {
  await kv.ping();
  return kv.findWarning();
}

/** All that must not leave the box in a document. */
async function listSecrets({ provider, secretKey, secretValues }: BoxOptions): Promise<string[]> {
  const [stored, settings] = await Promise.all([secretValues?.() ?? [], provider.store.read()]);
  const keys = [provider.environment?.apiKey, settings?.apiKey, secretKey?.key.export().toString('base64')];
  return [...listSecretValues(process.env), ...stored, ...keys.filter((key) => key !== undefined)];
}

function declaredSchedules(catalog: Catalog): DeclaredSchedules[] {
  return catalog.workflows().map(({ entry, definition }) => ({ name: entry.name, schedules: definition?.schedules }));
}

/** The OpenAPI document of the box, written when it is first asked for: its own address is known only then. */
function createDescribe({ slug, services }: BoxOptions): () => Promise<OpenApiDocument> {
  let document: Promise<OpenApiDocument> | undefined;
  const describe = async () => {
    const { toOpenApi } = await import('./openapi/openapi.ts');
    const { version } = contractPayload().build;
    return toOpenApi({
      title: slug,
      version,
      serverUrl: services().agent.url,
      operations: OPERATIONS,
      routes: PLAIN_ROUTES,
    });
  };
  return () => (document ??= describe());
}

function toRouteEntry({ route, summary }: { route: string; summary: string }): RouteEntry {
  return { ...splitRoute(route), summary };
}
