import { createIdentityTokens, keySetUrl } from '../../runtime/src/auth/identity-tokens.ts';
import { createKeySet } from '../../runtime/src/auth/key-set.ts';
import { identityTokens } from '../../runtime/src/auth/strategy.ts';
import type { Registration } from '../../runtime/src/auth/registration.ts';
import { createLog } from '../../runtime/src/log.ts';
import type { TestBox, TestBoxes, TestBoxOptions } from '../../runtime/test/_setup.ts';
import { ask } from './_people.ts';
import type { Credential } from './_people.ts';

export const LOG = createLog({ level: 'silent', write: () => {} });

export interface BoxOptions {
  issuer: string;
  installationId: string;
  now?: () => number;
  registration?: Registration;
  agents?: TestBoxOptions['agents'];
  options?: TestBoxOptions['options'];
}

/** A box as it is deployed, which admits whom a control plane vouches for. */
export function openBox(
  boxes: TestBoxes,
  { issuer, installationId, now = Date.now, registration, agents, options = {} }: BoxOptions,
): Promise<TestBox> {
  const keys = createKeySet({ url: keySetUrl(issuer), log: LOG, now });
  const strategy = identityTokens(createIdentityTokens({ issuer, installationId, keys, now }));
  return boxes.open({
    ...(agents ? { agents } : {}),
    options: { ...options, host: 'image', strategy, ...(registration ? { registration } : {}) },
  });
}

/** What the box says to a token: who calls, or why not. */
export async function askBox(box: TestBox, token: string, route = 'GET /api/runs') {
  const [method = '', path = ''] = route.split(' ');
  const body = method === 'POST' ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) : undefined;
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const answer = await box.request(path, { method, headers, ...(body === undefined ? {} : { body }) });
  return { status: answer.status, message: await answer.text() };
}

export async function addInstallation(plane: { url: string }, cookie: string, name = 'shop'): Promise<string> {
  return (await ask(plane, 'POST /api/v1/installations', { cookie, body: { name } })).body.id;
}

/** A token for the box of an installation. */
export async function mint(
  plane: { url: string },
  id: string,
  { use = 'operate', ...credential }: Credential & { use?: string },
): Promise<string> {
  const { status, body } = await ask(plane, `POST /api/v1/installations/${id}/token`, { ...credential, body: { use } });
  if (status !== 200) throw new Error(`The token was answered ${status}: ${JSON.stringify(body)}`);
  return body.token;
}

/** What a token says. */
export function readToken(token: string): { header: Record<string, unknown>; payload: Record<string, unknown> } {
  const [header, payload] = token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  return { header, payload };
}
