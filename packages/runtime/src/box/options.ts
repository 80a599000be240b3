import type { ModelPrices } from '../limits/prices.ts';
import type { CallModel } from '../agents/model/client.ts';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { CallRerank } from '../agents/model/rerank.ts';
import type { BrowserEndpoint } from '../browser/settings.ts';
import type { Registration } from '../auth/registration.ts';
import type { Strategy } from '../auth/strategy.ts';
import type { UsersProvider } from '../auth/user-tokens.ts';
import type { EngineOptions } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { Probe, ServicesInfo } from '../health/health.ts';
import type { Log, RootLog } from '../log.ts';
import type { Mask } from '../mask.ts';
import type { Program } from '../manifest.ts';
import type { LogQueueLimits } from '../logs/queue.ts';
import type { NotifyReceiver } from '../notify/config.ts';
import type { NotifyLimits } from '../notify/limits.ts';
import type { MemoryLimits } from '../memory/embedding.ts';
import type { RagLimits } from '../rag/rag.ts';
import type { RetentionOptions } from '../retention/retention.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import type { Proxies } from '../http/address.ts';
import type { TunnelAccess } from '../http/app.ts';
import type { ProviderSettings, ProviderStore } from '../provider/provider.ts';
import type { StoppedRun } from '../runs/stopped.ts';
import type { MasterKey } from '../secrets/seal.ts';
import type { BoxStorage } from '../storage/storage.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { ReadableStore } from '../stores/reading/readable.ts';
import type { TriggerLimits } from '../triggers/limits.ts';
import type { TelemetrySettings } from '../telemetry/settings.ts';
import type { KeyValueStore } from '../stores/kv.ts';

export interface BoxOptions {
  host: 'dev' | 'image';
  /** No code is kept, and every open run goes on by the newest: for tests, whose code is what they have imported. */
  isNewestForAll?: boolean;
  /** Who may call. Default: anyone in dev, API keys alone in an image. */
  strategy?: Strategy;
  /** Who signs tokens of end users, besides the API keys. Default: none. */
  users?(): UsersProvider | undefined;
  /** What is stored as a secret, to be hidden in what leaves the box. Default: the key of the provider alone. */
  secretValues?(): Promise<string[]>;
  /** What a control plane registers this box by. Undefined: it is not registered anywhere. */
  registration?: Registration;
  /** The agent's slug, from `svc.json`. */
  slug: string;
  /** The path where the host serves a dashboard, for the page of the routes to link. Default: none. */
  dashboard?: string;
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
  /** How many runs it has at once; shorter leases and the like, for tests. Default: the engine's own. */
  engine?: Pick<
    EngineOptions,
    'leaseMs' | 'sweepMs' | 'pollMs' | 'drainMs' | 'maxLive' | 'limits' | 'clock' | 'around'
  >;
  /** Begins a process for runs that may have killed theirs. Default: they go on in this one. */
  isolate?: EngineOptions['isolate'];
  /** This process was begun for such runs, by that one: it takes those it is given, and nothing calls it. */
  supervisor?: EngineOptions['supervisor'];
  /** Instead of the provider, for tests. */
  callModel?: CallModel;
  callEmbeddings?: CallEmbeddings;
  callRerank?: CallRerank;
  /** What replicas publish over. Undefined: they find out by looking in the journal. */
  kv?: KeyValueStore;
  provider: { environment: ProviderSettings | undefined; store: ProviderStore; egress: EgressPolicy };
  /** Who may say in `X-Forwarded-For` for whom it asks. Default: what runs on this machine. */
  proxies?: Proxies;
  /** The relational store: sessions, keys. */
  db: Drizzle;
  /** What statements of people are read over. Undefined: there are no database queries. */
  readable?: ReadableStore;
  /** The browser that the environment names. Undefined: the one that is stored, if any. */
  browser?: BrowserEndpoint | undefined;
  /** Where `svc.storage` keeps objects. Undefined: nowhere. */
  storage?: BoxStorage | undefined;
  /** True while nothing has been written to the relational store: what is looked for there is not asked for. */
  isBlank?(): boolean;
  /** What the box signs and seals with. Undefined: a key made for this process. */
  secretKey?: MasterKey;
  /** The key before it, while what is sealed with that one is sealed again. */
  previousSecretKey?: MasterKey | undefined;
  /** The model of agents that name none, as the code says. What is set over the API wins over it. */
  defaultModel(): string | undefined;
  /** The same of the environment, which wins over both. */
  environmentModel?(): string | undefined;
  /** What models cost, as the code says. Default: nothing is known of it. */
  prices?(): ModelPrices;
  /** The model of `svc.ai.embed` where a call names none, as the code says. */
  embeddingModel?(): string | undefined;
  /** The model that re-orders what searches of collections find that have none of their own, as the code says. */
  rerankModel?(): string | undefined;
  /** Dev only: false while the database is being opened. Until then what the code says is in force. */
  isDatabaseOpen?(): boolean;
  /** How long what is over is kept. Default: for ever. */
  retention?(): RetentionOptions;
  /** Milliseconds between two looks for what is too old. */
  retentionEveryMs?: number;
  /** Who is notified of runs that stop, over HTTP. Default: none. */
  notify?(): readonly NotifyReceiver[] | undefined;
  /** How they are notified, for tests. */
  notifyLimits?: Partial<NotifyLimits>;
  /** What senders to triggers, and their deliveries, are held to. Default: `TRIGGER_LIMITS`. */
  triggerLimits?: Partial<TriggerLimits>;
  /** Called with each run that fails or is blocked, for a person who watches. Default: the log says it. */
  onStopped?(run: StoppedRun): void;
  /** Milliseconds that a request to a box that has just begun waits for it. Default: 10 s; less for tests. */
  firstLookMs?: number;
  /** How what agents remember is embedded, for tests. */
  memory?: Partial<MemoryLimits>;
  /** How documents of collections are embedded, and searches reranked, for tests. */
  rag?: Partial<RagLimits>;
  /** Loads agents and workflows; called when the gate opens. */
  loadProgram(): Promise<Program>;
  probes: Record<string, Probe>;
  services(): ServicesInfo;
  /** Dev only: which Host names may call. */
  isAllowedHost?: (host: string) => boolean;
  /** Dev only: what comes through the tunnel, which a deployed box would let in. Default: nothing does. */
  tunnel?: TunnelAccess & { strategy: Strategy };
  /** Whether agents and workflows are tools of their own at `/mcp`. Default: no. */
  mcpTools?: () => boolean;
  /** Origins whose pages may call, as they are in force at a request. Default: `DEFAULT_CORS_ORIGINS`. */
  corsOrigins?: () => readonly string[];
}
