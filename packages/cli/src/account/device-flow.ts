import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '../errors.ts';
import { constant, integer, object, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import type { Tokens } from './credentials.ts';
import { askPlane, interrupted, toPlaneError } from './plane.ts';
import type { PlaneAnswer, Reach } from './plane.ts';
import { CLIENT_ID, toTokens } from './session.ts';

/** What a person needs to approve a sign-in on any device. */
export type DeviceCode = Omit<TypeOf<typeof DEVICE_CODE_LINE>, 'type'>;

/** The line a program reads on stderr, to show it. */
export const DEVICE_CODE_LINE = object({
  type: constant('device_code'),
  userCode: string('What to enter there.'),
  verificationUri: string('Where to approve the sign-in.'),
  verificationUriComplete: string('The same with the code in it.'),
  expiresInSeconds: integer('How long the code is good for, in seconds.', { minimum: 0 }),
});

export interface DeviceFlowOptions {
  /** Called once, before the wait. */
  show(code: DeviceCode): void;
  /** Milliseconds. Default: a timer that ends with Ctrl-C. */
  wait?(ms: number): Promise<void>;
}

/** Signs in by the device authorization grant of RFC 8628. Throws `login_denied` or `login_expired`. */
export async function runDeviceFlow(endpoint: string, reach: Reach, options: DeviceFlowOptions): Promise<Tokens> {
  const { deviceCode, intervalSeconds, ...code } = await startFlow(endpoint, reach);
  options.show(code);
  const wait = options.wait ?? ((ms: number) => sleep(ms, undefined, { signal: reach.signal }).catch(() => undefined));
  const deadline = performance.now() + code.expiresInSeconds * 1000;
  let intervalMs = intervalSeconds * 1000;
  while (performance.now() < deadline) {
    await wait(intervalMs);
    if (reach.signal.aborted) throw interrupted();
    const answer = await poll(endpoint, deviceCode, reach);
    const tokens = answer?.status === 200 ? toTokens(answer.body) : undefined;
    if (tokens) return tokens;
    // No answer at all: RFC 8628 asks for longer pauses, for as long as the code is good.
    if (!answer) intervalMs *= 2;
    else if (answer.body.error === 'slow_down') intervalMs += SLOW_DOWN_MS;
    else if (answer.body.error !== 'authorization_pending') throw toRefusal(endpoint, answer);
  }
  throw expired();
}

// --- internal ---

const SLOW_DOWN_MS = 5000;
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const DEFAULT_INTERVAL_S = 5;

interface Started extends DeviceCode {
  /** Whoever holds it gets the session: it is never shown. */
  deviceCode: string;
  intervalSeconds: number;
}

async function startFlow(endpoint: string, reach: Reach): Promise<Started> {
  // The page where it is approved shows the name, so that a person sees which machine asks.
  const form = { client_id: CLIENT_ID, device_name: hostname() };
  const answer = await askPlane(endpoint, { method: 'POST', path: '/oauth/device_authorization', form }, reach);
  const { body } = answer;
  const { device_code: deviceCode, user_code: userCode, verification_uri: uri, expires_in: lifetime } = body;
  if (typeof deviceCode !== 'string' || typeof userCode !== 'string' || !isAddress(uri) || typeof lifetime !== 'number')
    throw toPlaneError(endpoint, answer);
  const { verification_uri_complete: complete, interval } = body;
  return {
    deviceCode,
    userCode,
    verificationUri: uri,
    verificationUriComplete: isAddress(complete) ? complete : uri,
    expiresInSeconds: lifetime,
    intervalSeconds: typeof interval === 'number' && interval > 0 ? interval : DEFAULT_INTERVAL_S,
  };
}

/** It is handed to a browser. */
function isAddress(value: unknown): value is string {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** Undefined: the control plane is away for the moment. */
async function poll(endpoint: string, deviceCode: string, reach: Reach): Promise<PlaneAnswer | undefined> {
  const form = { grant_type: GRANT, device_code: deviceCode, client_id: CLIENT_ID };
  try {
    return await askPlane(endpoint, { method: 'POST', path: '/oauth/token', form }, reach);
  } catch (error) {
    if (error instanceof CliError && error.code === 'control_plane_unavailable') return undefined;
    throw error;
  }
}

function toRefusal(endpoint: string, answer: PlaneAnswer): CliError {
  if (answer.body.error === 'expired_token') return expired();
  if (answer.body.error === 'access_denied')
    return new CliError('login_denied', 'The sign-in was denied in the browser.', {
      suggestion: 'Run `svc login` again and approve it, if it was you who denied it.',
    });
  return toPlaneError(endpoint, answer);
}

function expired(): CliError {
  return new CliError('login_expired', 'The code was not approved in time.', {
    suggestion: 'Run `svc login` again for a new code.',
  });
}
