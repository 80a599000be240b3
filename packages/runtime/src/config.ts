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
  WORKFLOW_KV_URL: {
    purpose: 'The Redis over which replicas tell each other what happens to runs. Nothing in it has to be kept.',
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
    purpose: 'The S3 backend of a deployed box: scheme, host and port. Asks for both keys.',
    make: 'echo "https://s3.example.com"',
  },
  SVC_S3_ACCESS_KEY: { purpose: 'The access key of the S3 backend.', make: 'echo my-access-key' },
  SVC_S3_SECRET_KEY: { purpose: 'The secret key of the S3 backend.', make: 'openssl rand -hex 32' },
  SVC_S3_BUCKET: { purpose: 'The bucket of this agent. Default: the slug of svc.json.', make: 'echo my-bucket' },
  SVC_S3_REGION: { purpose: 'The region of the S3 backend. Default: us-east-1.', make: 'echo us-east-1' },
  SVC_S3_FORCE_PATH_STYLE: {
    purpose: 'true: the bucket stands in the path; false: before the host. Default: true.',
    make: 'echo true',
  },
  MODEL_PROVIDER_BASE_URL: {
    purpose: 'The model provider: any chat-completions endpoint, up to and including /v1.',
    make: 'echo "https://provider.example/v1"',
  },
  MODEL_PROVIDER_API_KEY: { purpose: 'The key of the model provider. Leave it out for a keyless gateway.' },
  SVC_SECRET_KEY: {
    purpose: 'Encrypts every stored secret: 32 random bytes in base64. Dev makes one in .svc/secret.key.',
    make: 'openssl rand -base64 32',
  },
  SVC_CORS_ALLOW_ORIGINS: {
    purpose:
      'Comma-separated origins whose pages may call the box, instead of the built-in ones; * stands for one label of the host, or the port.',
    make: 'echo "https://app.example.com,http://localhost:*"',
  },
  SVC_DEFAULT_MODEL: { purpose: 'The model of agents that name none; wins over "model" in svc.config.ts.' },
  SVC_ALLOW_PRIVATE_EGRESS: {
    purpose: 'Comma-separated hosts or addresses that may be set over the API although they are private.',
  },
  SVC_CONTROL_PLANE_URL: {
    purpose: 'CLI only: the control plane that knows deployed boxes, for --agent. Everything local works without one.',
  },
  SVC_INSECURE_LOCAL: {
    purpose:
      'For trying a built bundle on one machine: with 1 a deployed box asks nobody for a credential, and binds 127.0.0.1 alone.',
    make: 'echo 1',
  },
  SVC_DEV_PORT_OFFSET: { purpose: 'Dev only: shifts the API, database and object-store ports together.' },
  SVC_LOG_LEVEL: {
    purpose:
      'debug, info, warn, error or silent: what is logged as JSON on stderr. Default: error, of a deployed box info.',
    make: 'echo info',
  },
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

export function listVariables(): (Variable & { name: VariableName })[] {
  return Object.entries(VARIABLES).map(([name, variable]) => ({ name: name as VariableName, ...variable }));
}

export function describeVariable(name: VariableName): Variable {
  return VARIABLES[name];
}
