import { createActivity } from '../activity/activity.ts';
import { createAskerFinder } from '../activity/asker.ts';
import { createAgents } from '../agents/agents.ts';
import type { Agents } from '../agents/agents.ts';
import { createAi } from '../ai/ai.ts';
import { createApiKeys } from '../keys/api-keys.ts';
import { createUserSecrets } from '../keys/user-secrets.ts';
import { createAuth } from '../auth/auth.ts';
import { createSecurityLog } from '../auth/security-log.ts';
import { createCredentialWatch } from '../auth/credential-watch.ts';
import type { CredentialWatch } from '../auth/credential-watch.ts';
import { createKeySet } from '../auth/key-set.ts';
import { createUserTokens } from '../auth/user-tokens.ts';
import { KEYS_ONLY, OPEN } from '../auth/strategy.ts';
import { createApprovals } from '../approvals/approvals.ts';
import { createCatalogEntries } from '../catalog/entries.ts';
import { readUserId, readWho, toLimitedUser, whoOfAgent } from '../limits/limits.ts';
import type { Limited } from '../limits/limits.ts';
import { createCountingKv } from '../stores/kv-counting.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { contractPayload } from '../health/contract.ts';
import type { Gate } from '../gate/gate.ts';
import { createHealth } from '../health/health.ts';
import { createHooks } from '../hooks/hooks.ts';
import { createHookSignals } from '../hooks/signal.ts';
import { toWebhookUrl } from '../hooks/routes.ts';
import { createOperationCatalog } from '../surface/catalog.ts';
import { OPERATIONS } from '../surface/index.ts';
import { mayReadChangesOf } from '../surface/readable.ts';
import { createDeliveries } from '../notify/deliveries.ts';
import { createNotify } from '../notify/notify.ts';
import { createRetention } from '../retention/retention.ts';
import { createPublishedInstructions } from '../prompts/instructions.ts';
import { createPrompts } from '../prompts/prompts.ts';
import { createModels } from '../provider/models.ts';
import type { Rooms } from '../surface/rooms.ts';
import { createRunExports } from '../runs/export.ts';
import { createRuns } from '../runs/runs.ts';
import { createRunWhy } from '../runs/why.ts';
import { listSecretValues } from '../secret-variables.ts';
import { createSessionHistory } from '../sessions/history.ts';
import { createSessions } from '../sessions/sessions.ts';
import { newMasterKey } from '../secrets/master-key.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { createSettings } from '../settings/settings.ts';
import { createSetup } from '../settings/setup.ts';
import { createCatalogOverrides } from '../catalog/stored-overrides.ts';
import { createUsage } from '../usage/usage.ts';
import { ensureInstallation } from '../stores/installation.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { cleanupOf, workflowBody } from '../workflows/workflows.ts';
import type { Auth } from '../auth/auth.ts';
import type { SessionStore } from '../agents/turn/session-store.ts';
import type { Foundation } from './foundation.ts';
import { createOpening } from './opening.ts';
import type { BoxOptions } from './options.ts';
import { createProgram } from './program.ts';
import type { LoadedProgram } from './program.ts';

/** The rooms that operations are handed, and what routes and hosts need besides. */
export interface Built {
  rooms: Rooms;
  agents: Agents;
  auth: Auth;
  watch: CredentialWatch;
  sessions: SessionStore;
  program: LoadedProgram;
}

/** Builds every room. One that holds something open registers how it is closed; what was made last is closed first. */
export function createRooms(foundation: Foundation): Built {
  const { options, closer, engine, events, limiter, log, logs, telemetry, deleteRun, deleteRuns } = foundation;
  const { db, journal, kv, isBlank = () => false } = options;
  const live = { db, kv, ...(options.isDatabaseOpen ? { isOpen: options.isDatabaseOpen } : {}) };

  const program = createProgram(foundation);
  const { catalog, workflows } = program;
  const prompts = createPrompts({ db, kv, isBlank });
  closer.add(() => prompts.close());
  const overrides = createCatalogOverrides(live);
  closer.add(() => overrides.close());
  const settings = createSettings({
    ...live,
    environmentModel: options.environmentModel ?? noModel,
    codeModel: options.defaultModel,
    codeMcpTools: options.mcpTools ?? (() => false),
  });
  closer.add(() => settings.close());
  const { defaultModel } = settings;
  const { gate, areAgentsArmed, provider, callModel, callEmbeddings, hasCompletedRun } = createOpening(
    foundation,
    program,
  );
  const secretKey = options.secretKey ?? newMasterKey();
  const secrets = createSecrets({
    db,
    key: secretKey,
    installation: async () => (await ensureInstallation(db)).id,
    isBlank,
  });
  closer.add(() => secrets.close());
  const watch = createCredentialWatch({ requireKey: (id) => keys.requireKey(id) });
  closer.add(async () => watch.close());
  const userSecrets = createUserSecrets({ db, key: secretKey });
  const keys = createApiKeys({ db, kv, userSecrets, onChange: watch.changed });
  closer.add(() => keys.close());
  const users = createUserTokens({
    speakers: keys,
    provider: options.users ?? (() => undefined),
    openKeySet: (url) => createKeySet({ url, log, now: Date.now, of: 'the issuer of user tokens' }),
    now: Date.now,
  });
  const strategy = options.strategy ?? (options.host === 'dev' ? OPEN : KEYS_ONLY);
  const auth = createAuth({ strategy, keys, users, limiter, kv: createCountingKv(kv) });
  const models = createModels(provider);
  const sessions = createSessions(db, (sessionId, askedBy) =>
    events.publish({ type: 'session.updated', sessionId, askedBy }),
  );
  const agents = createAgents({
    catalog,
    engine,
    log,
    isArmed: areAgentsArmed,
    sessions,
    journal,
    instructions: createPublishedInstructions(prompts, log),
    defaultModel,
    limiter,
    overrides,
    callModel,
  });
  const limitedAgent = async (name: string): Promise<Limited | undefined> => {
    const loaded = catalog.findAgent(name);
    const chosen = loaded && (await overrides.find('agent', name)).limits;
    const limits = chosen ?? loaded?.definition?.agent.limits;
    return limits && { id: whoOfAgent(name), name: `The agent "${name}"`, limits };
  };
  const findLimited = async (who: string): Promise<Limited | undefined> => {
    const { kind, id } = readWho(who);
    if (kind === 'key') return keys.findLimited(id);
    if (kind === 'agent') return limitedAgent(id);
    const { client, user } = readUserId(id);
    const limits = await keys.findUserLimits(client);
    return limits && toLimitedUser(client, user, limits);
  };
  const approvals = createApprovals({ journal, engine, checkArguments: agents.checkArguments });
  const notify = createNotify({
    journal,
    approvals,
    settings: options.notify ?? (() => undefined),
    readSecret: async (name) => process.env[name] ?? secrets.read(name),
    url: () => options.services().agent.url,
    version: contractPayload().build.version,
    mask: foundation.mask,
    log,
    count: telemetry.notified,
    limits: options.notifyLimits,
  });
  closer.add(() => notify.close());
  const signals = createHookSignals({ journal, engine, log });
  closer.add(() => signals.close());
  const history = createSessionHistory({
    db,
    journal,
    deleteRun,
    approvals,
    onRemove: (sessionId, askedBy) => events.publish({ type: 'session.deleted', sessionId, askedBy }),
  });
  const rooms: Rooms = {
    activity: createActivity({ db, log, findAsker: createAskerFinder({ journal, db }), mayRead: mayReadChangesOf }),
    approvals,
    catalog,
    config: program.config,
    deliveries: createDeliveries({ journal, notify }),
    entries: createCatalogEntries({ catalog, workflows, overrides, prompts, defaultModel }),
    events,
    exports: createRunExports({
      journal,
      engine,
      secrets: () => listSecrets(options),
      url: () => options.services().agent.url,
      now: () => engine.clock.now(),
    }),
    gate,
    health: createHealth({
      ...options,
      probes: {
        ...options.probes,
        ...(kv ? { kv: () => probeKv(kv) } : {}),
        ...(options.host === 'image' ? { provider: async () => noteHeldBack(gate, catalog) } : {}),
      },
    }),
    hooks: createHooks({ journal, engine, approvals }),
    jobs: program.jobs,
    keys,
    logs,
    models,
    operations: createOperationCatalog(OPERATIONS),
    prompts,
    provider,
    runs: createRuns({
      journal,
      engine,
      deleteRun,
      webhookUrl: (token) => toWebhookUrl(options.services().agent.url, token),
    }),
    secrets,
    security: createSecurityLog({ log }),
    sessions: history,
    settings,
    signals,
    setup: createSetup({ gate, provider, models, settings, hasCompletedRun }),
    why: createRunWhy({
      journal,
      engine,
      approvals,
      gate: gate.state,
      findCodeHash: ({ kind, name }) =>
        (kind === 'agent' ? catalog.findAgent(name) : catalog.findWorkflow(name))?.definition?.codeHash,
      version: contractPayload().build.version,
    }),
    usage: createUsage(limiter),
    workflows,
  };
  const retention = createRetention({
    settings: options.retention ?? (() => ({})),
    sessions: history,
    journal,
    deleteRuns,
    logs: options.records && logs,
    logDays: options.logRetentionDays ?? settings.logRetentionDays,
    log,
    ...(options.retentionEveryMs === undefined ? {} : { everyMs: options.retentionEveryMs }),
  });
  closer.add(() => retention.close());
  closer.add(() => agents.close());
  foundation.above.set({
    findLimited,
    rooms,
    agents,
    engine,
    ai: createAi({
      callModel,
      callEmbeddings,
      defaultModel,
      embeddingModel: options.embeddingModel ?? noModel,
      limiter,
      onPart: telemetry.called,
    }),
    database: () => program.tables.database(),
    body: async (run) => (run.kind === 'agent' ? agents.body(run as RunRow) : workflowBody(catalog, run.name)),
    codes: () => catalog.codeHashes(),
    cleanupOf: (run) => cleanupOf(catalog, run),
    sweep({ isScheduled }) {
      retention.sweep();
      // A process of its own for some runs leaves that to the one that began it.
      if (!options.supervisor) {
        notify.sweep();
        signals.sweep();
      }
      return program.jobs.fireDue(isScheduled);
    },
  });
  return { rooms, agents, auth, watch, sessions, program };
}

// --- internal ---

const noModel = (): undefined => undefined;

/** A box without a model provider does all that needs none. */
function noteHeldBack(gate: Gate, catalog: Catalog): string | undefined {
  if (gate.state().open || catalog.agents().length === 0) return undefined;
  return 'No model provider is set, so agents are held back. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.';
}

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
