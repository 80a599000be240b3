import type { BoxOptions, LogLevel, StorageSettings, TelemetrySettings, VariableName } from '@svc/runtime/host';
import {
  BROWSER_RULE,
  DEFAULT_CORS_ORIGINS,
  describeVariable,
  findBrokenStorage,
  isOriginEntry,
  MAX_RUNS_RULE,
  PROVIDER_RULE,
  readBrowser,
  readMaxRuns,
  readStatementTimeout,
  readStorageSettings,
  readTelemetry,
  readVariable,
  STATEMENT_TIMEOUT_RULE,
  TELEMETRY_RULES,
} from '@svc/runtime/host';
import { usageError } from '../errors.ts';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** What is logged as JSON on stderr: SVC_LOG_LEVEL, else everything under `--verbose`, else errors. */
export function readLogLevel(env: NodeJS.ProcessEnv, verbose: boolean): LogLevel | 'silent' {
  const text = readVariable(env, 'SVC_LOG_LEVEL');
  if (text === undefined) return verbose ? 'debug' : 'error';
  const level = LEVELS.find((known) => known === text);
  if (level) return level;
  throw usageError(
    `SVC_LOG_LEVEL is "${text}"; it must be one of ${LEVELS.join(', ')}.`,
    'For example: SVC_LOG_LEVEL=debug svc dev',
  );
}

/** The provider the environment names; undefined: none. */
export function readProvider(env: NodeJS.ProcessEnv): BoxOptions['provider']['environment'] {
  const baseUrl = readVariable(env, 'MODEL_PROVIDER_BASE_URL');
  const apiKey = readVariable(env, 'MODEL_PROVIDER_API_KEY');
  if (baseUrl === undefined) return undefined;
  const reason = PROVIDER_RULE.explain(baseUrl);
  if (reason !== undefined)
    throw usageError(
      `MODEL_PROVIDER_BASE_URL ${reason}.`,
      'For example: MODEL_PROVIDER_BASE_URL=https://provider.example/v1 MODEL_PROVIDER_API_KEY=... svc dev',
    );
  return apiKey === undefined ? { baseUrl } : { baseUrl, apiKey };
}

/** The server to use instead of the embedded database; undefined: none. */
export function readDatabaseUrl(env: NodeJS.ProcessEnv): string | undefined {
  const url = readVariable(env, 'DATABASE_URL');
  if (url !== undefined)
    checkUrl('DATABASE_URL', url, ['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/name');
  return url;
}

/** How long a statement may take on that server, in seconds. */
export function readStatementSeconds(env: NodeJS.ProcessEnv): number {
  const text = readVariable(env, 'SVC_STATEMENT_TIMEOUT');
  const reason = text === undefined ? undefined : STATEMENT_TIMEOUT_RULE.explain(text);
  if (reason === undefined) return readStatementTimeout(env);
  throw usageError(`SVC_STATEMENT_TIMEOUT ${reason}.`, 'For example: SVC_STATEMENT_TIMEOUT=600');
}

/** How many runs this process works on at once; undefined: as many as it does by itself. */
export function readRoom(env: NodeJS.ProcessEnv): number | undefined {
  const text = readVariable(env, 'SVC_MAX_RUNS');
  const reason = text === undefined ? undefined : MAX_RUNS_RULE.explain(text);
  if (reason === undefined) return readMaxRuns(env);
  throw usageError(`SVC_MAX_RUNS ${reason}.`, 'For example: SVC_MAX_RUNS=200');
}

/** The browser of code and agents, as far as the environment names one; undefined: none. */
export function readBrowserSettings(env: NodeJS.ProcessEnv): BoxOptions['browser'] {
  const url = readVariable(env, 'SVC_BROWSER_URL');
  const reason = url === undefined ? undefined : BROWSER_RULE.explain(url);
  if (reason === undefined) return readBrowser(env);
  throw usageError(`SVC_BROWSER_URL ${reason}.`, 'For example: SVC_BROWSER_URL=http://127.0.0.1:9222');
}

/** The Redis that replicas share; undefined: this process is alone. */
export function readKvUrl(env: NodeJS.ProcessEnv): string | undefined {
  const url = readVariable(env, 'WORKFLOW_KV_URL');
  if (url === undefined) return undefined;
  const example = 'redis://:password@host:6379/0';
  checkUrl('WORKFLOW_KV_URL', url, ['redis:', 'rediss:'], example);
  const { hostname, pathname } = new URL(url);
  if (hostname !== '' && /^\/?\d*$/.test(pathname)) return url;
  throw usageError(
    'WORKFLOW_KV_URL names no host, or a database that is no number.',
    `For example: WORKFLOW_KV_URL=${example}`,
  );
}

/** The S3 backend to use instead of the embedded object store; undefined: none. */
export function readStorage(env: NodeJS.ProcessEnv): StorageSettings | undefined {
  const broken = findBrokenStorage(env);
  if (!broken) return readStorageSettings(env);
  throw usageError(broken.problem, `For example: ${broken.name}=$(${broken.make})`);
}

/** Origins whose pages may call the box, as far as the environment says: SVC_CORS_ALLOW_ORIGINS replaces the defaults. */
export function readCorsOrigins(env: NodeJS.ProcessEnv): readonly string[] {
  const text = readVariable(env, 'SVC_CORS_ALLOW_ORIGINS');
  if (text === undefined) return DEFAULT_CORS_ORIGINS;
  const origins = text.split(',').flatMap((entry) => entry.trim() || []);
  const wrong = origins.find((entry) => !isOriginEntry(entry));
  if (wrong === undefined) return origins;
  throw usageError(
    `SVC_CORS_ALLOW_ORIGINS has the entry "${wrong}", which is no origin: scheme and host, without a path.`,
    'For example: SVC_CORS_ALLOW_ORIGINS=https://app.example.com,http://localhost:*',
  );
}

/** Where traces and metrics go: the variables of OpenTelemetry, as a deployed box takes them. */
export function readTelemetrySettings(env: NodeJS.ProcessEnv): TelemetrySettings {
  for (const [name, { explain }] of Object.entries(TELEMETRY_RULES)) {
    const value = readVariable(env, name as VariableName);
    const reason = value === undefined ? undefined : explain(value);
    if (reason === undefined) continue;
    const { make = '' } = describeVariable(name as VariableName);
    throw usageError(`${name} ${reason}.`, `For example: ${name}=$(${make})`);
  }
  return readTelemetry(env);
}

/** What every key of this agent begins with in a store that others use too. */
export function readKeyPrefix(env: NodeJS.ProcessEnv, slug: string): string {
  return `${readVariable(env, 'SVC_ORG_SLUG') ?? 'default'}:${readVariable(env, 'AGENT_ID') ?? slug}`;
}

// --- internal ---

/** The value is not repeated: it may carry a password. */
function checkUrl(name: string, text: string, protocols: string[], example: string): void {
  if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return;
  const schemes = protocols.map((protocol) => `${protocol}//`).join(' or ');
  throw usageError(`${name} is not an address that begins with ${schemes}.`, `For example: ${name}=${example}`);
}
