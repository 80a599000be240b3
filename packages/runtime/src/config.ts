/** One environment variable the box or its dev server reads. */
export interface Variable {
  purpose: string;
  /** A command that prints a usable value, where one can be made. */
  make?: string;
}

/** Every environment variable, in one table. */
const VARIABLES = {
  DATABASE_URL: {
    purpose:
      'The PostgreSQL server that keeps runs, sessions and secrets; it needs the vector extension. Dev has one embedded.',
    make: 'echo "postgres://user:password@host:5432/database"',
  },
  SVC_STATEMENT_TIMEOUT: {
    purpose:
      'Seconds one statement of svc.database may take on the server of DATABASE_URL, where neither its role nor the address sets a statement_timeout. 0: no limit. Default: 60.',
    make: 'echo 600',
  },
  SVC_MAX_RUNS: {
    purpose:
      'Runs that one process works on at once; a run that only waits is not counted. Others wait in the queue for a place. Default: 1000.',
    make: 'echo 200',
  },
  WORKFLOW_KV_URL: {
    purpose: 'The Redis over which replicas notify each other of what happens to runs. Nothing in it has to be kept.',
    make: 'echo "redis://:password@host:6379/0"',
  },
  PORT: { purpose: 'The port a deployed box listens on. Default: 8080.', make: 'echo 8080' },
  SVC_INSTALLATION_ID: {
    purpose: 'The id of this installation, a UUID. Default: made at the first boot and kept in the database.',
    make: 'node -p "crypto.randomUUID()"',
  },
  HMAC_SECRET: {
    purpose: 'Signs between the control plane and the box. Default: made at the first boot and kept in the database.',
    make: 'openssl rand -hex 32',
  },
  WORKSPACE_ID: {
    purpose: 'The id of the workspace. Default: made at the first boot and kept in the database.',
    make: 'node -p "crypto.randomUUID()"',
  },
  SVC_ORG_SLUG: {
    purpose: 'With AGENT_ID, the prefix of every key in shared stores, and part of every log record. Default: default.',
    make: 'echo my-organization',
  },
  AGENT_ID: {
    purpose: 'The id of this agent; the same for all of its replicas. Default: the slug of svc.json.',
    make: 'echo my-agent',
  },
  SVC_PUBLIC_URL: {
    purpose: 'The origin under which the box is reached from outside: scheme, host and port, nothing more.',
    make: 'echo "https://box.example.com"',
  },
  SVC_S3_ENDPOINT: {
    purpose:
      'The S3 backend of the box: scheme, host and port. Asks for both keys. Unset under `svc dev`: the embedded one.',
    make: 'echo "https://s3.example.com"',
  },
  SVC_S3_ACCESS_KEY: { purpose: 'The access key of the S3 backend.', make: 'echo my-access-key' },
  SVC_S3_SECRET_KEY: { purpose: 'The secret key of the S3 backend.', make: 'openssl rand -hex 32' },
  SVC_S3_BUCKET: {
    purpose: 'The bucket of this agent. Default: the slug of svc.json, as far as it can name one.',
    make: 'echo my-bucket',
  },
  SVC_S3_REGION: { purpose: 'The region of the S3 backend. Default: us-east-1.', make: 'echo us-east-1' },
  SVC_S3_FORCE_PATH_STYLE: {
    purpose: 'true: the bucket is in the path; false: it is the subdomain. Default: true.',
    make: 'echo true',
  },
  MODEL_PROVIDER_BASE_URL: {
    purpose: 'The model provider: any chat-completions endpoint, up to and including /v1.',
    make: 'echo "https://provider.example/v1"',
  },
  MODEL_PROVIDER_API_KEY: { purpose: 'The key of the model provider. Leave it out for a keyless gateway.' },
  SVC_BROWSER_URL: {
    purpose:
      'The browser of svc.browser and of browser tools: the debugging endpoint (CDP) of a Chromium, which may be private. {key} in its path or query is replaced by the key.',
    make: 'echo "wss://browser.example.com?token={key}"',
  },
  SVC_BROWSER_KEY: {
    purpose: 'The key of that browser. Where the address has no {key}, it is sent as "Authorization: Bearer".',
  },
  SVC_SECRET_KEY: {
    purpose: 'Encrypts every stored secret: 32 random bytes in base64. Dev makes one in .svc/secret.key.',
    make: 'openssl rand -base64 32',
  },
  SVC_SECRET_KEY_PREVIOUS: {
    purpose:
      'The key that SVC_SECRET_KEY takes the place of: at the boot every stored secret is put under the new one. Take it out afterwards.',
    make: 'openssl rand -base64 32',
  },
  SVC_CORS_ALLOW_ORIGINS: {
    purpose:
      'Comma-separated origins whose pages may call the box, instead of the built-in ones; * matches one label of the host, or the port.',
    make: 'echo "https://app.example.com,http://localhost:*"',
  },
  SVC_DEFAULT_MODEL: { purpose: 'The model of agents that name none; wins over "model" in svc.config.ts.' },
  SVC_ALLOW_PRIVATE_EGRESS: {
    purpose: 'Comma-separated hosts or addresses that may be set over the API although they are private.',
  },
  SVC_TRUSTED_PROXIES: {
    purpose:
      'Comma-separated addresses and networks of the proxies before the box, whose X-Forwarded-For says who calls. Default: this machine alone.',
    make: 'echo "10.0.0.7,172.16.0.0/12"',
  },
  STUDIO_STANDALONE_TOKEN: {
    purpose:
      'Selects the gate: whoever presents this token is the operator, and identity tokens are refused. Both self-host containers hold the same.',
    make: 'openssl rand -hex 32',
  },
  SVC_CONTROL_PLANE_URL: {
    purpose:
      'The control plane whose identity tokens a deployed box trusts, and which the CLI asks about --agent. Default: the hosted one; everything local works without.',
    make: 'echo "https://studio.example.com"',
  },
  SVC_FRPC_BIN: {
    purpose:
      'The program that `svc dev` starts in place of its own tunnel. It is given SVC_TUNNEL_RELAY, SVC_TUNNEL_TOKEN and SVC_TUNNEL_LOCAL_PORT.',
    make: 'echo /usr/local/bin/relay-client',
  },
  SVC_API_TOKEN: {
    purpose: 'What the CLI shows the box of --url: the operator token of that box, or an API key of it.',
  },
  SVC_INSECURE_LOCAL: {
    purpose:
      'For trying a built bundle on one machine: with 1 a deployed box asks for no credential, and binds 127.0.0.1 alone.',
    make: 'echo 1',
  },
  SVC_DEV_PORT_OFFSET: { purpose: 'Dev only: shifts the API, database and object-store ports together.' },
  SVC_LOG_LEVEL: {
    purpose:
      'debug, info, warn, error or silent: what is logged as JSON on stderr. Default: error, of a deployed box info.',
    make: 'echo info',
  },
  SVC_METRICS_TOKEN: {
    purpose: 'Lets a scraper read /metrics of a deployed box, as "Authorization: Bearer".',
    make: 'openssl rand -hex 32',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    purpose: 'The collector that traces and metrics go to, over HTTP. Unset: none leave the box.',
    make: 'echo "http://collector:4318"',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    purpose: 'Where traces go instead: the whole address.',
    make: 'echo "http://collector:4318/v1/traces"',
  },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: {
    purpose: 'Where metrics go instead: the whole address.',
    make: 'echo "http://collector:4318/v1/metrics"',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    purpose: 'What the collector asks for, as name=value pairs with commas between.',
    make: 'echo "authorization=Bearer%20my-token"',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    purpose: 'How it is sent: http/json or http/protobuf. Default: http/json.',
    make: 'echo http/protobuf',
  },
  OTEL_TRACES_EXPORTER: { purpose: 'otlp, or none for no traces. Default: otlp.', make: 'echo none' },
  OTEL_METRICS_EXPORTER: { purpose: 'otlp, or none for no metrics to a collector. Default: otlp.', make: 'echo none' },
  OTEL_METRIC_EXPORT_INTERVAL: {
    purpose: 'Milliseconds between two sendings of metrics. Default: 60000.',
    make: 'echo 60000',
  },
  OTEL_SERVICE_NAME: { purpose: 'The service in traces and metrics. Default: the slug of svc.json.' },
  OTEL_RESOURCE_ATTRIBUTES: {
    purpose: 'More about the service in traces and metrics, as name=value pairs with commas between.',
    make: 'echo "deployment.environment.name=production"',
  },
  OTEL_TRACES_SAMPLER: {
    purpose:
      'Which traces are sent: always_on, always_off or traceidratio, each also as parentbased_. Default: parentbased_always_on.',
    make: 'echo parentbased_traceidratio',
  },
  OTEL_TRACES_SAMPLER_ARG: { purpose: 'The share of traceidratio, from 0 to 1. Default: 1.', make: 'echo 0.1' },
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: {
    purpose: 'true: traces carry prompts, tool arguments and results. Default: false.',
    make: 'echo false',
  },
  OTEL_SDK_DISABLED: { purpose: 'true: nothing is sent to a collector, whatever else is set.', make: 'echo true' },
  SVC_SQLITE_DRIVER: {
    purpose:
      'Forces the SQLite driver of the journal: better-sqlite3, node:sqlite or @photostructure/sqlite; none keeps a new journal in the embedded database.',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;

/** The value of a variable; undefined when it is unset or empty. */
export function readVariable(env: NodeJS.ProcessEnv, name: VariableName): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

/**
 * The secrets of a deployed box. Each may lie in a file that `<NAME>_FILE` names, and code of the workspace finds none of
 * them in its environment.
 */
export const OWN_SECRETS = [
  'DATABASE_URL',
  'WORKFLOW_KV_URL',
  'HMAC_SECRET',
  'SVC_S3_ACCESS_KEY',
  'SVC_S3_SECRET_KEY',
  'MODEL_PROVIDER_API_KEY',
  'SVC_BROWSER_KEY',
  'SVC_SECRET_KEY',
  'SVC_SECRET_KEY_PREVIOUS',
  'STUDIO_STANDALONE_TOKEN',
  'SVC_METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const satisfies VariableName[];

/** The variable that names the file of a secret. */
export function fileVariableOf(name: (typeof OWN_SECRETS)[number]): string {
  return `${name}_FILE`;
}

export function listVariables(): ListedVariable[] {
  const files = new Map<string, string>(OWN_SECRETS.map((name) => [name, fileVariableOf(name)]));
  return Object.entries(VARIABLES).map(([name, variable]) => {
    const file = files.get(name);
    return { name: name as VariableName, ...variable, ...(file === undefined ? {} : { file }) };
  });
}

export interface ListedVariable extends Variable {
  name: VariableName;
  /** The variable that names a file in its place, for a deployed box. */
  file?: string;
}

export function describeVariable(name: VariableName): Variable {
  return VARIABLES[name];
}
