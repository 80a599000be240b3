import { BoxError } from '../errors.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { requireLiteral } from '../provider/egress.ts';
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
  for (const name of URLS) if (settings[name] !== undefined) requireUrl(name, settings[name], policy);
  for (const origin of settings.origins ?? [])
    if (requireUrl('origins', origin, policy).origin !== origin)
      throw invalid('origins', `"${origin}" is no origin: it has a path, or a "/" at its end.`);
  return { id, provider, auth, per, title: title.trim() || null, settings };
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
  const isLocal = policy.allowLoopback && LOOPBACK.has(url.hostname);
  if (url.protocol === 'http:' && !isLocal && !policy.allowed.includes(url.hostname))
    throw invalid(
      member,
      `"${member}" begins with "http:", which would send the credential in the clear. Use https, or list "${url.hostname}" in SVC_ALLOW_PRIVATE_EGRESS.`,
    );
  const refuse = (what: string) => invalid(member, `${what}. List it in SVC_ALLOW_PRIVATE_EGRESS.`);
  requireLiteral(url, { ...policy, refuse });
  return url;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
