import { z } from 'zod';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { OAuth, RevocationRequest } from './oauth.ts';
import { isOAuth } from './providers.ts';
import { clientOf } from './resolve.ts';
import type { Resolved } from './resolve.ts';
import type { CredentialParts } from './store.ts';

/** What has come of taking back what a service had granted. */
export const Revocation = z.object({
  state: z
    .enum(['revoked', 'failed', 'not_offered', 'none'])
    .describe(
      'revoked: all of it; failed: not all of it; not_offered: the service has no address for that, or knows the box by a key; none: there was nothing',
    ),
  revoked: z.int().describe('How many credentials the service has revoked: of the box, and of each user one'),
  left: z.int().describe('How many may be good at the service still'),
  message: z.string(),
});
export type Revocation = z.infer<typeof Revocation>;

export interface RevocationOrder {
  service: Resolved;
  clientSecret: string | undefined;
  credentials: readonly CredentialParts[];
  /** How many there were, of which `credentials` are the first. */
  count: number;
}

/** Never throws, and ends within ten seconds: what it is about is gone here already. */
export type Revoke = (order: RevocationOrder) => Promise<Revocation>;

export interface RevokeOptions {
  oauth: Pick<OAuth, 'revoke' | 'findRevocationUrl'>;
  log: Log;
}

export function createRevoke({ oauth, log }: RevokeOptions): Revoke {
  const toFailed = ({ service }: RevocationOrder, { revoked, left, why }: Failed): Revocation => {
    const { title, connectionId } = service;
    log.warn('A service has not revoked all that it had granted.', { connection: connectionId, left, problem: why });
    return toAnswer(
      'failed',
      revoked,
      left,
      `${title} has not revoked ${left} of ${revoked + left}: ${why}. Do it there.`,
    );
  };
  return async (order) => {
    const { service, credentials } = order;
    const { title, auth } = service;
    const granted = isOAuth(auth) ? credentials.filter(isGrant) : credentials;
    const count = order.count - (credentials.length - granted.length);
    if (count === 0) return toAnswer('none', 0, 0, 'There was nothing to take back.');
    if (!isOAuth(auth))
      return toAnswer('not_offered', 0, count, `What ${title} knows the box by is valid until it is deleted there.`);
    const signal = AbortSignal.timeout(REVOKE_MS);
    const problems = new Set<string>();
    const found = await findUrl(oauth, service, signal);
    if ('problem' in found) return toFailed(order, { revoked: 0, left: count, why: found.problem });
    const { url } = found;
    if (url === undefined)
      return toAnswer('not_offered', 0, count, `${title} names no address to take tokens back at: do it there.`);
    let revoked = 0;
    const waiting = granted.values();
    const work = async (): Promise<void> => {
      for (const parts of waiting) {
        const problem = await revokeOne(oauth, order, parts, { url, signal });
        if (problem === undefined) revoked++;
        else problems.add(problem);
        if (signal.aborted) return;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const left = count - revoked;
    if (left === 0) return toAnswer('revoked', revoked, 0, `${title} has revoked what it had granted.`);
    const why = [...problems].slice(0, 3).join('; ') || 'there were more than it could be asked for';
    return toFailed(order, { revoked, left, why });
  };
}

// --- internal ---

const REVOKE_MS = 10_000;
const AT_ONCE = 8;

interface Failed {
  revoked: number;
  left: number;
  why: string;
}

function toAnswer(state: Revocation['state'], revoked: number, left: number, message: string): Revocation {
  return { state, revoked, left, message };
}

/** A client by itself that has called nothing has been granted nothing. */
function isGrant({ access, refresh }: CredentialParts): boolean {
  return access !== undefined || refresh !== undefined;
}

async function findUrl(
  oauth: RevokeOptions['oauth'],
  { revocationUrl, mayOfferRevocation, tokenUrl }: Resolved,
  signal: AbortSignal,
): Promise<{ url: string | undefined } | { problem: string }> {
  if (revocationUrl !== null) return { url: revocationUrl };
  if (!mayOfferRevocation || tokenUrl === null) return { url: undefined };
  try {
    return { url: await oauth.findRevocationUrl(tokenUrl, signal) };
  } catch (error) {
    // Few say it, and none has to. One that cannot be asked has not said that it does not.
    return { problem: toProblem(error, signal) };
  }
}

function toProblem(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'it did not answer in time';
  return error instanceof BoxError ? error.message.replace(/\.$/, '') : 'its answer could not be read';
}

/** With the token to refresh with, all that came of the same grant goes. Not every service sees to that, so the other is named too. */
async function revokeOne(
  oauth: RevokeOptions['oauth'],
  { service, clientSecret }: RevocationOrder,
  { access, refresh }: CredentialParts,
  asked: Pick<RevocationRequest, 'url' | 'signal'>,
): Promise<string | undefined> {
  const client = clientOf(service, clientSecret);
  const revoke = async (token: string, kind: RevocationRequest['kind']): Promise<string | undefined> => {
    try {
      // Each with a signal of its own: no number of listeners gathers at one.
      return await oauth.revoke(client, { url: asked.url, token, kind, signal: AbortSignal.any([asked.signal]) });
    } catch (error) {
      return toProblem(error, asked.signal);
    }
  };
  if (refresh === undefined) return access === undefined ? undefined : revoke(access, 'access_token');
  const problem = await revoke(refresh, 'refresh_token');
  if (access !== undefined && !asked.signal.aborted) await revoke(access, 'access_token');
  return problem;
}
