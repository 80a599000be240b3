import type { H3 } from 'h3';
import { createAgents } from './agents/agents.ts';
import { createModelClient } from './agents/model.ts';
import { createApprovals } from './approvals/approvals.ts';
import { createCatalog } from './catalog/catalog.ts';
import type { Catalog } from './catalog/catalog.ts';
import { installBodies } from './engine/bodies.ts';
import { createEngine } from './engine/engine.ts';
import type { EngineOptions } from './engine/engine.ts';
import { installGuard } from './engine/guard.ts';
import { newRunId } from './engine/ids.ts';
import type { Journal, RunRow } from './engine/journal.ts';
import { createGate } from './gate/gate.ts';
import type { Gate } from './gate/gate.ts';
import { createHealth } from './health/health.ts';
import type { Probe, ServicesInfo } from './health/health.ts';
import { HEALTH_ROUTES, mountHealth } from './health/routes.ts';
import { createHooks } from './hooks/hooks.ts';
import { mountWebhooks, WEBHOOK_PREFIX, WEBHOOK_ROUTES } from './hooks/routes.ts';
import { createApp, mountFallback } from './http/app.ts';
import type { RouteEntry } from './http/app.ts';
import { mountRoot, ROOT_ROUTE } from './http/root.ts';
import { createJobs } from './jobs/jobs.ts';
import type { DeclaredSchedules } from './jobs/jobs.ts';
import type { Log } from './log.ts';
import type { Problem, Program } from './manifest.ts';
import { splitRoute } from './operations/define.ts';
import { mountOperations } from './operations/http.ts';
import { OPERATIONS } from './operations/index.ts';
import { checkEgress } from './provider/egress.ts';
import type { EgressPolicy } from './provider/egress.ts';
import { createModelProvider } from './provider/provider.ts';
import type { ProviderSettings, ProviderStore } from './provider/provider.ts';
import type { Rooms } from './rooms.ts';
import { createRuns } from './runs/runs.ts';
import { createSessions } from './sessions/sessions.ts';
import type { Drizzle } from './stores/drizzle.ts';
import { WIRE_A_ERRORS } from './wires/chat-completion-error.ts';
import { mountWireA, WIRE_A_ROUTES } from './wires/chat-completions.ts';
import type { KeyValueStore } from './stores/kv.ts';
import { createKvDoorbell } from './stores/kv-doorbell.ts';
import { createAmbient } from './workflows/ambient.ts';
import { CHAT_ROUTES, mountWorkflowChat } from './workflows/chat.ts';
import { createWorkflows, workflowBody } from './workflows/workflows.ts';

export interface BoxOptions {
  host: 'dev' | 'image';
  /** The agent's slug, from `svc.json`. */
  slug: string;
  log: Log;
  journal: Journal;
  /** No other process can hold the journal, so runs of a killed process go on at once. */
  exclusive: boolean;
  /** Shorter leases and the like, for tests. Default: the engine's own. */
  engine?: Pick<EngineOptions, 'leaseMs' | 'sweepMs' | 'pollMs' | 'drainMs' | 'maxLive' | 'limits'>;
  /** What replicas tell each other. Undefined: they find out by looking in the journal. */
  kv?: KeyValueStore;
  provider: { environment: ProviderSettings | undefined; store: ProviderStore; egress: EgressPolicy };
  /** The relational store: sessions, keys. */
  db: Drizzle;
  /** The model of agents that name none. */
  defaultModel(): string | undefined;
  /** Loads agents and workflows; called when the gate opens. */
  loadProgram(): Promise<Program>;
  probes: Record<string, Probe>;
  services(): ServicesInfo;
  /** Dev only: which Host names may call. */
  isAllowedHost?: (host: string) => boolean;
}

export interface Box {
  app: H3;
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
  ...HEALTH_ROUTES,
  ...WIRE_A_ROUTES,
  ...CHAT_ROUTES,
  ...WEBHOOK_ROUTES,
];

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
  const engine = await createEngine({
    // A run that nobody else can take is continued at the next boot: there is nothing to hurry for, nor to wait for.
    drainMs: options.exclusive ? 0 : DRAIN_MS,
    ...(doorbell ? { doorbell } : {}),
    ...options.engine,
    journal,
    log,
    owner,
    exclusive: options.exclusive,
    resolve: async (run) => (run.kind === 'agent' ? agents.body(run as RunRow) : workflowBody(catalog, run.name)),
    ambient: createAmbient({
      journal,
      engine: () => engine,
      hooks: () => rooms.hooks,
      jobs: () => rooms.jobs,
      services: options.services,
      workflows: () => rooms.workflows,
    }),
    onSweep: () => rooms.jobs.fireDue(),
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
  const agents = createAgents({
    catalog,
    engine,
    isArmed,
    sessions: createSessions(options.db),
    listRuns: (sessionId) => journal.listRuns({ sessionId }, { limit: 20 }),
    defaultModel: options.defaultModel,
    callModel: createModelClient(() => provider.get()),
  });
  const workflows = createWorkflows({ catalog, engine, journal, isArmed });
  const approvals = createApprovals({ journal, engine });
  const rooms: Rooms = {
    approvals,
    catalog,
    gate,
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
  };

  const app = createApp({ ...options, anyBody: [WEBHOOK_PREFIX], errorShapes: [WIRE_A_ERRORS] });
  const routes = [...PLAIN_ROUTES, ...OPERATIONS.map(toRouteEntry)];
  mountRoot(app, { slug: options.slug, routes });
  mountHealth(app, rooms.health);
  mountOperations(app, OPERATIONS, rooms);
  mountWireA(app, { agents, startedAt: engine.clock.now() });
  mountWorkflowChat(app, { engine, journal, workflows });
  mountWebhooks(app, rooms.hooks);
  mountFallback(app, routes);

  return {
    app,
    gate,
    request: async (path, init) => app.request(path, init),
    async reload(program) {
      if (gate.state().open) await load(program);
    },
    problems: () => catalog.problems(),
    agentNames: () => agents.names(),
    workflowNames: () => catalog.workflows().map(({ entry }) => entry.name),
    async close() {
      await engine.close();
      await doorbell?.close();
    },
  };
}

// --- internal ---

function declaredSchedules(catalog: Catalog): DeclaredSchedules[] {
  return catalog.workflows().map(({ entry, definition }) => ({ name: entry.name, schedules: definition?.schedules }));
}

function toRouteEntry({ route, summary }: { route: string; summary: string }): RouteEntry {
  return { ...splitRoute(route), summary };
}
