import { ask } from './_people.ts';
import type { Loose, SignedInPerson } from './_people.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** A form, as a client of OAuth sends it. */
export async function send(
  { url }: { url: string },
  path: string,
  form: Record<string, string> | string,
): Promise<{ status: number; body: Loose; headers: Headers }> {
  const response = await fetch(`${url}/oauth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: typeof form === 'string' ? form : new URLSearchParams({ client_id: 'svc-cli', ...form }).toString(),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
}

export interface DeviceGrant {
  device_code: string;
  user_code: string;
}

export async function startDevice(plane: { url: string }, name = 'laptop'): Promise<DeviceGrant> {
  return (await send(plane, 'device_authorization', { device_name: name })).body;
}

export const poll = (plane: { url: string }, code: string) =>
  send(plane, 'token', { grant_type: DEVICE_GRANT, device_code: code });

export const refresh = (plane: { url: string }, token: string) =>
  send(plane, 'token', { grant_type: 'refresh_token', refresh_token: token });

export const decide = (
  plane: { url: string },
  { cookie, organizationId }: Pick<SignedInPerson, 'cookie' | 'organizationId'>,
  code: string,
  decision = 'approve',
) => ask(plane, 'POST /device', { cookie, body: { user_code: code, organization: organizationId, decision } });

export interface Tokens {
  access_token: string;
  refresh_token: string;
}

/** The session of a command line, as `svc login` begins it. */
export async function signInCli(plane: { url: string }, person: SignedInPerson): Promise<Tokens> {
  const { device_code: code, user_code: userCode } = await startDevice(plane);
  await decide(plane, person, userCode);
  const { status, body } = await poll(plane, code);
  if (status !== 200) throw new Error(`The sign-in was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Whether an access token is good. */
export const isGood = async (plane: { url: string }, { access_token: token }: Pick<Tokens, 'access_token'>) =>
  (await ask(plane, 'GET /api/v1/me', { token })).status === 200;
