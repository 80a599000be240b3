import { limit, requireVariable, STORE_URLS } from './compose-stores.ts';
import { AGENT_PORT, CONTROL_PLANE_PORT } from './plan.ts';
import type { DeployPlan } from './plan.ts';
import type { YamlValue } from './yaml.ts';

/** Makes the bucket and ends. It is the agent's image, so that there is no other to pull. */
export function emitBucketMaker({ imageTag, bucket }: DeployPlan): YamlValue {
  return {
    image: imageTag,
    // The agent's build makes it.
    pull_policy: 'never',
    restart: 'no',
    entrypoint: ['node', '/opt/svc/make-bucket.mjs'],
    environment: { ...storage(bucket), SVC_S3_ENDPOINT: STORE_URLS.objstore },
    depends_on: { objstore: { condition: 'service_started' } },
    networks: ['data'],
    // The base's check asks a port that this never opens.
    healthcheck: { disable: true },
    ...HARDENED,
    ...limit({ memory: '256m', stop: '10s' }),
  };
}

export function emitAgent({ target, slug, imageTag, bucket, offline }: DeployPlan): YamlValue {
  const isSelfHost = target === 'self-host';
  return {
    image: imageTag,
    ...(offline ? { pull_policy: 'never' } : { build: { context: '.' }, pull_policy: 'build' }),
    restart: 'unless-stopped',
    environment: {
      PORT: String(AGENT_PORT),
      DATABASE_URL: STORE_URLS.db,
      WORKFLOW_KV_URL: STORE_URLS.kv,
      SVC_SECRET_KEY: isSelfHost ? SECRET_KEY : optional('SVC_SECRET_KEY'),
      HMAC_SECRET: requireVariable('HMAC_SECRET', 'the output of openssl rand -hex 32'),
      ...(isSelfHost
        ? { STUDIO_STANDALONE_TOKEN: STANDALONE_TOKEN, SVC_PUBLIC_URL: PUBLIC_URL }
        : {
            SVC_PUBLIC_URL: optional('SVC_PUBLIC_URL'),
            SVC_CONTROL_PLANE_URL: optional('SVC_CONTROL_PLANE_URL'),
            // Not in the `.env`, which makes none: whoever has one from a control plane adds the line.
            SVC_INSTALLATION_ID: optional('SVC_INSTALLATION_ID'),
          }),
      ...Object.fromEntries(PASSED_ON.map((name) => [name, optional(name)])),
      ...tenant(slug),
      ...storage(bucket),
      SVC_S3_ENDPOINT: optional('SVC_S3_ENDPOINT', STORE_URLS.objstore),
    },
    depends_on: {
      db: { condition: 'service_healthy' },
      kv: { condition: 'service_healthy' },
      'objstore-init': { condition: 'service_completed_successfully' },
    },
    networks: ['data', 'edge'],
    ports: [`\${AGENT_PORT:-${AGENT_PORT}}:${AGENT_PORT}`],
    // As in the base: some builders leave the check of a base out.
    healthcheck: LIVE,
    ...HARDENED,
    ...limit({ memory: '1g', stop: '30s' }),
  };
}

export function emitControlPlane({ slug, offline }: DeployPlan, image: string): YamlValue {
  return {
    image,
    pull_policy: offline ? 'never' : undefined,
    restart: 'unless-stopped',
    environment: {
      PORT: String(CONTROL_PLANE_PORT),
      SVC_RUNTIME_INTERNAL_URL: `http://agent:${AGENT_PORT}`,
      STUDIO_STANDALONE_TOKEN: STANDALONE_TOKEN,
      SVC_PUBLIC_URL: PUBLIC_URL,
      ...Object.fromEntries(
        ['SVC_PLANE_URL', 'PLANE_TRUST_PROXY', 'SVC_LOG_LEVEL'].map((name) => [name, optional(name)]),
      ),
      ...tenant(slug),
    },
    // Not until it is healthy: the dashboard is where one sees that the box is not.
    depends_on: { agent: { condition: 'service_started' } },
    networks: ['edge'],
    ports: [`\${CONTROL_PLANE_PORT:-${CONTROL_PLANE_PORT}}:${CONTROL_PLANE_PORT}`],
    healthcheck: LIVE,
    ...HARDENED,
    ...limit({ memory: '512m', stop: '30s' }),
  };
}

// --- internal ---

const SECRET_KEY = requireVariable('SVC_SECRET_KEY', 'the output of openssl rand -base64 32');
const STANDALONE_TOKEN = requireVariable('STUDIO_STANDALONE_TOKEN', 'the output of openssl rand -hex 32');
const PUBLIC_URL = requireVariable('SVC_PUBLIC_URL', 'https://box.example.com');

/** Empty is unset for the box. */
const PASSED_ON = [
  'MODEL_PROVIDER_BASE_URL',
  'MODEL_PROVIDER_API_KEY',
  'SVC_DEFAULT_MODEL',
  'SVC_BROWSER_URL',
  'SVC_BROWSER_KEY',
  'SVC_CORS_ALLOW_ORIGINS',
  'SVC_ALLOW_PRIVATE_EGRESS',
  'SVC_TRUSTED_PROXIES',
  'SVC_LOG_LEVEL',
  'SVC_SECRET_KEY_PREVIOUS',
  'SVC_METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
];

const HARDENED = { user: '65532:65532', read_only: true, tmpfs: ['/tmp'] };

const LIVE = {
  test: ['CMD', 'node', '/opt/svc/healthcheck.mjs'],
  interval: '10s',
  timeout: '5s',
  retries: 6,
  start_period: '60s',
};

function optional(name: string, fallback = ''): string {
  return `\${${name}:-${fallback}}`;
}

/** Both containers read the same names. */
function tenant(slug: string): Record<string, string> {
  return { SVC_ORG_SLUG: optional('SVC_ORG_SLUG', 'default'), AGENT_ID: optional('AGENT_ID', slug) };
}

function storage(bucket: string): Record<string, string> {
  return {
    SVC_S3_ACCESS_KEY: 'svc',
    SVC_S3_SECRET_KEY: requireVariable('OBJSTORE_ROOT_PASSWORD', 'the output of openssl rand -hex 32'),
    SVC_S3_BUCKET: bucket,
    SVC_S3_REGION: 'us-east-1',
    SVC_S3_FORCE_PATH_STYLE: 'true',
  };
}
