import { toAddress } from '../browser/settings.ts';
import { isApiKey } from '../auth/credential.ts';
import type { VariableName } from '../config.ts';
import { parseProxies } from '../http/address.ts';
import { isOriginEntry } from '../http/cors.ts';
import { isMasterKey } from '../secrets/master-key.ts';
import { SAMPLERS } from '../telemetry/sampler.ts';
import { EXPORTERS, findPairs, PROTOCOLS } from '../telemetry/settings.ts';

/** What a deployed box asks of a variable. */
export interface Rule {
  /** It does not start without. */
  required?: true;
  /** What is wrong with a value, as the end of a sentence that begins with the name; undefined: nothing. */
  explain(value: string): string | undefined;
}

const WEB = ['http:', 'https:'];
/** The value is not repeated: a header may be a credential. */
const PAIRS_REASON = 'is no list of name=value pairs with commas between';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Part of keys in shared stores, where ":" and "*" mean something. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const NAME_REASON = 'is not 1 to 128 letters, digits, ".", "_" or "-", beginning with a letter or digit';

/** What traces and metrics ask of a variable, wherever the box runs. */
export const TELEMETRY_RULES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: { explain: (value) => explainAddress(value, WEB) },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { explain: (value) => explainAddress(value, WEB) },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: { explain: (value) => explainAddress(value, WEB) },
  OTEL_EXPORTER_OTLP_HEADERS: { explain: (value) => unless(findPairs(value) !== undefined, PAIRS_REASON) },
  OTEL_EXPORTER_OTLP_PROTOCOL: { explain: (value) => explainChoice(value, PROTOCOLS) },
  OTEL_TRACES_EXPORTER: { explain: (value) => explainChoice(value, EXPORTERS) },
  OTEL_METRICS_EXPORTER: { explain: (value) => explainChoice(value, EXPORTERS) },
  OTEL_METRIC_EXPORT_INTERVAL: {
    explain: (value) =>
      unless(/^[1-9]\d{2,8}$/.test(value), `is "${value}", which is no number of milliseconds from 100`),
  },
  OTEL_RESOURCE_ATTRIBUTES: { explain: (value) => unless(findPairs(value) !== undefined, PAIRS_REASON) },
  OTEL_TRACES_SAMPLER: { explain: (value) => explainChoice(value, SAMPLERS) },
  OTEL_TRACES_SAMPLER_ARG: {
    explain: (value) =>
      unless(Number(value) >= 0 && Number(value) <= 1, `is "${value}", which is no number from 0 to 1`),
  },
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: { explain: explainBoolean },
  OTEL_SDK_DISABLED: { explain: explainBoolean },
} as const satisfies Partial<Record<VariableName, Rule>>;

/** What the statements of a server are asked to keep to, wherever the box runs. */
export const STATEMENT_TIMEOUT_RULE: Rule = {
  explain: (value) => unless(/^\d{1,6}$/.test(value), `is "${value}", which is no number of seconds up to 999999`),
};

/** How many runs a process may have under way, wherever the box runs. */
export const MAX_RUNS_RULE: Rule = {
  explain: (value) => unless(/^[1-9]\d{0,4}$/.test(value), `is "${value}", which is no whole number from 1 to 99999`),
};

/** Where a browser is reached, wherever the box runs. */
export const BROWSER_RULE: Rule = { explain: explainBrowser };

/** Where the model provider is, wherever the box runs. */
export const PROVIDER_RULE: Rule = { explain: (value) => explainAddress(value, WEB) ?? explainCredentials(value) };

/**
 * The rules of a deployed box, in the order they are reported. A value is repeated only where it is no secret and holds
 * none: an address may carry a password.
 */
export const RULES = {
  DATABASE_URL: { required: true, explain: (value) => explainAddress(value, ['postgres:', 'postgresql:']) },
  SVC_STATEMENT_TIMEOUT: STATEMENT_TIMEOUT_RULE,
  SVC_MAX_RUNS: MAX_RUNS_RULE,
  WORKFLOW_KV_URL: { required: true, explain: explainRedis },
  SVC_SECRET_KEY: { required: true, explain: (value) => unless(isMasterKey(value), 'is not 32 bytes in base64') },
  SVC_SECRET_KEY_PREVIOUS: { explain: (value) => unless(isMasterKey(value), 'is not 32 bytes in base64') },
  PORT: { explain: (value) => unless(isPort(value), `is "${value}", which is no whole number from 1 to 65535`) },
  MODEL_PROVIDER_BASE_URL: PROVIDER_RULE,
  SVC_BROWSER_URL: BROWSER_RULE,
  SVC_S3_ENDPOINT: { explain: explainOrigin },
  SVC_S3_BUCKET: { explain: (value) => unless(BUCKET.test(value), `is "${value}", which is no name of a bucket`) },
  SVC_S3_FORCE_PATH_STYLE: { explain: (value) => explainChoice(value, ['true', 'false']) },
  SVC_PUBLIC_URL: { explain: explainOrigin },
  SVC_CORS_ALLOW_ORIGINS: { explain: explainOrigins },
  SVC_TRUSTED_PROXIES: {
    explain: (value) =>
      unless(
        parseProxies(listEntries(value)) !== undefined,
        `is "${value}", which is no list of addresses and networks`,
      ),
  },
  SVC_INSTALLATION_ID: { explain: (value) => unless(UUID.test(value), `is "${value}", which is no UUID`) },
  AGENT_ID: { explain: (value) => unless(NAME.test(value), NAME_REASON) },
  WORKSPACE_ID: { explain: (value) => unless(NAME.test(value), NAME_REASON) },
  SVC_ORG_SLUG: { explain: (value) => unless(NAME.test(value), NAME_REASON) },
  SVC_LOG_LEVEL: { explain: (value) => explainChoice(value, ['debug', 'info', 'warn', 'error', 'silent']) },
  HMAC_SECRET: { explain: explainGuessable },
  SVC_METRICS_TOKEN: { explain: explainGuessable },
  STUDIO_STANDALONE_TOKEN: {
    explain: (value) =>
      explainGuessable(value) ??
      unless(/^[!-~]+$/.test(value), 'has a character that no header carries, such as a space') ??
      unless(!isApiKey(value), 'begins like an API key, with "svc_", and would be taken for one'),
  },
  SVC_CONTROL_PLANE_URL: { explain: (value) => explainBase(value) ?? explainPlain(value) },
  SVC_INSECURE_LOCAL: { explain: (value) => explainChoice(value, ['1']) },
  ...TELEMETRY_RULES,
} as const satisfies Partial<Record<VariableName, Rule>>;

// --- internal ---

function unless(isGood: boolean, reason: string): string | undefined {
  return isGood ? undefined : reason;
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

function explainBoolean(value: string): string | undefined {
  return explainChoice(value.toLowerCase(), ['true', 'false']);
}

function explainChoice(value: string, choices: readonly string[]): string | undefined {
  const words = choices.map((choice) => `"${choice}"`).join(', ');
  return unless(choices.includes(value), `is "${value}"; it must be ${choices.length > 1 ? 'one of ' : ''}${words}`);
}

function explainAddress(value: string, protocols: string[]): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const schemes = protocols.map((protocol) => `${protocol}//`).join(' or ');
  if (!url || !protocols.includes(url.protocol)) return `is not an address that begins with ${schemes}`;
  return unless(url.hostname !== '' || url.searchParams.has('host'), 'names no host');
}

function explainBrowser(value: string): string | undefined {
  try {
    toAddress({ url: value });
    return undefined;
  } catch {
    return 'is no address that begins with ws://, wss://, http:// or https://, without credentials, and {key} not in its host';
  }
}

function explainRedis(value: string): string | undefined {
  const reason = explainAddress(value, ['redis:', 'rediss:']);
  return reason ?? unless(/^\/?\d*$/.test(new URL(value).pathname), 'names a database that is no number');
}

function explainCredentials(value: string): string | undefined {
  const { username, password } = new URL(value);
  return unless(username === '' && password === '', 'carries credentials');
}

/** An origin and nothing more: what is behind it is added by whoever uses it. */
function explainOrigin(value: string): string | undefined {
  const reason = explainAddress(value, WEB) ?? explainCredentials(value);
  if (reason) return reason;
  const { pathname, search, hash } = new URL(value);
  return unless(pathname === '/' && search === '' && hash === '', 'has a path, a query or a fragment');
}

/** An address other addresses are made of. */
function explainBase(value: string): string | undefined {
  const reason = explainAddress(value, WEB) ?? explainCredentials(value);
  if (reason) return reason;
  const { search, hash } = new URL(value);
  return unless(search === '' && hash === '', 'has a query or a fragment');
}

/** Whoever stands between could answer with keys of their own, and be let in as the owner. */
function explainPlain(value: string): string | undefined {
  const { protocol, hostname } = new URL(value);
  const isSafe = protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
  return unless(isSafe, 'begins with http://, which is taken of this machine alone; it must begin with https://');
}

function explainOrigins(value: string): string | undefined {
  const wrong = listEntries(value).find((entry) => !isOriginEntry(entry));
  return unless(wrong === undefined, `has the entry "${wrong}", which is no origin: scheme and host, without a path`);
}

/** Whoever guesses it is let in. */
function explainGuessable(value: string): string | undefined {
  return unless(
    value.length >= SHORTEST_SECRET,
    `has ${value.length} characters, and less than ${SHORTEST_SECRET} can be guessed`,
  );
}

const SHORTEST_SECRET = 16;

/** The entries of a comma-separated list. */
export function listEntries(value: string): string[] {
  return value.split(',').flatMap((entry) => entry.trim() || []);
}
