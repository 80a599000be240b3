import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Target } from './control-plane.ts';
import { findDeployment } from './deployment.ts';
import { CliError, usageError } from '../errors.ts';
import type { Context } from '../context.ts';

/** What a command line says about its box. */
export interface TargetNames {
  /** The installation id of a deployed box, which the control plane knows. */
  agent?: string | undefined;
  url?: string | undefined;
}

/**
 * With `agent`: the deployed box of that installation. With `url`: the box on that address, with the token of
 * SVC_API_TOKEN. With neither: the dev runtime of the project around `cwd`, as `svc dev` noted it in `.svc/dev.json`,
 * else the usual address.
 */
export async function resolveTarget(
  { agent, url }: TargetNames,
  context: Pick<Context, 'cwd' | 'env' | 'say'>,
): Promise<Target> {
  if (agent !== undefined && url !== undefined)
    throw usageError('--agent and --url both name a box.', 'Leave one of them out.');
  if (agent !== undefined) return findDeployment(agent, { ...context, root: findProject(context.cwd) });
  if (url !== undefined) return toTarget(url, context);
  return { url: readDevAddress(context.cwd) ?? `http://127.0.0.1:${defaultPort(context.env)}`, isDev: true };
}

/** The closest folder at or above `from` that holds a workspace, or undefined. */
export function findProject(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    if (PROJECT_SIGNS.some((sign) => existsSync(join(folder, sign)))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

// --- internal ---

const DEV_PORT = 4242;
const PROJECT_SIGNS = ['svc.json', 'svc.config.ts', 'deep-agents', 'workflows'];
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** A file that is missing, half written or names another machine counts as absent. */
function readDevAddress(cwd: string): string | undefined {
  const project = findProject(cwd);
  if (!project) return undefined;
  try {
    const { url } = JSON.parse(readFileSync(join(project, '.svc', 'dev.json'), 'utf8')) as { url: string };
    const { origin, hostname } = new URL(url);
    return LOOPBACK.includes(hostname) ? origin : undefined;
  } catch {
    return undefined;
  }
}

function defaultPort(env: Context['env']): number {
  const text = env.SVC_DEV_PORT_OFFSET || '0';
  const port = DEV_PORT + Number(text);
  if (/^-?\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CliError('generic', `SVC_DEV_PORT_OFFSET is "${text}", which gives no port from 1 to 65535.`, {
    suggestion: 'Set it to a whole number, or remove it.',
  });
}

/** A token over plain HTTP is worth a word, unless it never leaves this machine. */
function toTarget(text: string, { env, say }: Pick<Context, 'env' | 'say'>): Target {
  const url = parseAddress(text);
  const token = env.SVC_API_TOKEN?.trim();
  if (token && url.protocol === 'http:' && !LOOPBACK.includes(url.hostname))
    say(`SVC_API_TOKEN goes to ${url.host} unencrypted.`);
  return { url: url.origin + url.pathname.replace(/\/+$/, ''), ...(token ? { token } : {}) };
}

function parseAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password;
  if (isPlain) return url;
  throw usageError(`--url does not take "${text}".`, 'Use the address of a box, as in https://box.example.com.');
}
