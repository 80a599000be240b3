import type { H3 } from 'h3';
import type { Activity } from '../activity/activity.ts';
import { createThreads } from '../agents/threads/threads.ts';
import type { Approval } from '../approvals/approval.ts';
import { decideApproval } from '../approvals/operations.ts';
import type { Caller } from '../auth/caller.ts';
import { mountRegistration, REGISTRATION_ROUTES } from '../auth/registration.ts';
import { CHATS_PER_CALLER, createStreamLimits, withLimits } from '../auth/stream-limits.ts';
import { CONNECT_ROUTES, mountConnect } from '../connections/routes.ts';
import { atMost } from '../engine/at-most.ts';
import { contractPayload } from '../health/contract.ts';
import { HEALTH_ROUTES, mountHealth } from '../health/routes.ts';
import { mountWebhooks, WEBHOOK_PREFIX, WEBHOOK_ROUTES } from '../hooks/routes.ts';
import { createApp, mountFallback } from '../http/app.ts';
import type { Answered, RouteEntry } from '../http/app.ts';
import type { Log } from '../log.ts';
import { REQUEST_EVENT } from '../logs/lifecycle.ts';
import { DOCS_ROUTES, mountDocs } from '../openapi/docs.ts';
import { mountOpenApi, OPENAPI_ROUTE } from '../openapi/route.ts';
import { INBOUND_ROUTES, mountInbound } from '../triggers/routes.ts';
import { INBOUND_PREFIX } from '../triggers/triggers.ts';
import { cancelRun } from '../runs/control-operations.ts';
import { mountRoot, ROOT_ROUTE } from '../http/root.ts';
import { MCP_ERRORS, MCP_ROUTES, mountMcp } from '../mcp/routes.ts';
import { splitRoute } from '../operations/define.ts';
import { mountOperations } from '../surface/http.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { OPERATIONS } from '../surface/index.ts';
import { METRICS_ROUTE, mountMetrics } from '../telemetry/routes.ts';
import { AGUI_ERRORS } from '../wires/agui/error.ts';
import { AGUI_ROUTES, mountAgui } from '../wires/agui/routes.ts';
import { WIRE_A_ERRORS } from '../wires/chat-completions/error.ts';
import { mountWireA, WIRE_A_ROUTES } from '../wires/chat-completions/routes.ts';
import { mountWireB, WIRE_B_ROUTES } from '../wires/messages/routes.ts';
import { WIRE_B_ERRORS } from '../wires/messages/error.ts';
import { mountUiMessages, UI_ROUTES } from '../wires/ui-messages/routes.ts';
import { createThinkingSigner } from '../wires/thinking-signature.ts';
import { CHAT_ROUTES, mountWorkflowChat } from '../workflows/chat.ts';
import { RunCancelledError } from '../engine/errors.ts';
import type { Foundation } from './foundation.ts';
import type { BoxOptions } from './options.ts';
import type { Built } from './rooms.ts';

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
  ...UI_ROUTES,
  ...CHAT_ROUTES,
  ...MCP_ROUTES,
  ...WEBHOOK_ROUTES,
  ...CONNECT_ROUTES,
  ...INBOUND_ROUTES,
];

/** What those look for who know the format by its name. */
const WIRE_ALIASES = { '/openai/v1': '/wire-a/v1', '/anthropic': '/wire-b' };
const ERROR_SHAPES = [WIRE_A_ERRORS, WIRE_B_ERRORS, AGUI_ERRORS, MCP_ERRORS];

/** The app with every route of the box. */
export async function createRoutes(
  foundation: Foundation,
  { rooms, agents, auth, watch, sessionStore, confirmations, turnFiles }: Built,
): Promise<H3> {
  const { options, engine, log, telemetry, telemetrySettings, closer } = foundation;
  const { journal } = options;
  const { authorize } = auth;
  const startedAt = engine.clock.now();
  const app = createApp({
    ...options,
    log,
    onAnswer:
      log.writes?.('debug') === true
        ? (answered) => {
            telemetry.answered(answered);
            logAnswer(log, answered);
          }
        : telemetry.answered,
    onRefusal: rooms.security.refused,
    onStream: telemetry.enterStream,
    // A client of a box that has just begun waits for its agents, rather than being refused for want of a provider.
    untilReady(path) {
      const looking = rooms.gate.looking();
      return looking && ASKS_PROGRAM.test(path) ? atMost(options.firstLookMs ?? FIRST_LOOK_MS, looking) : undefined;
    },
    anyBody: [WEBHOOK_PREFIX, INBOUND_PREFIX],
    fileRoutes: OPERATIONS.flatMap(({ route, file }) =>
      file ? { path: splitRoute(route).path, header: file.header } : [],
    ),
    errorShapes: ERROR_SHAPES,
    aliases: WIRE_ALIASES,
  });
  const routes = [...PLAIN_ROUTES, ...OPERATIONS.map(toRouteEntry)];
  const describe = createDescribe(options);
  mountRoot(app, { slug: options.slug, routes, dashboard: options.dashboard });
  mountOpenApi(app, describe);
  mountDocs(app, describe);
  mountHealth(app, rooms.health);
  mountMetrics(app, { telemetry, auth, token: telemetrySettings.metricsToken });
  mountRegistration(app, options.registration, options.db);
  const limits = createStreamLimits({ perBox: CHATS, perCaller: CHATS_PER_CALLER, what: 'chat streams' });
  const streams = withLimits(watch, limits);
  mountOperations(app, OPERATIONS, { rooms, auth, watch, streams });
  const signThinking = createThinkingSigner(options.secretKey);
  mountWireA(app, { agents, authorize, watch, streams, startedAt });
  mountWireB(app, { agents, authorize, watch, streams, signThinking, startedAt });
  const threads = createThreads({
    agents,
    approvals: rooms.approvals,
    sessions: sessionStore,
    files: turnFiles,
    log,
    async cancel(runId, caller) {
      const result = await engine.cancel(runId, new RunCancelledError('The turn was cancelled.'));
      const isCancelled = result !== undefined && result.outcome !== 'final';
      if (isCancelled) await recordStop(rooms.activity, runId, caller);
      return result?.outcome !== 'final';
    },
    onDecided: (after, caller) => recordDecision(rooms.activity, after, caller),
  });
  mountAgui(app, { agents, prompts: rooms.prompts, threads, signThinking, log, authorize, streams });
  mountUiMessages(app, { agents, threads, log, authorize, streams });
  mountWorkflowChat(app, { auth, streams, engine, journal, workflows: rooms.workflows });
  mountWebhooks(app, rooms.hooks);
  mountConnect(app, rooms.connections);
  mountInbound(app, rooms.triggers);
  await confirmations.open();
  const mcp = mountMcp(app, {
    agents,
    auth,
    log,
    rooms,
    slug: options.slug,
    catalog: rooms.operations,
    confirmations: confirmations.mcp,
    isEnabled: rooms.settings.isMcpEnabled,
    hasProgramTools: rooms.settings.hasMcpTools,
  });
  closer.add(() => mcp.close());
  mountFallback(app, routes, ERROR_SHAPES);
  return app;
}

// --- internal ---

function logAnswer(log: Log, { context, method, route, status, start, end }: Answered): void {
  const { requestId } = context;
  const durationMs = Math.round(end - start);
  // The path itself may hold what lets its holder in.
  log.debug(`${method} ${route ?? 'of no route'} was answered with ${status}.`, {
    event: REQUEST_EVENT,
    requestId,
    method,
    route,
    status,
    durationMs,
  });
}

/** Streams of chats and of runs, of all callers. */
const CHATS = 5_000;
const FIRST_LOOK_MS = 10_000;
const ASKS_PROGRAM = /^\/(?:api|wire-[ab]|agui|mcp)(?:\/|$)/;

/** As one that was made over the API. */
async function recordDecision(activity: Activity, after: Approval, caller: Caller): Promise<void> {
  const askedBy = await activity.findAsker(after.runId).catch(() => undefined);
  const target = { id: after.approvalId };
  await activity.record({ operation: decideApproval.id, caller, source: 'chat', target, askedBy, after });
}

async function recordStop(activity: Activity, runId: string, caller: Caller): Promise<void> {
  const askedBy = await activity.findAsker(runId).catch(() => undefined);
  await activity.record({ operation: cancelRun.id, caller, source: 'chat', target: { id: runId }, askedBy });
}

/** The OpenAPI document of the box, written when it is first asked for: its own address is known only then. */
function createDescribe({ slug, services }: BoxOptions): () => Promise<OpenApiDocument> {
  let document: Promise<OpenApiDocument> | undefined;
  const describe = async () => {
    const { toOpenApi } = await import('../openapi/openapi.ts');
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
