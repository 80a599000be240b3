import type { BrowserEndpoint } from '../browser/settings.ts';
import type { VariableName } from '../config.ts';
import { describeVariable, OWN_SECRETS, readVariable } from '../config.ts';
import { BoxError } from '../errors.ts';
import { LOOPBACK_PROXIES, parseProxies } from '../http/address.ts';
import type { Proxies } from '../http/address.ts';
import { DEFAULT_CORS_ORIGINS } from '../http/cors.ts';
import type { LogLevel } from '../log.ts';
import type { ProviderSettings } from '../provider/provider.ts';
import { readTelemetry } from '../telemetry/settings.ts';
import type { TelemetrySettings } from '../telemetry/settings.ts';
import { readSecretFiles } from './own-secrets.ts';
import type { BrokenFile } from './own-secrets.ts';
import { listEntries, RULES } from './rules.ts';
import type { Rule } from './rules.ts';
import { STATEMENT_TIMEOUT_S } from './server-stores.ts';

/** What the environment of a deployed box says, checked. */
export interface BoxEnvironment {
  databaseUrl: string;
  /** How long a statement of `svc.database` may take, in seconds; 0: for ever. */
  statementTimeoutS: number;
  /** How many runs a process works on at once. Undefined: as many as the engine does by itself. */
  maxRuns: number | undefined;
  kvUrl: string;
  secretKey: string;
  /** The key before it, while what it has sealed is to be wrapped again. */
  previousSecretKey: string | undefined;
  port: number;
  logLevel: LogLevel | 'silent';
  provider: ProviderSettings | undefined;
  browser: BrowserEndpoint | undefined;
  storage: StorageSettings | undefined;
  /** Without a slash at the end. */
  publicUrl: string | undefined;
  corsOrigins: readonly string[];
  telemetry: TelemetrySettings;
  defaultModel: string | undefined;
  privateEgress: string[];
  proxies: Proxies;
  orgSlug: string;
  identity: GivenIdentity;
  /** Selects the gate: whoever presents it is the operator, and identity tokens are refused. */
  standaloneToken: string | undefined;
  /** Whose identity tokens are trusted otherwise, without a slash at the end. */
  controlPlaneUrl: string;
  /** No credential is asked for, and only this machine may connect. */
  insecureLocal: boolean;
  /** All of it, with what lies in files: what is masked is found here. */
  variables: NodeJS.ProcessEnv;
}

/** An S3 backend. */
export interface StorageSettings {
  endpoint: string;
  /** Undefined: the agent's slug. */
  bucket: string | undefined;
  region: string;
  accessKey: string;
  secretKey: string;
  forcePathStyle: boolean;
}

/** The parts of the identity that are not left to the box. */
export interface GivenIdentity {
  installationId?: string | undefined;
  hmacSecret?: string | undefined;
  agentId?: string | undefined;
  workspaceId?: string | undefined;
}

/** One variable that keeps the box from starting. */
export interface BrokenVariable {
  name: VariableName;
  /** A sentence: what is wrong. */
  problem: string;
  purpose: string;
  /** A command that prints a usable value. */
  make: string;
}

/** Throws `environment_invalid` with every variable that is missing or broken, never the first alone. */
export function readEnvironment(given: NodeJS.ProcessEnv): BoxEnvironment {
  const { variables: env, broken: files } = readSecretFiles(given);
  const broken = listBroken(env, files);
  if (broken.length > 0) throw environmentInvalid(broken);
  const read = (name: VariableName) => readVariable(env, name);
  const origins = read('SVC_CORS_ALLOW_ORIGINS');
  return {
    databaseUrl: read('DATABASE_URL') ?? '',
    statementTimeoutS: readStatementTimeout(env),
    maxRuns: readMaxRuns(env),
    kvUrl: read('WORKFLOW_KV_URL') ?? '',
    secretKey: read('SVC_SECRET_KEY') ?? '',
    previousSecretKey: read('SVC_SECRET_KEY_PREVIOUS'),
    port: Number(read('PORT') ?? DEFAULT_PORT),
    logLevel: (read('SVC_LOG_LEVEL') ?? 'info') as LogLevel,
    provider: readProvider(env),
    browser: readBrowser(env),
    storage: readStorageSettings(env),
    publicUrl: read('SVC_PUBLIC_URL')?.replace(/\/$/, ''),
    telemetry: readTelemetry(env),
    corsOrigins: origins === undefined ? DEFAULT_CORS_ORIGINS : listEntries(origins),
    defaultModel: read('SVC_DEFAULT_MODEL'),
    privateEgress: listEntries(read('SVC_ALLOW_PRIVATE_EGRESS') ?? ''),
    proxies: parseProxies(listEntries(read('SVC_TRUSTED_PROXIES') ?? '')) ?? LOOPBACK_PROXIES,
    orgSlug: read('SVC_ORG_SLUG') ?? 'default',
    identity: {
      installationId: read('SVC_INSTALLATION_ID')?.toLowerCase(),
      hmacSecret: read('HMAC_SECRET'),
      agentId: read('AGENT_ID'),
      workspaceId: read('WORKSPACE_ID'),
    },
    standaloneToken: read('STUDIO_STANDALONE_TOKEN'),
    controlPlaneUrl: (read('SVC_CONTROL_PLANE_URL') ?? HOSTED_CONTROL_PLANE).replace(/\/+$/, ''),
    insecureLocal: read('SVC_INSECURE_LOCAL') !== undefined,
    variables: env,
  };
}

/** In seconds. */
export function readStatementTimeout(env: NodeJS.ProcessEnv): number {
  return Number(readVariable(env, 'SVC_STATEMENT_TIMEOUT') ?? STATEMENT_TIMEOUT_S);
}

/** How many runs a process works on at once. Undefined: as many as the engine does by itself. */
export function readMaxRuns(env: NodeJS.ProcessEnv): number | undefined {
  const text = readVariable(env, 'SVC_MAX_RUNS');
  return text === undefined ? undefined : Number(text);
}

/** What a person reads who has to put it right. */
export function formatBroken(broken: readonly BrokenVariable[]): string {
  const count = broken.length === 1 ? 'an environment variable is' : `${broken.length} environment variables are`;
  const entries = broken.map(({ problem, purpose, make }) => `  ${problem}\n    ${purpose}\n    Make one: ${make}`);
  return [`The box does not start: ${count} missing or broken.`, ...entries].join('\n\n');
}

/** The first of the variables of object storage that is missing or broken; undefined: none is. */
export function findBrokenStorage(env: NodeJS.ProcessEnv): BrokenVariable | undefined {
  return listBroken(env).find(({ name }) => STORAGE.includes(name));
}

/** Undefined: there is none. */
export function readStorageSettings(env: NodeJS.ProcessEnv): StorageSettings | undefined {
  const endpoint = readVariable(env, 'SVC_S3_ENDPOINT');
  if (endpoint === undefined) return undefined;
  return {
    endpoint: endpoint.replace(/\/$/, ''),
    bucket: readVariable(env, 'SVC_S3_BUCKET'),
    region: readVariable(env, 'SVC_S3_REGION') ?? 'us-east-1',
    accessKey: readVariable(env, 'SVC_S3_ACCESS_KEY') ?? '',
    secretKey: readVariable(env, 'SVC_S3_SECRET_KEY') ?? '',
    forcePathStyle: readVariable(env, 'SVC_S3_FORCE_PATH_STYLE') !== 'false',
  };
}

// --- internal ---

const DEFAULT_PORT = '8080';
const HOSTED_CONTROL_PLANE = 'https://studio.svc.example';

/** One of these asks for the others that make an S3 backend. */
const STORAGE: VariableName[] = [
  'SVC_S3_ENDPOINT',
  'SVC_S3_ACCESS_KEY',
  'SVC_S3_SECRET_KEY',
  'SVC_S3_BUCKET',
  'SVC_S3_REGION',
  'SVC_S3_FORCE_PATH_STYLE',
];
const STORAGE_NEEDS: VariableName[] = ['SVC_S3_ENDPOINT', 'SVC_S3_ACCESS_KEY', 'SVC_S3_SECRET_KEY'];

function listBroken(env: NodeJS.ProcessEnv, files: readonly BrokenFile[] = []): BrokenVariable[] {
  const names = [...new Set([...(Object.keys(RULES) as VariableName[]), ...STORAGE, ...OWN_SECRETS])];
  return names.flatMap((name) => {
    const file = files.find((one) => one.name === name);
    const reason = file ? undefined : explain(env, name);
    if (!file && reason === undefined) return [];
    const { purpose, make = '' } = describeVariable(name);
    return [{ name, problem: file ? `${name}_FILE ${file.reason}.` : `${name} ${reason}.`, purpose, make }];
  });
}

function explain(env: NodeJS.ProcessEnv, name: VariableName): string | undefined {
  const rule = (RULES as Partial<Record<VariableName, Rule>>)[name];
  const value = readVariable(env, name);
  if (value !== undefined) return rule?.explain(value);
  if (rule?.required) return 'is missing';
  const isSet = (other: VariableName) => readVariable(env, other) !== undefined;
  const first = STORAGE.find(isSet);
  if (first && STORAGE_NEEDS.includes(name)) return `is missing, and ${first} is set`;
  if (name === 'MODEL_PROVIDER_BASE_URL' && isSet('MODEL_PROVIDER_API_KEY'))
    return 'is missing, and MODEL_PROVIDER_API_KEY is set';
  if (name === 'SVC_BROWSER_URL' && isSet('SVC_BROWSER_KEY')) return 'is missing, and SVC_BROWSER_KEY is set';
  return undefined;
}

function readProvider(env: NodeJS.ProcessEnv): ProviderSettings | undefined {
  const baseUrl = readVariable(env, 'MODEL_PROVIDER_BASE_URL');
  const apiKey = readVariable(env, 'MODEL_PROVIDER_API_KEY');
  return baseUrl === undefined ? undefined : { baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
}

/** The browser the environment names; undefined: none. */
export function readBrowser(env: NodeJS.ProcessEnv): BrowserEndpoint | undefined {
  const url = readVariable(env, 'SVC_BROWSER_URL');
  const apiKey = readVariable(env, 'SVC_BROWSER_KEY');
  return url === undefined ? undefined : { url, ...(apiKey === undefined ? {} : { apiKey }) };
}

function environmentInvalid(broken: BrokenVariable[]): BoxError {
  return new BoxError('environment_invalid', formatBroken(broken), { details: { variables: broken } });
}
