import type { RetryTurn } from '../agents/turn-retries.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { currentMark } from '../engine/context.ts';
import type { Gate } from '../gate/gate.ts';
import { contractPayload } from '../health/contract.ts';
import type { Probe } from '../health/health.ts';
import { toWebhookUrl } from '../hooks/routes.ts';
import { listSecretValues } from '../secret-variables.ts';
import { newMasterKey } from '../secrets/master-key.ts';
import { withMarks } from '../stores/drizzle.ts';
import { ensureInstallation } from '../stores/installation.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { OPERATIONS } from '../surface/index.ts';
import { listReadersOf, mayReadChangesOf } from '../surface/readable.ts';
import type { Foundation } from './foundation.ts';
import type { BoxOptions } from './options.ts';

/** What rooms and parts are given beside each other: what the host hands in, with its defaults, and the foundation. */
export type Ground = ReturnType<typeof createGround>;

/** What of it is asked for once all are made. */
export interface Asked {
  catalog: Catalog;
  gate: Gate;
  agents: { retryTurn: RetryTurn };
}

export function createGround(foundation: Foundation, asked: () => Asked) {
  const { options, engine, limiter, log, telemetry, deleteRun } = foundation;
  const { journal, kv } = options;
  const db = withMarks(options.db, currentMark);
  const url = () => options.services().agent.url;
  return {
    foundation,
    options,
    engine,
    limiter,
    log,
    telemetry,
    deleteRun,
    db,
    journal,
    kv,
    isBlank: options.isBlank ?? (() => false),
    isOpen: options.isDatabaseOpen ?? (() => true),
    loadProgram: options.loadProgram,
    environmentModel: options.environmentModel ?? noModel,
    codeModel: options.defaultModel,
    embeddingModel: options.embeddingModel ?? noModel,
    rerankModel: options.rerankModel ?? noModel,
    codeMcpTools: options.mcpTools ?? (() => false),
    masterKey: options.secretKey ?? newMasterKey(),
    installation: async () => (await ensureInstallation(options.db)).id,
    url,
    webhookUrl: (token: string) => toWebhookUrl(url(), token),
    version: contractPayload().build.version,
    probes: toProbes(options, asked),
    listSecretTexts: () => listSecretTexts(options),
    mayReadChangesOf,
    listReadersOf,
    allOperations: OPERATIONS,
    retryTurn: ((retry) => asked().agents.retryTurn(retry)) satisfies RetryTurn,
  };
}

// --- internal ---

const noModel = (): undefined => undefined;

function toProbes({ host, kv, probes }: BoxOptions, asked: () => Asked): Record<string, Probe> {
  return {
    ...probes,
    ...(kv ? { kv: () => probeKv(kv) } : {}),
    ...(host === 'image' ? { provider: async () => noteHeldBack(asked()) } : {}),
  };
}

/** A box without a model provider does all that needs none. */
function noteHeldBack({ gate, catalog }: Asked): string | undefined {
  if (gate.state().open || catalog.agents().length === 0) return undefined;
  return 'No model provider is set, so agents are held back. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.';
}

async function probeKv(kv: KeyValueStore): Promise<string | undefined> {
  await kv.ping();
  return kv.findWarning();
}

/** All that must not leave the box in a document. */
async function listSecretTexts({ provider, secretKey, secretValues }: BoxOptions): Promise<string[]> {
  const [stored, settings] = await Promise.all([secretValues?.() ?? [], provider.store.read()]);
  const keys = [provider.environment?.apiKey, settings?.apiKey, secretKey?.key.export().toString('base64')];
  return [...listSecretValues(process.env), ...stored, ...keys.filter((key) => key !== undefined)];
}
