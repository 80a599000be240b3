import { z } from 'zod';
import { answerJson } from '../../../runtime/src/http/answer.ts';
import { PlaneError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { Db } from '../store/db.ts';
import { createThrottle } from '../throttle/throttle.ts';
import type { DeviceCodes } from './device-codes.ts';
import type { Families, Grant } from './families.ts';

export interface OauthRoutes {
  db: Db;
  now(): number;
  publicUrl(): string;
  deviceCodes: DeviceCodes;
  families: Families;
}

/** What the command line signs in by: RFC 8628, refresh tokens, RFC 7009, and RFC 8414 which says so. */
export function oauthRoutes({ db, now, publicUrl, deviceCodes, families }: OauthRoutes): Route[] {
  const common = { method: 'POST', tag: 'oauth', access: 'anyone', origin: 'never', bodyType: 'form' } as const;
  const oauth = { ...common, toErrorBody } as const;
  // Each leaves a row for a quarter of an hour, and no credential is asked for.
  const started = createThrottle({ db, now, kind: 'device-start', most: MOST_STARTS, message: 'Too many sign-ins.' });
  return [
    route({
      id: 'oauth.metadata',
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      summary: 'Say where a client signs in, and how',
      tag: 'oauth',
      access: 'anyone',
      answer: z.record(z.string(), z.unknown()),
      handle: async () => answerJson(200, toMetadata(publicUrl()), { 'cache-control': 'public, max-age=300' }),
    }),
    route({
      ...oauth,
      id: 'oauth.device',
      path: '/oauth/device_authorization',
      summary: 'Ask for a code that a person approves on another device',
      body: z.object({ ...Client, device_name: z.string().max(1_000).default('') }),
      answer: DeviceAnswer,
      errors: ['invalid_client', 'rate_limited'],
      async handle({ address }, { body }) {
        const clientId = requireClient(body.client_id);
        await started.count([address ?? '']);
        const asked = { clientId, deviceName: toShown(body.device_name), address };
        const { deviceCode, userCode, expiresIn, interval } = await deviceCodes.start(asked);
        const page = `${publicUrl()}/device`;
        return {
          device_code: deviceCode,
          user_code: userCode,
          verification_uri: page,
          verification_uri_complete: `${page}?user_code=${userCode}`,
          expires_in: expiresIn,
          interval,
        };
      },
    }),
    route({
      ...oauth,
      id: 'oauth.token',
      path: '/oauth/token',
      summary: 'Exchange an approved code, or a refresh token, for tokens',
      body: z.object({
        ...Client,
        grant_type: z.string().max(200).optional(),
        device_code: z.string().max(200).optional(),
        refresh_token: z.string().max(200).optional(),
      }),
      answer: TokenAnswer,
      errors: OAUTH_CODES,
      async handle({ address }, { body }) {
        const clientId = requireClient(body.client_id);
        const grantType = need(body.grant_type, 'grant_type');
        if (grantType === DEVICE_GRANT)
          return toTokenAnswer(await deviceCodes.poll(need(body.device_code, 'device_code'), clientId));
        if (grantType === 'refresh_token')
          return toTokenAnswer(
            await families.refresh(need(body.refresh_token, 'refresh_token'), { clientId, address }),
          );
        throw new PlaneError(
          'unsupported_grant_type',
          `The grant type is not supported. This server has "${DEVICE_GRANT}" and "refresh_token".`,
        );
      },
    }),
    route({
      ...oauth,
      id: 'oauth.revoke',
      path: '/oauth/revoke',
      summary: 'End the session of a refresh token, or an access token; an unknown one is answered the same',
      body: z.object({ ...Client, token: z.string().max(8_192).optional() }),
      errors: ['invalid_client'],
      async handle({ address }, { body }) {
        const clientId = requireClient(body.client_id);
        await families.revoke(need(body.token, 'token'), { clientId, address });
        return new Response(null, { status: 200 });
      },
    }),
  ];
}

// --- internal ---

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The one there is, which has no secret: it runs on machines of people. */
const CLIENT_ID = 'svc-cli';
/** Of an address in a minute. */
const MOST_STARTS = 60;
const LONGEST_NAME = 100;

const Client = { client_id: z.string().max(200).optional().describe('`svc-cli`') };

const DeviceAnswer = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number(),
  interval: z.number(),
});

const TokenAnswer = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.number(),
  refresh_token: z.string(),
});

/** What OAuth has no name for. */
const NAMES: Partial<Record<string, string>> = {
  rate_limited: 'temporarily_unavailable',
  internal: 'server_error',
};
const OAUTH_CODES: readonly ErrorCode[] = [
  'invalid_client',
  'invalid_grant',
  'unsupported_grant_type',
  'authorization_pending',
  'slow_down',
  'expired_token',
  'access_denied',
];

/** Whatever a 503 is for, as a store that is away or full, it is no fault of the request: a client tries again. */
function toErrorBody({ code, message, status }: { code: string; message: string; status: number }): object {
  const other = NAMES[code] ?? (status === 503 ? 'temporarily_unavailable' : 'invalid_request');
  const error = OAUTH_CODES.some((known) => known === code) ? code : other;
  return { error, error_description: toPrintable(message) };
}

/** RFC 6749 allows the visible signs of ASCII but for the quote and the backslash. */
function toPrintable(message: string): string {
  return message.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?');
}

function requireClient(clientId: string | undefined): string {
  if (clientId === CLIENT_ID) return clientId;
  throw new PlaneError('invalid_client', `There is one client, "${CLIENT_ID}": name it as client_id.`);
}

function need(value: string | undefined, name: string): string {
  if (value) return value;
  throw new PlaneError('invalid_request', `The parameter "${name}" is missing.`);
}

/** A person reads it beside other words: nothing in it moves the cursor, or the direction of the text. */
function toShown(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  return [...plain].slice(0, LONGEST_NAME).join('') || 'a machine without a name';
}

function toTokenAnswer({ accessToken, refreshToken, expiresIn }: Grant): Response {
  const body = { access_token: accessToken, token_type: 'Bearer', expires_in: expiresIn, refresh_token: refreshToken };
  return answerJson(200, body, { 'cache-control': 'no-store', pragma: 'no-cache' });
}

function toMetadata(issuer: string): object {
  return {
    issuer,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    grant_types_supported: [DEVICE_GRANT, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
  };
}
