import type { DeployTarget } from './plan.ts';

/** One variable of `.env`. */
export interface DeployVariable {
  name: string;
  comment: string;
  targets: readonly DeployTarget[];
  /** Makes its value from random bytes. Absent: a person sets it, or leaves it out. */
  generate?(random: (bytes: number) => Buffer): string;
  /** The targets whose composition refuses to start without it. */
  required: readonly DeployTarget[];
  /** What does not work as long as it is not set, where that is worth saying. */
  without?: string;
}

/** The variables of a target, in the order of its `.env`. */
export function listDeployVariables(target: DeployTarget): DeployVariable[] {
  return VARIABLES.filter(({ targets }) => targets.includes(target));
}

// --- internal ---

const BOTH = ['byoc', 'self-host'] as const;
const BYOC = ['byoc'] as const;
const SELF_HOST = ['self-host'] as const;
const NONE = [] as const;

const VARIABLES: readonly DeployVariable[] = [
  {
    name: 'SVC_SECRET_KEY',
    comment: 'Encrypts every stored secret. Keep a copy: what it encrypted is lost with it.',
    targets: BOTH,
    required: SELF_HOST,
    generate: (random) => random(32).toString('base64'),
  },
  {
    name: 'HMAC_SECRET',
    comment: 'Signs between the control plane and the box; svc link asks for it.',
    targets: BOTH,
    required: BOTH,
    generate: (random) => random(32).toString('hex'),
  },
  {
    name: 'OBJSTORE_ROOT_PASSWORD',
    comment: 'The secret key of the object store, which is also SVC_S3_SECRET_KEY of the box.',
    targets: BOTH,
    required: BOTH,
    generate: (random) => random(32).toString('hex'),
  },
  {
    name: 'STUDIO_STANDALONE_TOKEN',
    comment: 'A caller who presents it is the operator of the box. The box and the control plane hold the same.',
    targets: SELF_HOST,
    required: SELF_HOST,
    generate: (random) => random(32).toString('base64url'),
  },
  {
    name: 'SVC_PUBLIC_URL',
    comment: 'The origin under which the box is reached from outside, such as https://box.example.com.',
    targets: BOTH,
    required: SELF_HOST,
    without: 'connections have no address to come back to',
  },
  {
    name: 'SVC_PLANE_URL',
    comment: 'The origin of the dashboard, where https leads to it: cookies are then for https alone. Empty: any name.',
    targets: SELF_HOST,
    required: NONE,
  },
  {
    name: 'PLANE_TRUST_PROXY',
    comment:
      'Comma-separated addresses and networks of the proxies in front of the dashboard. Empty: none is believed.',
    targets: SELF_HOST,
    required: NONE,
  },
  {
    name: 'MODEL_PROVIDER_BASE_URL',
    comment: 'The model provider: any chat-completions endpoint, up to and including /v1.',
    targets: BOTH,
    required: NONE,
    without: 'agents are held back until a provider is stored',
  },
  {
    name: 'MODEL_PROVIDER_API_KEY',
    comment: 'The key of the model provider. Empty for a keyless gateway.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_DEFAULT_MODEL',
    comment: 'The model of agents that name none, such as vendor/model.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_BROWSER_URL',
    comment:
      'The debugging endpoint of a Chromium for code and agents; {key} in it is replaced by the key. Empty: none.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_BROWSER_KEY',
    comment: 'The key of that browser.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_S3_ENDPOINT',
    comment:
      'An address of the object store that browsers reach too, for downloads. Empty: the one in the composition.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_CONTROL_PLANE_URL',
    comment: 'The control plane whose identity tokens are trusted. Empty: the hosted one.',
    targets: BYOC,
    required: NONE,
  },
  {
    name: 'SVC_CORS_ALLOW_ORIGINS',
    comment: 'Comma-separated origins whose pages may call the box, instead of the built-in ones.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_ALLOW_PRIVATE_EGRESS',
    comment: 'Comma-separated hosts that may be set over the API although they are private.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_TRUSTED_PROXIES',
    comment: 'Comma-separated addresses and networks of the proxies in front, whose X-Forwarded-For says who calls.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_ORG_SLUG',
    comment: 'With AGENT_ID, the prefix of keys in shared stores and of log records. Empty: default.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'AGENT_ID',
    comment: "The id of this agent. Empty: the project's slug.",
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_LOG_LEVEL',
    comment: 'debug, info, warn, error or silent. Empty: info.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_SECRET_KEY_PREVIOUS',
    comment: 'While the secret key is rotated: the previous key, which still decrypts what is stored.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'SVC_METRICS_TOKEN',
    comment: 'A bearer that may read GET /metrics and nothing else.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    comment: 'Where traces and metrics are sent: an OTLP collector over HTTP.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    comment: 'Headers for the collector, such as authorization=Bearer%20token.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'AGENT_PORT',
    comment: 'The port of the box on this host; 127.0.0.1:8080 for a proxy on it alone. Empty: 8080, for the network.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'OBJSTORE_PORT',
    comment: 'The port of the object store on this host, bound to 127.0.0.1. Empty: 7070.',
    targets: BOTH,
    required: NONE,
  },
  {
    name: 'CONTROL_PLANE_PORT',
    comment:
      'The port of the dashboard on this host; 127.0.0.1:3000 for a proxy on it alone. Empty: 3000, for the network.',
    targets: SELF_HOST,
    required: NONE,
  },
];
