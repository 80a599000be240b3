import type { BoxOptions } from '@svc/runtime/host';
import { createHostCheck, readVariable } from '@svc/runtime/host';
import { DASHBOARD_PATH } from './dashboard.ts';
import { readBrowserSettings, readCorsOrigins, readRoom, readTelemetrySettings } from './environment.ts';
import type { Host } from './host.ts';
import { createStopTalk } from './stopped.ts';
import type { DevStores } from './stores.ts';

export interface DevBoxOptions {
  env: NodeJS.ProcessEnv;
  slug: string;
  /** Whether every address is bound. */
  listen: boolean;
  log: BoxOptions['log'] & BoxOptions['records'];
  mask: BoxOptions['mask'];
  settings: DevSettings;
  stores: DevStores;
  /** Asked once the box serves: it is built while the workspace is scanned. */
  host(): Pick<Host, 'program' | 'config'>;
  url(): string;
  say(line: string): void;
}

export type DevSettings = ReturnType<typeof readSettings>;

/** What the environment says of the box itself. Throws where a value is not usable. */
export function readSettings(env: NodeJS.ProcessEnv) {
  return {
    corsOrigins: readCorsOrigins(env),
    telemetry: readTelemetrySettings(env),
    maxRuns: readRoom(env),
    browser: readBrowserSettings(env),
  };
}

export function toBoxOptions(options: DevBoxOptions): BoxOptions {
  const { env, slug, log, mask, settings, stores, host, say } = options;
  return {
    host: 'dev',
    slug,
    dashboard: DASHBOARD_PATH,
    log,
    records: log,
    telemetry: settings.telemetry,
    mask,
    journal: stores.journal,
    exclusive: stores.exclusive,
    engine: settings.maxRuns === undefined ? {} : { maxLive: settings.maxRuns },
    db: stores.db,
    readable: stores.readable,
    kv: stores.kv,
    secretKey: stores.secretKey,
    secretValues: () => stores.secretValues(),
    provider: stores.provider,
    browser: settings.browser,
    storage: stores.storage,
    environmentModel: () => readVariable(env, 'SVC_DEFAULT_MODEL'),
    defaultModel: () => host().config().model,
    embeddingModel: () => host().config().embeddingModel,
    rerankModel: () => host().config().rerankModel,
    prices: () => host().config().prices ?? {},
    isDatabaseOpen: stores.isOpen,
    retention: () => host().config().retention ?? {},
    notify: () => host().config().notify,
    users: () => host().config().users,
    loadProgram: async () => host().program(),
    probes: stores.probes,
    onStopped: createStopTalk(say),
    services: () => stores.services(options.url()),
    isAllowedHost: createHostCheck({ listen: options.listen }),
    mcpTools: () => host().config().mcp?.tools === true,
    corsOrigins: () => [...settings.corsOrigins, ...(host().config().studio?.corsOrigins ?? [])],
  };
}
