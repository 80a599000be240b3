import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from './errors.ts';
import type { Context } from './verb.ts';

/** The box a command talks to. */
export interface Target {
  /** Without a slash at the end. */
  url: string;
}

/**
 * Without `agent`: the dev runtime of the project around `cwd`, as `svc dev` noted it in `.svc/dev.json`, else the
 * usual address. With `agent`: the deployed box of that installation.
 */
export function resolveTarget(agent: string | undefined, context: Pick<Context, 'cwd' | 'env'>): Target {
  if (agent !== undefined) throw noDeployment(agent, context.env.SVC_CONTROL_PLANE_URL);
  return { url: readDevAddress(context.cwd) ?? `http://127.0.0.1:${defaultPort(context.env)}` };
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

function noDeployment(agent: string, plane: string | undefined): CliError {
  const reason = plane ? `this version of svc cannot ask ${plane} for it` : 'no control plane is configured';
  return new CliError('no_deployment', `There is no registered deployment "${agent}": ${reason}.`, {
    suggestion: plane
      ? 'Leave --agent out to use the dev runtime.'
      : 'Set SVC_CONTROL_PLANE_URL to your control plane, or leave --agent out to use the dev runtime.',
  });
}
