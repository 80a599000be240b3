import type { ControlPlane, Session, Target } from '../client/control-plane.ts';
import { CliError } from '../errors.ts';
import { changeCredentials, readCredentials } from './credentials.ts';
import type { Tokens } from './credentials.ts';
import { openOauth } from './oauth.ts';
import { askPlane, toPlaneError } from './plane.ts';
import type { PlaneRequest, Reach } from './plane.ts';

/** A session kept by `svc login`, refreshed as it grows old. */
export interface SignedIn extends Session {
  endpoint: string;
  /** Answers the body of a success; throws what the control plane says, or `session_expired`. */
  request<T>(request: PlaneRequest): Promise<T>;
}

/** One agent of the organization, wherever it runs. */
export interface Installation {
  id: string;
  name: string;
  /** Where its box answers; null: `svc link` has not registered one. */
  deployment: { url: string } | null;
}

/** The control plane of an address, with the session kept for it. */
export function openPlane(endpoint: string, reach: Reach): ControlPlane {
  return { url: endpoint, findSession: async () => findSession(endpoint, reach) };
}

/** Undefined: no session is kept for it. */
export function findSession(endpoint: string, reach: Reach): SignedIn | undefined {
  if (!Object.hasOwn(readCredentials(reach.env).endpoints, endpoint)) return undefined;
  const request = async <T>(asked: PlaneRequest) => (await send(endpoint, asked, reach)) as T;
  return { endpoint, request, findBox: (id) => findBox(request, id) };
}

/** Throws `not_signed_in`. */
export function needSession(endpoint: string, reach: Reach): SignedIn {
  const session = findSession(endpoint, reach);
  if (session) return session;
  throw new CliError('not_signed_in', `You are not signed in to ${endpoint}.`, {
    suggestion: 'Run `svc login`, then try again.',
  });
}

/** Takes the session of a control plane that has ended out of this machine. */
export async function forgetSession(endpoint: string, reach: Reach): Promise<void> {
  await changeCredentials(reach, (credentials) => {
    const { [endpoint]: _, ...others } = credentials.endpoints;
    credentials.endpoints = others;
    if (credentials.current === endpoint) delete credentials.current;
  });
}

/** The failure where no control plane is configured. */
export function noPlane(): CliError {
  return new CliError('not_signed_in', 'You are not signed in: no control plane is configured.', {
    suggestion:
      'Set SVC_CONTROL_PLANE_URL, or run `svc login --endpoint <address>`. Everything local works without one.',
  });
}

// --- internal ---

/** A token that is about to end is refreshed before it is used. */
const EARLY_MS = 30_000;

async function send(endpoint: string, asked: PlaneRequest, reach: Reach): Promise<unknown> {
  const token = await getAccessToken(endpoint, reach);
  let answer = await askPlane(endpoint, { ...asked, token }, reach);
  // A password that was asked for once more is wrong: the session goes on.
  if (answer.body.code === 'wrong_credentials') throw toPlaneError(endpoint, answer);
  // Ended before its time: by a clock that is off, or revoked.
  if (answer.status === 401)
    answer = await askPlane(endpoint, { ...asked, token: await getAccessToken(endpoint, reach, token) }, reach);
  if (answer.status === 401) throw await endSession(endpoint, reach);
  if (answer.status >= 300) throw toPlaneError(endpoint, answer);
  return answer.body;
}

/** The token that is kept, or a fresh one when it is over or is `refused`. */
async function getAccessToken(endpoint: string, reach: Reach, refused?: string): Promise<string> {
  const isGood = (tokens: Tokens | undefined): tokens is Tokens =>
    tokens !== undefined && tokens.accessToken !== refused && tokens.expiresAt - EARLY_MS > Date.now();
  const kept = readCredentials(reach.env).endpoints[endpoint];
  if (isGood(kept)) return kept.accessToken;
  return changeCredentials(reach, async ({ endpoints }) => {
    // Another command may have refreshed it while this one waited.
    const tokens = endpoints[endpoint];
    if (isGood(tokens)) return tokens.accessToken;
    if (!tokens) throw expired(endpoint);
    const fresh = await refresh(endpoint, tokens, reach);
    if (!fresh) {
      delete endpoints[endpoint];
      throw expired(endpoint);
    }
    endpoints[endpoint] = fresh;
    return fresh.accessToken;
  });
}

/** Undefined: the session is over. */
async function refresh(endpoint: string, { refreshToken }: Tokens, reach: Reach): Promise<Tokens | undefined> {
  const oauth = await openOauth(endpoint, reach);
  const { granted, refusal } = await oauth.refresh(refreshToken);
  if (refusal && refusal.body.error !== 'invalid_grant') throw toPlaneError(endpoint, refusal);
  return granted;
}

async function endSession(endpoint: string, reach: Reach): Promise<CliError> {
  await changeCredentials(reach, ({ endpoints }) => void delete endpoints[endpoint]);
  return expired(endpoint);
}

function expired(endpoint: string): CliError {
  return new CliError('session_expired', `Your session at ${endpoint} has ended.`);
}

/** Undefined: the organization has no such installation. Throws `no_deployment` for one without a box. */
async function findBox(request: SignedIn['request'], id: string): Promise<Target | undefined> {
  // Longer than any id, and maybe than the line of a request may be.
  if (id.length > 1_000) return undefined;
  const path = `/api/v1/installations/${encodeURIComponent(id)}`;
  const found = await request<Installation>({ method: 'GET', path }).catch((error: unknown) => {
    if (error instanceof CliError && error.exitCode === 4) return undefined;
    throw error;
  });
  if (!found) return undefined;
  if (!found.deployment)
    throw new CliError('no_deployment', `The agent "${found.name}" has no registered deployment.`, {
      suggestion: `Register its box: svc link ${id} --url <address> --image-tag <tag>`,
    });
  const renew = async () => {
    const { token } = await request<{ token: string }>({
      method: 'POST',
      path: `${path}/token`,
      body: { use: 'operate' },
    });
    const expiresAt = readExpiry(token);
    return { token, ...(expiresAt === undefined ? {} : { expiresAt }) };
  };
  return { url: found.deployment.url.replace(/\/+$/, ''), ...(await renew()), renew };
}

/** Of a JWT that says when it ends, in milliseconds since 1970. */
function readExpiry(token: string): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
