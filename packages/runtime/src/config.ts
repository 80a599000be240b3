/** One environment variable the box or its dev server reads. */
export interface Variable {
  purpose: string;
  /** A command that prints a usable value, where one can be made. */
  make?: string;
}

/** Every environment variable, in one table. */
const VARIABLES = {
  DATABASE_URL: {
    purpose: 'Use this PostgreSQL server instead of the embedded database. It needs the vector extension.',
  },
  WORKFLOW_KV_URL: {
    purpose: 'The Redis over which replicas tell each other what happens to runs. Nothing in it has to be kept.',
  },
  SVC_ORG_SLUG: { purpose: 'With AGENT_ID, the prefix of every key in shared stores. Default: default.' },
  AGENT_ID: { purpose: 'The id of this agent; the same for all of its replicas. Default: the slug of svc.json.' },
  MODEL_PROVIDER_BASE_URL: {
    purpose: 'The model provider: any chat-completions endpoint, up to and including /v1.',
  },
  MODEL_PROVIDER_API_KEY: { purpose: 'The key of the model provider. Leave it out for a keyless gateway.' },
  SVC_SECRET_KEY: {
    purpose: 'Encrypts every stored secret: 32 random bytes in base64. Dev makes one in .svc/secret.key.',
    make: 'openssl rand -base64 32',
  },
  SVC_DEFAULT_MODEL: { purpose: 'The model of agents that name none; wins over "model" in svc.config.ts.' },
  SVC_ALLOW_PRIVATE_EGRESS: {
    purpose: 'Comma-separated hosts or addresses that may be set over the API although they are private.',
  },
  SVC_CONTROL_PLANE_URL: {
    purpose: 'CLI only: the control plane that knows deployed boxes, for --agent. Everything local works without one.',
  },
  SVC_DEV_PORT_OFFSET: { purpose: 'Dev only: shifts the API, database and object-store ports together.' },
  SVC_LOG_LEVEL: { purpose: 'debug, info, warn, error or silent: what is logged as JSON on stderr. Default: error.' },
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
