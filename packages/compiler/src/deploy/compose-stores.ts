import { IMAGES } from './images.ts';
import type { YamlValue } from './yaml.ts';

/** Addresses of the stores as the box knows them. Their passwords stay on a network that leads nowhere. */
export const STORE_URLS = {
  db: 'postgres://svc:svc@db:5432/svc',
  kv: 'redis://:svc@kv:6379/0',
  objstore: 'http://objstore:7070',
} as const;

/** A value without which compose starts nothing; it names the variable and prints the sentence. */
export function requireVariable(name: string, example: string): string {
  return `\${${name}:?Set ${name} in .env, for example to ${example}}`;
}

/** Of every container: no way to more rights, no endless log, no endless processes. */
export function limit({ memory, stop }: { memory: string; stop: string }): Record<string, YamlValue> {
  return {
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    pids_limit: 512,
    mem_limit: memory,
    stop_grace_period: stop,
    logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } },
  };
}

export function emitDatabase(): YamlValue {
  return {
    image: IMAGES.db,
    restart: 'unless-stopped',
    command: ['postgres', '-c', 'idle_in_transaction_session_timeout=30s'],
    environment: { POSTGRES_USER: 'postgres', POSTGRES_PASSWORD: 'svc' },
    volumes: ['db-data:/var/lib/postgresql/data'],
    configs: [{ source: 'db-init', target: '/docker-entrypoint-initdb.d/svc.sql' }],
    networks: ['data'],
    shm_size: '256mb',
    // Over TCP: while it sets itself up it listens on its socket alone.
    healthcheck: check(['pg_isready', '-h', '127.0.0.1', '-U', 'svc', '-d', 'svc']),
    ...limit({ memory: '1g', stop: '60s' }),
    cap_add: OWN_DATA,
  };
}

/**
 * What the image runs once, as its superuser, on a volume that is empty. The box gets a role that owns its database and
 * nothing else: code of the workspace that has its address can neither read files of the server nor run programs there.
 * The superuser has no password from then on, so it can be used inside the container only.
 */
export const DATABASE_INIT = `create role svc login nosuperuser nocreatedb nocreaterole password 'svc';
create database svc owner svc;
\\connect svc
create extension vector;
alter role postgres password null;
`;

export function emitKeyValueStore(): YamlValue {
  return {
    image: IMAGES.kv,
    restart: 'unless-stopped',
    command: ['valkey-server', ...KV_SETTINGS],
    volumes: ['kv-data:/data'],
    networks: ['data'],
    healthcheck: check(['valkey-cli', '-e', '-a', 'svc', '--no-auth-warning', 'ping']),
    ...limit({ memory: '512m', stop: '30s' }),
    cap_add: OWN_DATA,
  };
}

export function emitObjectStore(): YamlValue {
  return {
    image: IMAGES.objstore,
    restart: 'unless-stopped',
    command: ['--port', ':7070', '--region', 'us-east-1', '--health', '/_health', 'posix', '/data'],
    environment: {
      ROOT_ACCESS_KEY: 'svc',
      ROOT_SECRET_KEY: requireVariable('OBJSTORE_ROOT_PASSWORD', 'the output of openssl rand -hex 32'),
    },
    volumes: ['obj-data:/data'],
    networks: ['data', 'edge'],
    ports: ['127.0.0.1:${OBJSTORE_PORT:-7070}:7070'],
    healthcheck: check(['wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:7070/_health']),
    ...limit({ memory: '512m', stop: '30s' }),
  };
}

// --- internal ---

/** These begin as root, take over their volume and become their own user. */
const OWN_DATA = ['CHOWN', 'SETUID', 'SETGID', 'FOWNER', 'DAC_OVERRIDE'];

const KV_SETTINGS = [
  '--appendonly yes --appendfsync everysec --no-appendfsync-on-rewrite no --aof-use-rdb-preamble yes'.split(' '),
  ['--save', ''],
  '--maxmemory 256mb --maxmemory-policy noeviction --requirepass svc --protected-mode yes'.split(' '),
  ...['FLUSHALL', 'FLUSHDB', 'DEBUG'].map((name) => ['--rename-command', name, '']),
].flat();

function check(command: string[]): YamlValue {
  return { test: ['CMD', ...command], interval: '5s', timeout: '5s', retries: 12, start_period: '60s' };
}
