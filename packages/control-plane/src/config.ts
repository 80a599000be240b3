import { parseProxies } from '../../runtime/src/http/address.ts';
import type { Proxies } from '../../runtime/src/http/address.ts';
import type { LogLevel } from '../../runtime/src/log.ts';
import { isMasterKey } from '../../runtime/src/secrets/master-key.ts';
import { PlaneError } from './errors.ts';

/** One environment variable of the control plane. */
export interface Variable {
  purpose: string;
  /** A command that prints a usable value, where one can be made. */
  make?: string;
  /** Which mode reads it. Absent: both. */
  mode?: Mode;
}

export type Mode = 'standalone' | 'full';

/** Every environment variable, in one table. */
export const VARIABLES = {
  STUDIO_STANDALONE_TOKEN: {
    purpose:
      'Selects the standalone mode: one box, and whoever holds this token is its operator. The same value as the box has.',
    make: 'openssl rand -hex 32',
  },
  SVC_PLANE_URL: {
    purpose:
      'The address under which browsers and boxes reach the control plane: scheme, host and port. Default: http://localhost:<port>.',
    make: 'echo "https://studio.example.com"',
  },
  PORT: { purpose: 'The port it listens on. Default: 3000.', make: 'echo 3000' },
  HOST: { purpose: 'The address it binds. Default: 0.0.0.0; `svc plane` binds 127.0.0.1.', make: 'echo 127.0.0.1' },
  SVC_LOG_LEVEL: { purpose: 'Least level of what is written to stderr. Default: info.', make: 'echo debug' },
  PLANE_TRUST_PROXY: {
    purpose: 'Proxies in front, as addresses and networks, whose X-Forwarded-For is trusted. Default: none.',
    make: 'echo "10.0.0.0/8"',
  },
  SVC_RUNTIME_INTERNAL_URL: {
    purpose: 'Where the box is reached from the control plane. Default: http://agent:8080.',
    make: 'echo "http://agent:8080"',
    mode: 'standalone',
  },
  SVC_PUBLIC_URL: {
    purpose: 'Where the box is reached from outside, shown beside its credentials.',
    make: 'echo "https://box.example.com"',
    mode: 'standalone',
  },
  PLANE_DATA_DIR: {
    purpose: 'The folder of its SQLite file. Unread where PLANE_DATABASE_URL is set.',
    make: 'echo /data',
    mode: 'full',
  },
  PLANE_DATABASE_URL: {
    purpose: 'A PostgreSQL database in place of the SQLite file; several control planes may share it.',
    make: 'echo "postgres://user:password@host:5432/database"',
    mode: 'full',
  },
  PLANE_SECRET_KEY: {
    purpose: 'Seals the signing keys. There is no recovery when it is lost.',
    make: 'openssl rand -base64 32',
    mode: 'full',
  },
  PLANE_ALLOW_PRIVATE: {
    purpose: '1: boxes may be registered under private addresses. Link-local ones stay refused.',
    make: 'echo 1',
    mode: 'full',
  },
  PLANE_TUNNEL_DOMAIN: {
    purpose:
      'The domain under which tunnels get their names; every name below it has to resolve to this server. Default: localhost.',
    make: 'echo tunnel.example.com',
    mode: 'full',
  },
  PLANE_INTERNAL_URL: {
    purpose:
      'Where other control planes on the same database reach this one, to forward requests for its tunnels. Default: they answer 502.',
    make: 'echo "http://10.0.0.3:3000"',
    mode: 'full',
  },
  PLANE_OIDC_ISSUER: {
    purpose: 'The OpenID Connect provider people may sign in with. Asks for the client id and secret, too.',
    make: 'echo "https://accounts.example.com"',
    mode: 'full',
  },
  PLANE_PASSWORD_SIGNUP: {
    purpose:
      '0: new people come by that provider alone, which has proved their address. 1: by an invite with a password, too, which proves none. Who has a password keeps it. Default: 0 where PLANE_OIDC_ISSUER is set, 1 elsewhere.',
    make: 'echo 0',
    mode: 'full',
  },
  PLANE_OPEN_ORGANIZATIONS: {
    purpose:
      '1: any signed-in person may create an organisation, and invite any address to it. Default: 0, only an owner of one may.',
    make: 'echo 1',
    mode: 'full',
  },
  PLANE_OIDC_CLIENT_ID: { purpose: 'The client id at that provider.', make: 'echo svc-studio', mode: 'full' },
  PLANE_OIDC_CLIENT_SECRET: {
    purpose: 'The client secret at that provider.',
    make: 'openssl rand -hex 32',
    mode: 'full',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;

/** What the environment says, checked. */
export interface Settings {
  mode: Mode;
  port: number;
  host: string;
  /** Undefined: of this machine, at the port it listens on. Without a slash at the end. */
  publicUrl: string | undefined;
  logLevel: LogLevel | 'silent';
  proxies: Proxies;
  standalone: StandaloneSettings | undefined;
  full: FullSettings | undefined;
}

export interface StandaloneSettings {
  token: string;
  /** Without a slash at the end, as is the next. */
  runtimeUrl: string;
  /** Where the box is reached from outside. */
  boxUrl: string | undefined;
}

export interface FullSettings {
  dataDir: string | undefined;
  databaseUrl: string | undefined;
  secretKey: string;
  allowPrivate: boolean;
  tunnelDomain: string;
  /** Where other control planes reach this one, without a slash at the end. */
  internalUrl: string | undefined;
  /** Whether new people may come with a password. */
  passwordSignup: boolean;
  /** Whether whoever is signed in may make an organisation. */
  openOrganizations: boolean;
  oidc: { issuer: string; clientId: string; clientSecret: string } | undefined;
}

export interface BrokenVariable {
  name: VariableName;
  /** A sentence: what is wrong. */
  problem: string;
}

/** Throws `environment_invalid` with every variable that is missing or broken, never the first alone. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const read = (name: VariableName): string | undefined => env[name]?.trim() || undefined;
  const mode: Mode = env.STUDIO_STANDALONE_TOKEN === undefined ? 'full' : 'standalone';
  const broken = listBroken(env, mode);
  if (broken.length > 0) throw environmentInvalid(broken);
  const oidcIssuer = read('PLANE_OIDC_ISSUER');
  return {
    mode,
    port: Number(read('PORT') ?? DEFAULT_PORT),
    host: read('HOST') ?? '0.0.0.0',
    publicUrl: read('SVC_PLANE_URL')?.replace(/\/+$/, ''),
    logLevel: (read('SVC_LOG_LEVEL') ?? 'info') as LogLevel,
    proxies: readProxies(read('PLANE_TRUST_PROXY')),
    standalone:
      mode === 'standalone'
        ? {
            token: read('STUDIO_STANDALONE_TOKEN') ?? '',
            runtimeUrl: (read('SVC_RUNTIME_INTERNAL_URL') ?? 'http://agent:8080').replace(/\/+$/, ''),
            boxUrl: read('SVC_PUBLIC_URL')?.replace(/\/+$/, ''),
          }
        : undefined,
    full:
      mode === 'full'
        ? {
            dataDir: read('PLANE_DATA_DIR'),
            databaseUrl: read('PLANE_DATABASE_URL'),
            secretKey: read('PLANE_SECRET_KEY') ?? '',
            allowPrivate: read('PLANE_ALLOW_PRIVATE') === '1',
            tunnelDomain: read('PLANE_TUNNEL_DOMAIN') ?? 'localhost',
            passwordSignup: (read('PLANE_PASSWORD_SIGNUP') ?? (oidcIssuer === undefined ? '1' : '0')) === '1',
            openOrganizations: read('PLANE_OPEN_ORGANIZATIONS') === '1',
            internalUrl: read('PLANE_INTERNAL_URL')?.replace(/\/+$/, ''),
            oidc:
              oidcIssuer === undefined
                ? undefined
                : {
                    issuer: oidcIssuer,
                    clientId: read('PLANE_OIDC_CLIENT_ID') ?? '',
                    clientSecret: read('PLANE_OIDC_CLIENT_SECRET') ?? '',
                  },
          }
        : undefined,
  };
}

/** What a person reads who has to put it right. */
export function formatBroken(broken: readonly BrokenVariable[]): string {
  const count = broken.length === 1 ? 'an environment variable is' : `${broken.length} environment variables are`;
  const entries = broken.map(({ name, problem }) => {
    const { purpose, make } = VARIABLES[name] as Variable;
    return `  ${name} ${problem}.\n    ${purpose}${make === undefined ? '' : `\n    Make one: ${make}`}`;
  });
  return [`The control plane does not start: ${count} missing or broken.`, ...entries].join('\n\n');
}

// --- internal ---

const DEFAULT_PORT = 3000;
const SHORTEST_TOKEN = 16;
const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];

type Read = (name: VariableName) => string | undefined;

/** Why a variable keeps it from starting. Undefined: it does not. */
const RULES: Partial<Record<VariableName, (value: string | undefined, read: Read) => string | undefined>> = {
  STUDIO_STANDALONE_TOKEN: (value, read) => {
    if (value !== undefined && value.length < SHORTEST_TOKEN)
      return `has ${value.length} characters, and less than ${SHORTEST_TOKEN} can be guessed`;
    return value === undefined && read('STUDIO_STANDALONE_TOKEN') === undefined ? 'is empty' : undefined;
  },
  SVC_PLANE_URL: (value) => explainOrigin(value),
  SVC_PUBLIC_URL: (value) => explainOrigin(value),
  SVC_RUNTIME_INTERNAL_URL: (value) => explainOrigin(value),
  PORT: (value) => {
    const isPort = value === undefined || (/^\d{1,5}$/.test(value) && Number(value) <= 65_535);
    return isPort ? undefined : `is "${value}", which is no port`;
  },
  SVC_LOG_LEVEL: (value) =>
    value === undefined || LEVELS.includes(value) ? undefined : `is "${value}", which is none of ${LEVELS.join(', ')}`,
  PLANE_TRUST_PROXY: (value) =>
    parseProxies(listEntries(value ?? '')) ? undefined : `is "${value}", which is no list of addresses and networks`,
  PLANE_SECRET_KEY: (value) => {
    if (value === undefined) return 'is missing';
    return isMasterKey(value) ? undefined : 'is not 32 bytes in base64';
  },
  PLANE_DATA_DIR: (value, read) =>
    value === undefined && read('PLANE_DATABASE_URL') === undefined
      ? 'is missing, and so is PLANE_DATABASE_URL'
      : undefined,
  PLANE_DATABASE_URL: (value) =>
    value === undefined || /^postgres(?:ql)?:\/\//.test(value) ? undefined : 'is no address of a PostgreSQL database',
  PLANE_ALLOW_PRIVATE: explainSwitch,
  PLANE_OPEN_ORGANIZATIONS: explainSwitch,
  PLANE_TUNNEL_DOMAIN: (value) =>
    value === undefined || /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/.test(value)
      ? undefined
      : `is "${value}", which is no domain`,
  PLANE_INTERNAL_URL: (value) => explainOrigin(value),
  PLANE_OIDC_ISSUER: (value, read) => {
    if (value !== undefined) return explainOrigin(value, { allowsPath: true });
    const other = (['PLANE_OIDC_CLIENT_ID', 'PLANE_OIDC_CLIENT_SECRET'] as const).find((name) => read(name));
    return other && `is missing, and ${other} is set`;
  },
  PLANE_PASSWORD_SIGNUP: (value, read) => {
    const isAlone = value === '0' && !read('PLANE_OIDC_ISSUER');
    return isAlone ? 'is 0, and PLANE_OIDC_ISSUER is missing: no one could sign up' : explainSwitch(value);
  },
  PLANE_OIDC_CLIENT_ID: (value, read) =>
    value === undefined && read('PLANE_OIDC_ISSUER') ? 'is missing, and PLANE_OIDC_ISSUER is set' : undefined,
  PLANE_OIDC_CLIENT_SECRET: (value, read) =>
    value === undefined && read('PLANE_OIDC_ISSUER') ? 'is missing, and PLANE_OIDC_ISSUER is set' : undefined,
};

function listBroken(env: NodeJS.ProcessEnv, mode: Mode): BrokenVariable[] {
  const read: Read = (name) => env[name]?.trim() || undefined;
  return (Object.keys(VARIABLES) as VariableName[]).flatMap((name) => {
    const { mode: of = mode } = VARIABLES[name] as Variable;
    if (of !== mode || (name === 'STUDIO_STANDALONE_TOKEN' && mode === 'full')) return [];
    const problem = RULES[name]?.(read(name), read);
    return problem === undefined ? [] : [{ name, problem }];
  });
}

function explainSwitch(value: string | undefined): string | undefined {
  return value === undefined || value === '0' || value === '1' ? undefined : `is "${value}", which is neither 0 nor 1`;
}

function explainOrigin(value: string | undefined, { allowsPath = false } = {}): string | undefined {
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password;
  if (isPlain && (allowsPath || url.pathname === '/')) return undefined;
  return `is "${value}", which is no address: scheme, host and port, and nothing more`;
}

/** Those that are named, and with them what runs on this machine; of none that are, what they say is an attempt. */
function readProxies(value: string | undefined): Proxies {
  return (value === undefined ? undefined : parseProxies(listEntries(value))) ?? { isOne: () => false };
}

function listEntries(value: string): string[] {
  return value.split(',').flatMap((entry) => entry.trim() || []);
}

function environmentInvalid(broken: BrokenVariable[]): PlaneError {
  return new PlaneError('environment_invalid', formatBroken(broken), { details: { variables: broken } });
}
