import { BoxError } from '../errors.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { findPrivate, hostOf, isLoopbackHost, requireLiteral } from '../provider/egress.ts';
import { policyToSet } from '../provider/given-address.ts';
import type { OAuthClient } from './oauth.ts';
import { CUSTOM, findService, isOAuth, listProviders } from './providers.ts';
import type { AuthKind, Service } from './providers.ts';
import type { ConnectionSettings, StoredConnection } from './store.ts';

/** A connection with what its service says. */
export interface Resolved extends Omit<Service, 'auth' | 'origins'> {
  connectionId: string;
  auth: AuthKind;
  per: 'box' | 'user';
  clientId: string | null;
  baseUrl: string;
  /** All that are sent the credential. */
  origins: readonly string[];
  /** It is not known whether its tokens can be taken back: the service is asked when they are to be. */
  mayOfferRevocation: boolean;
}

export function resolve({ id, provider, auth, per, title, settings }: StoredConnection): Resolved {
  // A release may drop a service; what the connection says itself is still good.
  const service = findService(provider) ?? findService(CUSTOM)!;
  const { origins = [], ...own } = settings;
  const baseUrl = own.baseUrl ?? service.baseUrl ?? 'https://invalid.invalid';
  // What another server has handed out is no business of the service's own.
  const isElsewhere = service.tokenUrl === null || (own.tokenUrl ?? service.tokenUrl) !== service.tokenUrl;
  const revocationUrl = own.revocationUrl ?? (isElsewhere ? null : service.revocationUrl);
  return {
    ...service,
    ...own,
    connectionId: id,
    auth,
    per,
    title: title ?? service.title,
    baseUrl,
    revocationUrl,
    mayOfferRevocation: revocationUrl === null && isElsewhere,
    origins: [...new Set([new URL(baseUrl).origin, ...service.origins, ...origins])],
    clientId: own.clientId ?? null,
    // Those of a service are what a person is asked for.
    scopes: own.scopes ?? (auth === 'oauth2' ? service.scopes : []),
  };
}

export interface NewConnection extends ConnectionSettings {
  id: string;
  provider: string;
  auth?: AuthKind | undefined;
  per: 'box' | 'user';
  title?: string | undefined;
}

/** What is to be stored. Throws `connection_invalid`, which names the member. */
export function toStored(
  { id, provider, auth: wanted, per, title = '', ...settings }: NewConnection,
  policy: EgressPolicy,
): Omit<StoredConnection, 'createdBy' | 'createdAt' | 'updatedAt'> {
  const service = findService(provider);
  if (!service) {
    const known = listProviders().map((one) => one.id);
    throw invalid('provider', `There is no service "${provider}". Known are: ${known.join(', ')}.`);
  }
  const auth = wanted ?? service.auth[0]!;
  if (!service.auth.includes(auth))
    throw invalid('auth', `${service.title} knows its callers by ${service.auth.join(' or ')}, not by ${auth}.`);
  if (per === 'user' && auth !== 'oauth2')
    throw invalid('per', 'Each user has a credential of their own only with "auth": "oauth2".');
  requireSettings(service, auth, settings);
  for (const [member, text] of listAddresses(settings)) {
    const url = requireUrl(member, text, policy);
    if (member === 'origins' && url.origin !== text)
      throw invalid('origins', `"${text}" is no origin: it has a path, or a "/" at its end.`);
  }
  return { id, provider, auth, per, title: title.trim() || null, settings };
}

/**
 * Throws `connection_invalid` for an address whose name leads where the box must not call. One that is not known yet is let
 * be: it is looked at again whenever it is called.
 */
export async function requireAddresses(
  { settings }: Pick<StoredConnection, 'settings'>,
  egress: EgressPolicy,
): Promise<void> {
  const refusals = listAddresses(settings).map(async ([member, text]) => {
    const url = new URL(text);
    const refusal = await findPrivate(url, policyToSet(url, egress), { letsUnknown: true });
    return refusal === undefined ? undefined : refuse(member, refusal);
  });
  const found = (await Promise.all(refusals)).find((refusal) => refusal !== undefined);
  if (found) throw found;
}

/** As what the box is known to the server of its tokens. */
export function clientOf(
  { authorizationUrl, tokenUrl, clientId, tokenAuth }: Resolved,
  clientSecret: string | undefined,
): OAuthClient {
  return { authorizationUrl, tokenUrl: tokenUrl ?? '', clientId: clientId ?? '', clientSecret, tokenAuth };
}

export function invalid(member: string, message: string): BoxError {
  return new BoxError('connection_invalid', message, { details: { member } });
}

// --- internal ---

const URLS = ['baseUrl', 'authorizationUrl', 'tokenUrl', 'revocationUrl'] as const;

const OF_OAUTH = ['clientId', 'revocationUrl'] as const;

/** All that the box calls, or has a person call, with the member that names it. */
function listAddresses(settings: ConnectionSettings): [member: string, text: string][] {
  const single = URLS.flatMap((name) =>
    settings[name] === undefined ? [] : [[name, settings[name]] as [string, string]],
  );
  return [...single, ...(settings.origins ?? []).map((origin): [string, string] => ['origins', origin])];
}

function requireSettings(service: Service, auth: AuthKind, settings: ConnectionSettings): void {
  const needed: (keyof ConnectionSettings)[] = service.baseUrl === null ? ['baseUrl'] : [];
  if (isOAuth(auth)) needed.push('clientId');
  if (isOAuth(auth) && service.tokenUrl === null) needed.push('tokenUrl');
  if (auth === 'oauth2' && service.authorizationUrl === null) needed.push('authorizationUrl');
  for (const member of needed)
    if (settings[member] === undefined)
      throw invalid(member, `A connection to ${service.title} by ${auth} needs "${member}".`);
  for (const member of OF_OAUTH)
    if (!isOAuth(auth) && settings[member] !== undefined)
      throw invalid(member, `A connection by ${auth} has no "${member}".`);
}

/** What the box must not call is refused when it is called too: a name may mean another address then. */
function requireUrl(member: string, text: string, policy: EgressPolicy): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.username !== '' || url.password !== ''))
    throw invalid(member, `"${member}" carries credentials. Send them with PUT /api/connections/:id/credential.`);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid(member, `"${member}" is no http or https address.`);
  if (url.hash !== '') throw invalid(member, `"${member}" has a fragment: leave out what follows the "#".`);
  const own = policyToSet(url, policy);
  const isLocal = own.allowLoopback && isLoopbackHost(hostOf(url));
  if (url.protocol === 'http:' && !isLocal && !policy.allowed.includes(url.hostname))
    throw invalid(
      member,
      `"${member}" begins with "http:", which would send the credential in the clear. Use https, or list "${url.hostname}" in SVC_ALLOW_PRIVATE_EGRESS.`,
    );
  requireLiteral(url, { ...own, refuse: (what) => refuse(member, what) });
  return url;
}

function refuse(member: string, what: string): BoxError {
  return invalid(member, `${what}. List it in SVC_ALLOW_PRIVATE_EGRESS.`);
}
