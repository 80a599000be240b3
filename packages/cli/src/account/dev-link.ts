import { basename } from 'node:path';
import { CliError, EXIT } from '../errors.ts';
import type { Context } from '../context.ts';
import { readCredentials } from './credentials.ts';
import { findOptionalEndpoint } from './endpoint.ts';
import { readLink, writeLink } from './project-link.ts';
import type { ProjectLink } from './project-link.ts';
import { needSession } from './session.ts';
import type { Installation, SignedIn } from './session.ts';

export interface DevLinkOptions {
  /** The workspace. */
  root: string;
  /** False: nothing is asked, as with --yes and in CI. */
  mayAsk: boolean;
  /** What `.env` adds to the environment. */
  fromFile?: Record<string, string>;
}

/** A workspace that is an agent of an organization, and the session it was found with. */
export interface LinkedWorkspace {
  link: ProjectLink;
  session: SignedIn;
}

/**
 * Which agent of the organization the workspace is, asked for when it is none. Undefined: no control plane is
 * configured, or it is away; the box runs all the same. Throws `not_signed_in`, `not_linked` or `agent_not_found`.
 */
export async function linkForDev(options: DevLinkOptions, given: Context): Promise<LinkedWorkspace | undefined> {
  const { root, mayAsk, fromFile = {} } = options;
  const env = { ...fromFile, ...given.env };
  const context = { ...given, env };
  const endpoint = findOptionalEndpoint({ env, root }, context.say);
  if (endpoint === undefined) return undefined;
  const session = needSession(endpoint, context);
  const kept = readLink(root);
  const link = kept?.endpoint === endpoint ? kept : undefined;
  try {
    if (link) return { session, link: await checkLink(session, link) };
    const chosen = mayAsk ? await choose(session, root, context) : undefined;
    if (chosen) return { session, link: chosen };
    const isInFile = given.env[VARIABLE] === undefined;
    throw notLinked(root, { endpoint, leave: suggestLeaving(env, isInFile) });
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'control_plane_unavailable') throw error;
    context.say(`${error.message} The box runs without it.`);
    return undefined;
  }
}

/** A new agent of the organization, which the workspace is from here on. */
export async function createLink(session: SignedIn, root: string, name: string): Promise<ProjectLink> {
  const made = await session.request<Installation>({ method: 'POST', path: INSTALLATIONS, body: { name } });
  return keep(session, root, made);
}

// --- internal ---

const INSTALLATIONS = '/api/v1/installations';
const TRIES = 3;
const VARIABLE = 'SVC_CONTROL_PLANE_URL';

async function checkLink(session: SignedIn, link: ProjectLink): Promise<ProjectLink> {
  const path = `${INSTALLATIONS}/${encodeURIComponent(link.installationId)}`;
  await session.request({ method: 'GET', path }).catch((error: unknown) => {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.notFound) throw error;
    throw new CliError(
      'agent_not_found',
      `The agent "${link.name}" this workspace is linked to is no longer at ${session.endpoint}.`,
      { suggestion: 'Remove .svc/project.json, then run `svc dev` in a terminal to choose another.' },
    );
  });
  return link;
}

/** Undefined: nothing of the list was named. */
async function choose(session: SignedIn, root: string, { say, ask }: Context): Promise<ProjectLink | undefined> {
  const { items } = await session.request<{ items: Installation[] }>({ method: 'GET', path: INSTALLATIONS });
  const name = basename(root);
  say(`This workspace is no agent of your organization at ${session.endpoint} yet.`);
  for (const [index, agent] of items.entries()) say(`  ${index + 1}  ${agent.name}`);
  const question =
    items.length === 0
      ? `Press Enter to make the agent "${name}": `
      : `Which one is it? A number, or Enter to make the agent "${name}": `;
  for (let tries = 0; tries < TRIES; tries++) {
    const typed = (await ask(question)).trim();
    if (typed === '') return createLink(session, root, name);
    const chosen = items.find((agent, index) => typed === String(index + 1) || typed === agent.name);
    if (chosen) return keep(session, root, chosen);
    say(`There is no "${typed}" in the list.`);
  }
  return undefined;
}

function keep({ endpoint }: SignedIn, root: string, { id, name }: Installation): ProjectLink {
  const link = { endpoint, installationId: id, name };
  writeLink(root, link);
  return link;
}

function notLinked(root: string, { endpoint, leave }: { endpoint: string; leave: string }): CliError {
  return new CliError('not_linked', `"${root}" is not linked to an agent at ${endpoint}.`, {
    suggestion: `Run \`svc dev\` there in a terminal once and choose one, or ${leave} to work without.`,
  });
}

/** What names a control plane, each of which is enough. */
function suggestLeaving(env: Context['env'], isInFile: boolean): string {
  const isNamed = Boolean(env[VARIABLE]?.trim());
  const unset = isInFile ? `remove ${VARIABLE} from .env` : `unset ${VARIABLE}`;
  if (!isNamed) return 'run `svc logout`';
  return readCredentials(env).current === undefined ? unset : `${unset} and run \`svc logout\``;
}
