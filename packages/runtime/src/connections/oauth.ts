import type * as OAuthLibrary from 'oauth4webapi';
import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi';
import { BoxError } from '../errors.ts';
import { capAnswer } from '../http/capped-answer.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { TokenAuth } from './providers.ts';

/** A client of OAuth 2 at a service. */
export interface OAuthClient {
  authorizationUrl: string | null;
  tokenUrl: string;
  clientId: string;
  clientSecret: string | undefined;
  tokenAuth: TokenAuth;
}

export interface Tokens {
  access: string;
  /** Undefined: none, or the one there was. */
  refresh: string | undefined;
  /** Null: the service does not say. */
  expiresAt: Date | null;
  scopes: string | null;
}

/** A refusal is the service's answer, and is one again. Anything else is thrown as `connection_failed`. */
export type Granted = { tokens: Tokens } | { refusal: string; isFinal: boolean };

export interface OAuth {
  /** @param answer the query of the callback */
  redeem(
    client: OAuthClient,
    answer: URLSearchParams,
    sent: { state: string; verifier: string; redirectUri: string },
  ): Promise<Granted>;
  refresh(client: OAuthClient, refreshToken: string): Promise<Granted>;
  clientCredentials(client: OAuthClient, scopes: string | undefined): Promise<Granted>;
  /** Takes a token back, as RFC 7009 defines it. Answers why the service does not. Throws `connection_failed`. */
  revoke(client: OAuthClient, revocation: RevocationRequest): Promise<string | undefined>;
  /**
   * Where the server of these tokens says that they are taken back, as RFC 8414 defines it: an address of its own origin alone.
   * Throws `connection_failed`.
   */
  findRevocationUrl(tokenUrl: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface RevocationRequest {
  url: string;
  token: string;
  kind: 'access_token' | 'refresh_token';
  signal: AbortSignal;
}

export function createOAuth(fetch: GuardedFetch): OAuth {
  /** The library is loaded with the first call: most boxes have no connection. */
  const ask = async (
    { authorizationUrl, tokenUrl, clientId, clientSecret, tokenAuth }: OAuthClient,
    call: (asked: Asked) => Promise<TokenEndpointResponse>,
  ): Promise<Granted> => {
    const oauth = await import('oauth4webapi');
    const server = {
      issuer: new URL(tokenUrl).origin,
      token_endpoint: tokenUrl,
      ...(authorizationUrl === null ? {} : { authorization_endpoint: authorizationUrl }),
    };
    const options = {
      // What may be called without TLS is settled when the connection is made.
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: (url: string, init: TokenRequest) => askTokens(fetch, url, init),
    };
    const auth = toAuth(oauth, tokenAuth, clientSecret);
    try {
      return { tokens: toTokens(await call({ oauth, server, client: { client_id: clientId }, auth, options })) };
    } catch (error) {
      return toRefusal(oauth, error, tokenUrl);
    }
  };

  return {
    redeem: (given, answer, { state, verifier, redirectUri }) =>
      ask(given, async ({ oauth, server, client, auth, options }) => {
        const query = new URLSearchParams(answer);
        // Which server answered is known by the state, which is kept for one; services name themselves in many ways.
        query.delete('iss');
        const checked = oauth.validateAuthResponse(server, client, query, state);
        const sent = [server, client, auth, checked, redirectUri, verifier, options] as const;
        return oauth.processAuthorizationCodeResponse(
          server,
          client,
          await oauth.authorizationCodeGrantRequest(...sent),
        );
      }),
    refresh: (given, token) =>
      ask(given, async ({ oauth, server, client, auth, options }) =>
        oauth.processRefreshTokenResponse(
          server,
          client,
          await oauth.refreshTokenGrantRequest(server, client, auth, token, options),
        ),
      ),
    clientCredentials: (given, scopes) =>
      ask(given, async ({ oauth, server, client, auth, options }) => {
        const asked: Record<string, string> = scopes === undefined ? {} : { scope: scopes };
        return oauth.processClientCredentialsResponse(
          server,
          client,
          await oauth.clientCredentialsGrantRequest(server, client, auth, asked, options),
        );
      }),
    async revoke({ clientId, clientSecret, tokenAuth }, { url, token, kind, signal }) {
      const oauth = await import('oauth4webapi');
      const server = { issuer: new URL(url).origin, revocation_endpoint: url };
      const auth = toAuth(oauth, tokenAuth, clientSecret);
      const answer = await oauth.revocationRequest(server, { client_id: clientId }, auth, token, {
        additionalParameters: { token_type_hint: kind },
        [oauth.allowInsecureRequests]: true,
        [oauth.customFetch]: (to: string, init: TokenRequest) => send(fetch, to, init, signal),
      });
      return readRefusal(answer);
    },
    async findRevocationUrl(tokenUrl, signal) {
      const { origin } = new URL(tokenUrl);
      const url = new URL('/.well-known/oauth-authorization-server', origin);
      const answer = await send(fetch, url.href, { method: 'GET', headers: { accept: 'application/json' } }, signal);
      if (!answer.ok) await answer.body?.cancel();
      // What is out of order has not said that there is none.
      if (answer.status >= 500 || answer.status === 429)
        throw new BoxError('connection_failed', `${origin} answered ${answer.status}.`);
      if (!answer.ok) return undefined;
      const { token_endpoint: said, revocation_endpoint: found } = parse(await readText(answer));
      // Of another tenant of the same host, or of none.
      if (said !== tokenUrl || typeof found !== 'string' || !URL.canParse(found)) return undefined;
      return new URL(found).origin === origin ? found : undefined;
    },
  };
}

// --- internal ---

type Library = typeof OAuthLibrary;

interface TokenRequest {
  method: string;
  headers: RequestInit['headers'];
  body?: unknown;
}

interface Asked {
  oauth: Library;
  server: AuthorizationServer;
  client: Client;
  auth: ClientAuth;
  options: object;
}

const TIMEOUT_MS = 15_000;
const MOST_BYTES = 262_144;
/** The client is to be changed, or the person to sign in again: the same request has no better answer. */
const FINAL = new Set([
  'invalid_grant',
  'unauthorized_client',
  'bad_refresh_token',
  'bad_verification_code',
  'invalid_code',
]);

function toAuth(oauth: Library, tokenAuth: TokenAuth, secret: string | undefined): ClientAuth {
  if (tokenAuth === 'none' || secret === undefined) return oauth.None();
  return tokenAuth === 'basic' ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
}

async function askTokens(fetch: GuardedFetch, url: string, request: TokenRequest): Promise<Response> {
  const answer = await send(fetch, url, request, AbortSignal.timeout(TIMEOUT_MS));
  return toStandard(answer.status, parse(await readText(answer)));
}

function send(
  fetch: GuardedFetch,
  url: string,
  { method, headers, body }: TokenRequest,
  signal: AbortSignal,
): Promise<Response> {
  const text = body === undefined ? undefined : String(body);
  return fetch(new URL(url), { method, headers: new Headers(headers), body: text, signal });
}

function readText(answer: Response): Promise<string> {
  return capAnswer(answer, { mostBytes: MOST_BYTES, tooLong }).text();
}

/** A token that is not known any more is taken back as well: of that the service says that all is well. */
async function readRefusal(answer: Response): Promise<string | undefined> {
  if (answer.ok) return void (await answer.body?.cancel());
  const { error } = parse(await readText(answer));
  return typeof error === 'string' ? toAscii(error).slice(0, 100) : `it answered ${answer.status}`;
}

function tooLong(): BoxError {
  return new BoxError('connection_failed', `The service answered more than ${MOST_BYTES} bytes for a token.`);
}

/** Some answer as a form. */
function parse(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

/** RFC 6749, and what services do besides: they say "bot", leave the kind out, refuse with 200, and add an identity no one asked for. */
function toStandard(status: number, body: Record<string, unknown>): Response {
  const { id_token: _, token_type: __, refresh_token: refresh, scope, expires_in: expiresIn, ...rest } = body;
  if (typeof rest.access_token !== 'string') {
    const error = typeof rest.error === 'string' ? rest.error : 'invalid_response';
    const description = typeof rest.error_description === 'string' ? rest.error_description : undefined;
    const refusal = { error: toAscii(error), ...(description ? { error_description: toAscii(description) } : {}) };
    return Response.json(refusal, { status: status >= 400 ? status : 400 });
  }
  const seconds = Number(expiresIn);
  return Response.json({
    access_token: rest.access_token,
    token_type: 'bearer',
    ...(typeof refresh === 'string' && refresh !== '' ? { refresh_token: refresh } : {}),
    ...(typeof scope === 'string' ? { scope } : {}),
    ...(Number.isFinite(seconds) && seconds > 0 ? { expires_in: seconds } : {}),
  });
}

function toTokens({
  access_token: access,
  refresh_token: refresh,
  expires_in: seconds,
  scope,
}: TokenEndpointResponse): Tokens {
  const expiresAt = seconds === undefined ? null : new Date(Date.now() + Math.min(seconds, LONGEST_SECONDS) * 1_000);
  return { access, refresh, expiresAt, scopes: scope?.replaceAll(/[,\s]+/g, ' ').trim() ?? null };
}

const LONGEST_SECONDS = 10 * 365 * 86_400;

function toRefusal(oauth: Library, error: unknown, tokenUrl: string): Granted {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const { error: code, error_description: description } = error;
    const isFinal = error instanceof oauth.AuthorizationResponseError || FINAL.has(code);
    return { refusal: description ? `${code}: ${description}`.slice(0, 300) : code, isFinal };
  }
  if (error instanceof BoxError) throw error;
  const { cause } = error as Error;
  if (cause instanceof BoxError) throw cause;
  const { origin } = new URL(tokenUrl);
  const why = error instanceof Error ? error.message : String(error);
  throw new BoxError('connection_failed', `${origin} did not answer as OAuth 2 requires: ${why}.`, { cause: error });
}

function toAscii(text: string): string {
  return text
    .replaceAll(/[^\u0020-\u007e]/g, '?')
    .replaceAll('"', "'")
    .replaceAll('\\', '/');
}
