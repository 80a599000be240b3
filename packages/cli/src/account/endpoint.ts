import { CliError, usageError } from '../errors.ts';
import { readCredentials } from './credentials.ts';
import { readLink } from './project-link.ts';

type Env = Record<string, string | undefined>;

export interface EndpointSources {
  env: Env;
  /** What --endpoint says. */
  flag?: string | undefined;
  /** The workspace, which may be linked. */
  root?: string | undefined;
}

/**
 * The control plane that is meant, without a slash at the end: that of the flag, of SVC_CONTROL_PLANE_URL, of the link
 * of the workspace, or the one signed in to last. Undefined: none is configured, and everything local works without.
 */
export function findEndpoint({ env, flag, root }: EndpointSources): string | undefined {
  if (flag !== undefined) return parseEndpoint(flag, `--endpoint does not take "${flag}".`);
  const text = env.SVC_CONTROL_PLANE_URL?.trim();
  if (text) return parseEndpoint(text, `SVC_CONTROL_PLANE_URL is "${text}", which is no address of a control plane.`);
  return (root === undefined ? undefined : readLink(root)?.endpoint) ?? readCredentials(env).current;
}

/**
 * The same for what works without an account: where none is configured, a file that cannot be used is in no one's
 * way. A word about it goes to `say`.
 */
export function findOptionalEndpoint(sources: EndpointSources, say: (line: string) => void): string | undefined {
  try {
    return findEndpoint(sources);
  } catch (error) {
    if (!(error instanceof CliError) || !UNUSABLE.includes(error.code) || isSignedIn(sources.env)) throw error;
    say(`${error.message} Going on without a control plane.`);
    return undefined;
  }
}

// --- internal ---

const UNUSABLE: readonly string[] = ['credentials_invalid', 'project_link_invalid'];

function isSignedIn(env: Env): boolean {
  try {
    return readCredentials(env).current !== undefined;
  } catch {
    return false;
  }
}

function parseEndpoint(text: string, problem: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password;
  if (isPlain) return url.origin + url.pathname.replace(/\/+$/, '');
  throw usageError(problem, 'Use scheme and host, as in https://studio.example.com.');
}
