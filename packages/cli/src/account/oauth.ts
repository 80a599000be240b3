import type { TokenEndpointResponse } from 'oauth4webapi';
import type { Tokens } from './credentials.ts';
import { askPlane } from './plane.ts';
import type { PlaneAnswer, Reach } from './plane.ts';

/** What OAuth granted, or the answer in which it did not: a refusal, or something that is none of OAuth's. */
export type Granted<T> = { granted: T; refusal?: undefined } | { granted?: undefined; refusal: PlaneAnswer };

/** What a control plane says of a device that asks for a session, as RFC 8628 names it. */
export interface DeviceGrant {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete?: string;
  /** Seconds. */
  expires_in: number;
  /** Seconds between two polls; absent: the control plane does not say. */
  interval?: number;
}

/** The OAuth side of a control plane. What cannot be reached throws as `askPlane` does. */
export interface Oauth {
  startDevice(deviceName: string): Promise<Granted<DeviceGrant>>;
  pollDevice(deviceCode: string): Promise<Granted<Tokens>>;
  refresh(refreshToken: string): Promise<Granted<Tokens>>;
}

export const CLIENT_ID = 'svc-cli';

/** The library is loaded here: a session that is fresh never needs it. */
export async function openOauth(endpoint: string, reach: Reach): Promise<Oauth> {
  const oauth = await import('oauth4webapi');
  const server = {
    issuer: endpoint,
    device_authorization_endpoint: `${endpoint}/oauth/device_authorization`,
    token_endpoint: `${endpoint}/oauth/token`,
  };
  const client = { client_id: CLIENT_ID };
  const auth = oauth.None();

  const ask = async <T>(
    send: (options: object) => Promise<Response>,
    read: (response: Response) => Promise<T | undefined>,
  ): Promise<Granted<T>> => {
    let answer: PlaneAnswer = { status: 0, body: {} };
    const options = {
      // A control plane on this machine, or behind a tunnel.
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: async (url: string, { body }: { body: URLSearchParams }) => {
        const form = Object.fromEntries(body);
        answer = await askPlane(endpoint, { method: 'POST', path: url.slice(endpoint.length), form }, reach);
        return toResponse(answer);
      },
    };
    try {
      const granted = await read(await send(options));
      return granted ? { granted } : { refusal: answer };
    } catch (error) {
      const isAnswer = [oauth.ResponseBodyError, oauth.OperationProcessingError, oauth.UnsupportedOperationError].some(
        (kind) => error instanceof kind,
      );
      if (isAnswer) return { refusal: answer };
      throw error;
    }
  };

  return {
    startDevice: (deviceName) =>
      ask(
        // The page where it is approved shows the name, so that a person sees which machine asks.
        (options) => oauth.deviceAuthorizationRequest(server, client, auth, { device_name: deviceName }, options),
        (response) => oauth.processDeviceAuthorizationResponse(server, client, response),
      ),
    pollDevice: (deviceCode) =>
      ask(
        (options) => oauth.deviceCodeGrantRequest(server, client, auth, deviceCode, options),
        async (response) => toTokens(await oauth.processDeviceCodeResponse(server, client, response)),
      ),
    refresh: (refreshToken) =>
      ask(
        (options) => oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, options),
        async (response) => toTokens(await oauth.processRefreshTokenResponse(server, client, response)),
      ),
  };
}

// --- internal ---

const DEFAULT_LIFETIME_S = 300;
const BODYLESS = [204, 205, 304];

/** As the library reads it. It takes no interval of 0, and would hold an identity, which is not asked for, to its issuer. */
function toResponse({ status, body }: PlaneAnswer): Response {
  if (BODYLESS.includes(status)) return new Response(null, { status });
  const { id_token: _, interval, ...rest } = body;
  return Response.json(typeof interval === 'number' && interval > 0 ? { ...rest, interval } : rest, { status });
}

/** As they are kept. Undefined: what is granted cannot be refreshed. */
function toTokens({ access_token, refresh_token, expires_in = 0 }: TokenEndpointResponse): Tokens | undefined {
  if (refresh_token === undefined) return undefined;
  const lifetime = expires_in > 0 ? expires_in : DEFAULT_LIFETIME_S;
  return { accessToken: access_token, refreshToken: refresh_token, expiresAt: Date.now() + lifetime * 1000 };
}
