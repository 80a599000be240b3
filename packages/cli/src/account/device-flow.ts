import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '../errors.ts';
import { constant, integer, object, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import type { Tokens } from './credentials.ts';
import { openOauth } from './oauth.ts';
import type { DeviceGrant, Granted } from './oauth.ts';
import { interrupted, toPlaneError } from './plane.ts';
import type { PlaneAnswer, Reach } from './plane.ts';

/** What a person needs to approve a sign-in on any device. */
export type DeviceCode = Omit<TypeOf<typeof DEVICE_CODE_LINE>, 'type'>;

/** The line a program reads on stderr, to show it. */
export const DEVICE_CODE_LINE = object({
  type: constant('device_code'),
  userCode: string('What to enter there.'),
  verificationUri: string('Where to approve the sign-in.'),
  verificationUriComplete: string('The same with the code in it.'),
  expiresInSeconds: integer('How long the code is valid, in seconds.', { minimum: 0 }),
});

export interface DeviceFlowOptions {
  /** Called once, before the wait. */
  show(code: DeviceCode): void;
  /** Milliseconds. Default: a timer that ends with Ctrl-C. */
  wait?(ms: number): Promise<void>;
}

/** Signs in by the device authorization grant of RFC 8628. Throws `login_denied` or `login_expired`. */
export async function runDeviceFlow(endpoint: string, reach: Reach, options: DeviceFlowOptions): Promise<Tokens> {
  const oauth = await openOauth(endpoint, reach);
  const { granted, refusal } = await oauth.startDevice(hostname());
  // It is handed to a browser.
  if (!granted || !isAddress(granted.verification_uri))
    throw toPlaneError(endpoint, refusal ?? { status: 200, body: { ...granted } });
  const code = toDeviceCode(granted);
  options.show(code);
  const wait = options.wait ?? ((ms: number) => sleep(ms, undefined, { signal: reach.signal }).catch(() => undefined));
  const deadline = performance.now() + code.expiresInSeconds * 1000;
  let intervalMs = (granted.interval ?? DEFAULT_INTERVAL_S) * 1000;
  while (performance.now() < deadline) {
    await wait(intervalMs);
    if (reach.signal.aborted) throw interrupted();
    const polled = await withoutPlane(oauth.pollDevice(granted.device_code));
    if (polled?.granted) return polled.granted;
    // No answer at all: RFC 8628 asks for longer pauses, for as long as the code is good.
    if (!polled) intervalMs *= 2;
    else if (polled.refusal.body.error === 'slow_down') intervalMs += SLOW_DOWN_MS;
    else if (polled.refusal.body.error !== 'authorization_pending') throw toRefusal(endpoint, polled.refusal);
  }
  throw expired();
}

// --- internal ---

const SLOW_DOWN_MS = 5000;
const DEFAULT_INTERVAL_S = 5;

function toDeviceCode(granted: DeviceGrant): DeviceCode {
  const { verification_uri: uri, verification_uri_complete: complete } = granted;
  return {
    userCode: granted.user_code,
    verificationUri: uri,
    verificationUriComplete: isAddress(complete) ? complete : uri,
    expiresInSeconds: granted.expires_in,
  };
}

function isAddress(value: string | undefined): value is string {
  return value !== undefined && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** Undefined: the control plane is away for the moment. */
async function withoutPlane<T>(asked: Promise<Granted<T>>): Promise<Granted<T> | undefined> {
  try {
    return await asked;
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
