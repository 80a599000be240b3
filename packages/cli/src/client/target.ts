import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Target } from './control-plane.ts';
import { findDeployment } from './deployment.ts';
import { CliError, usageError } from '../errors.ts';
import type { Context } from '../context.ts';
import { WORKSPACE_PATH } from '../dev/workspace-path.ts';
import { isRecord } from '../is-record.ts';
import { toPlainText } from '../terminal/style.ts';

/** What a command line says about its box. */
export interface TargetNames {
  /** The installation id of a deployed box, which the control plane knows. */
  agent?: string | undefined;
  url?: string | undefined;
}

/**
 * With `agent`: the deployed box of that installation. With `url`: the box on that address, with the token of
 * SVC_API_TOKEN. With neither: the dev runtime of the project around `cwd`, as `svc dev` noted it in `.svc/dev.json`,
 * else the usual address. Throws `dev_not_running` where the box of another workspace is there.
 */
export async function resolveTarget(
  { agent, url }: TargetNames,
  context: Pick<Context, 'cwd' | 'env' | 'say'>,
): Promise<Target> {
  if (agent !== undefined && url !== undefined)
    throw usageError('--agent and --url both name a box.', 'Leave one of them out.');
  if (agent !== undefined) return findDeployment(agent, { ...context, root: findProject(context.cwd) });
  if (url !== undefined) return toTarget(url, context);
  const noted = readDevNote(context.cwd);
  const dev: Target = { url: noted?.url ?? `http://127.0.0.1:${defaultPort(context.env)}`, isDev: true };
  await checkWorkspace(dev.url, { cwd: context.cwd, id: noted?.id });
  return dev;
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

/** What only a workspace has: a folder named `workflows` alone may be inside of one, as `.github/workflows` is. */
const OWN_SIGNS = ['svc.json', 'svc.config.ts', 'deep-agents', '.svc/manifest.json', '.svc/dev.json'];

interface DevNote {
  url: string;
  /** Of the box that wrote it. Undefined: it was one of an earlier version. */
  id: string | undefined;
}

/** A file that is missing, half written or names another machine counts as absent. */
function readDevNote(cwd: string): DevNote | undefined {
  const project = findOwn(cwd) ?? findProject(cwd);
  if (!project) return undefined;
  try {
    const note = JSON.parse(readFileSync(join(project, '.svc', 'dev.json'), 'utf8')) as { url: string; id?: unknown };
    const { origin, hostname } = new URL(note.url);
    const id = typeof note.id === 'string' ? note.id : undefined;
    return LOOPBACK.includes(hostname) ? { url: origin, id } : undefined;
  } catch {
    return undefined;
  }
}

function isOwn(folder: string): boolean {
  return OWN_SIGNS.some((sign) => existsSync(join(folder, sign)));
}

/** The closest folder at or above `from` that is a workspace and nothing else. */
function findOwn(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    if (isOwn(folder)) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * Throws when the box there is that of another workspace than the one around `cwd`. It is the same where it has the `id` that is
 * noted, whatever its folder is called in its container; one that does not say whose it is is taken.
 */
async function checkWorkspace(url: string, { cwd, id }: { cwd: string; id: string | undefined }): Promise<void> {
  const project = findProject(cwd);
  if (project === undefined) return;
  const answer = await askWorkspace(url);
  if (!answer || (id !== undefined && answer.id === id)) return;
  if (answer.workspace === realpathSync(project) || isInside(realpathSync(cwd), answer.workspace)) return;
  throw new CliError(
    'dev_not_running',
    `The dev runtime on ${url} serves "${toPlainText(answer.workspace)}", and this is "${project}".`,
    {
      suggestion: `Start the one of this folder beside it: SVC_DEV_PORT_OFFSET=100 svc dev. To ask the other: --url ${url}`,
    },
  );
}

async function askWorkspace(url: string): Promise<{ workspace: string; id: unknown } | undefined> {
  try {
    const response = await fetch(url + WORKSPACE_PATH, { signal: AbortSignal.timeout(WHOSE_MS) });
    const answer: unknown = await response.json();
    if (!response.ok || !isRecord(answer) || typeof answer.workspace !== 'string') return undefined;
    return { workspace: answer.workspace, id: answer.id };
  } catch {
    return undefined;
  }
}

/** Whether `folder` is one of the served workspace, with no other workspace between the two. */
function isInside(folder: string, served: string): boolean {
  for (let above = folder; above !== served; above = dirname(above))
    if (isOwn(above) || above === dirname(above)) return false;
  return true;
}

/** A box that is busy answers within it. */
const WHOSE_MS = 5_000;

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
