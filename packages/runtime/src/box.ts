import type { H3 } from 'h3';
import { createAgents } from './agents/agents.ts';
import type { Agents } from './agents/agents.ts';
import { createModelClient } from './agents/model.ts';
import type { CallModel } from './agents/model.ts';
import { createApiKeys } from './auth/api-keys.ts';
import { createAuth } from './auth/auth.ts';
import { KEYS_ONLY, OPEN } from './auth/strategy.ts';
import type { Strategy } from './auth/strategy.ts';
import { createApprovals } from './approvals/approvals.ts';
import { createCatalog } from './catalog/catalog.ts';
import type { Catalog } from './catalog/catalog.ts';
import { installBodies } from './engine/bodies.ts';
import { createEngine } from './engine/engine.ts';
import type { Engine, EngineOptions } from './engine/engine.ts';
import { installGuard } from './engine/guard.ts';
import { newRunId } from './engine/ids.ts';
import type { Journal, RunRow } from './engine/journal.ts';
import { createEvents } from './events/events.ts';
import { createGate } from './gate/gate.ts';
import type { Gate } from './gate/gate.ts';
import { contractPayload } from './health/contract.ts';
import { createHealth } from './health/health.ts';
import type { Probe, ServicesInfo } from './health/health.ts';
import { HEALTH_ROUTES, mountHealth } from './health/routes.ts';
import { createHooks } from './hooks/hooks.ts';
import { mountWebhooks, WEBHOOK_PREFIX, WEBHOOK_ROUTES } from './hooks/routes.ts';
import { createStreamLimits } from './http/stream-limits.ts';
import { createApp, mountFallback } from './http/app.ts';
import type { RouteEntry } from './http/app.ts';
import { DOCS_ROUTES, mountDocs } from './http/docs.ts';
import { mountOpenApi, OPENAPI_ROUTE } from './http/openapi.ts';
import { mountRoot, ROOT_ROUTE } from './http/root.ts';
import { createJobs } from './jobs/jobs.ts';
import type { DeclaredSchedules } from './jobs/jobs.ts';
import type { Log } from './log.ts';
import { createOperationCatalog } from './mcp/catalog.ts';
import { createConfirmations } from './mcp/confirmations.ts';
import { MCP_ERRORS, MCP_ROUTES, mountMcp } from './mcp/routes.ts';
import type { Problem, Program } from './manifest.ts';
import { splitRoute } from './operations/define.ts';
import { mountOperations } from './operations/http.ts';
import type { OpenApiDocument } from './operations/openapi-document.ts';
import { OPERATIONS } from './operations/index.ts';
import { createRetention } from './retention/retention.ts';
import type { RetentionOptions } from './retention/retention.ts';
import { checkEgress } from './provider/egress.ts';
import type { EgressPolicy } from './provider/egress.ts';
import { createModelProvider } from './provider/provider.ts';
import type { ProviderSettings, ProviderStore } from './provider/provider.ts';
import type { Rooms } from './rooms.ts';
import { createRuns } from './runs/runs.ts';
import { createSessionHistory } from './sessions/history.ts';
import { createSessions } from './sessions/sessions.ts';
import type { MasterKey } from './secrets/seal.ts';
import type { Drizzle } from './stores/drizzle.ts';
import { AGUI_ERRORS } from './wires/agui-error.ts';
import { AGUI_ROUTES, mountAgui } from './wires/agui.ts';
import { WIRE_A_ERRORS } from './wires/chat-completion-error.ts';
import { mountWireA, WIRE_A_ROUTES } from './wires/chat-completions.ts';
import { mountWireB, WIRE_B_ROUTES } from './wires/messages.ts';
import { WIRE_B_ERRORS } from './wires/messages-error.ts';
import { createThinkingSigner } from './wires/thinking-signature.ts';
import type { KeyValueStore } from './stores/kv.ts';
import { createKvDoorbell } from './stores/kv-doorbell.ts';
import { createAmbient } from './workflows/ambient.ts';
import { CHAT_ROUTES, mountWorkflowChat } from './workflows/chat.ts';
import { createWorkflows, workflowBody } from './workflows/workflows.ts';

export interface BoxOptions {
  host: 'dev' | 'image';
  /** Who may call. Default: anybody in dev, API keys alone in an image. */
  strategy?: Strategy;
  /** The agent's slug, from `svc.json`. */
  slug: string;
  log: Log;
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
  /** What the box signs and seals with. Undefined: a key made for this process. */
  secretKey?: MasterKey;
  /** The model of agents that name none. */
  defaultModel(): string | undefined;
  /** How long what is over is kept. Default: for ever. */
  retention?(): RetentionOptions;
  /** Milliseconds between two looks for what is too old. */
  retentionEveryMs?: number;
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
  /** Swaps in an edited program; does nothing while the gate is closed. */
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
  ...WIRE_A_ROUTES,
  ...WIRE_B_ROUTES,
  ...AGUI_ROUTES,
  ...CHAT_ROUTES,
  ...MCP_ROUTES,
  ...WEBHOOK_ROUTES,
];

/** Event streams that stay open, as many as one caller and all of them may have. */
const STREAMS_PER_CALLER = 20;
const STREAMS = 2_000;

/** With what comes after it, well below the 20 s after which a platform kills. */
const DRAIN_MS = 8_000;

/** Builds every room, mounts every route. Start reading here. */
export async function createBox(options: BoxOptions): Promise<Box> {
  installGuard();
  installBodies();
  const { journal, log } = options;
  const catalog = createCatalog();
  const owner = newRunId();
  const { kv } = options;
  const doorbell = kv && !options.exclusive ? createKvDoorbell(kv, owner) : undefined;
  const events = createEvents({
    limits: createStreamLimits({ perCaller: options.host === 'dev' ? Infinity : STREAMS_PER_CALLER, perBox: STREAMS }),
    owner,
    kv: options.exclusive ? undefined : kv,
  });
  const engine = await createEngine({
    // A run that nobody else can take is continued at the next boot: there is nothing to hurry for, nor to wait for.
    drainMs: options.exclusive ? 0 : DRAIN_MS,
    ...(doorbell ? { doorbell } : {}),
    ...options.engine,
    lifecycle: events,
    journal,
    log,
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
    }),
    onSweep() {
      retention.sweep();
      return rooms.jobs.fireDue();
    },
  });
  const load = async (program: Program): Promise<void> => {
    await catalog.load(program);
    await rooms.jobs.reconcile(declaredSchedules(catalog));
  };
  const { environment, store, egress } = options.provider;
  const gate = createGate(
    {
      providerInEnvironment: environment !== undefined,
      isProviderStored: async () => (await store.read()) !== undefined,
      hasCompletedRun: async () => (await journal.listRuns({ status: 'completed' }, { limit: 1 })).length > 0,
    },
    async () => {
      await load(await options.loadProgram());
      await engine.arm();
    },
  );
  const isArmed = () => engine.armed;
  const provider = createModelProvider({
    environment,
    store,
    checkAddress: (url) => checkEgress(url, egress),
    onStored: async () => void (await gate.check()),
  });
  const sessions = createSessions(options.db, (sessionId) => events.tell({ type: 'session.updated', sessionId }));
  const agents = createAgents({
    catalog,
    engine,
    log,
    isArmed,
    sessions,
    journal,
    defaultModel: options.defaultModel,
    callModel: options.callModel ?? createModelClient(() => provider.get()),
  });
  const workflows = createWorkflows({ catalog, engine, journal, isArmed });
  const approvals = createApprovals({ journal, engine, checkArguments: agents.checkArguments });
  const keys = createApiKeys({ db: options.db, kv });
  const auth = createAuth({ strategy: options.strategy ?? (options.host === 'dev' ? OPEN : KEYS_ONLY), keys });
  const rooms: Rooms = {
    approvals,
    catalog,
    events,
    gate,
    keys,
    provider,
    workflows,
    health: createHealth(kv ? { ...options, probes: { ...options.probes, kv: () => kv.ping() } } : options),
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
    runs: createRuns(journal, engine),
    sessions: createSessionHistory({
      db: options.db,
      journal,
      approvals,
      onRemove: (sessionId) => events.tell({ type: 'session.deleted', sessionId }),
    }),
  };

  const retention = createRetention({
    settings: options.retention ?? (() => ({})),
    sessions: rooms.sessions,
    journal,
    log,
    ...(options.retentionEveryMs === undefined ? {} : { everyMs: options.retentionEveryMs }),
  });

  const app = createApp({
    ...options,
    anyBody: [WEBHOOK_PREFIX],
    errorShapes: [WIRE_A_ERRORS, WIRE_B_ERRORS, AGUI_ERRORS, MCP_ERRORS],
  });
  const routes = [...PLAIN_ROUTES, ...OPERATIONS.map(toRouteEntry)];
  mountRoot(app, { slug: options.slug, routes });
  const describe = createDescribe(options);
  mountOpenApi(app, describe);
  mountDocs(app, describe);
  mountHealth(app, rooms.health);
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
    catalog: createOperationCatalog(OPERATIONS),
    confirmations: createConfirmations({ installation: options.slug, now: () => engine.clock.now() }),
    hasProgramTools: options.mcpTools ?? (() => false),
  });
  mountFallback(app, routes);

  return {
    app,
    engine,
    agents,
    gate,
    request: async (path, init) => app.request(path, init),
    async reload(program) {
      if (gate.state().open) await load(program);
    },
    problems: () => catalog.problems(),
    agentNames: () => agents.names(),
    workflowNames: () => catalog.workflows().map(({ entry }) => entry.name),
    async close() {
      // First of all no more starts: whoever closes reads and streams meanwhile must not let one in.
      const ended = engine.close();
      await events.close();
      await ended;
      await mcp.close();
      await agents.close();
      await retention.close();
      await keys.close();
      await doorbell?.close();
    },
  };
}

// --- internal ---

function declaredSchedules(catalog: Catalog): DeclaredSchedules[] {
  return catalog.workflows().map(({ entry, definition }) => ({ name: entry.name, schedules: definition?.schedules }));
}

/** The OpenAPI document of the box, written when it is first asked for: its own address is known only then. */
function createDescribe({ slug, services }: BoxOptions): () => Promise<OpenApiDocument> {
  let document: Promise<OpenApiDocument> | undefined;
  const describe = async () => {
    const { toOpenApi } = await import('./operations/openapi.ts');
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
