import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';

export const CLIENT = { id: 'svc-studio', secret: 'a secret of the client' };

/** An OpenID Connect provider that asks nothing and says who its person is. */
export interface Provider {
  issuer: string;
  person: Record<string, unknown> & { sub: string };
  /** What is put in place of claims of the next ID tokens. */
  forged: Record<string, unknown>;
  isDown: boolean;
  /** Its tokens are signed by a key that is not in its key set. */
  signsAsAnother: boolean;
  /** The variables of a control plane that uses it. */
  env: Record<string, string>;
}

interface Grant {
  nonce: string | undefined;
  challenge: string | undefined;
  redirectUri: string;
}

export async function startProvider(): Promise<Provider> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, Record<string, unknown>>();

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void> | void> = {
    '/.well-known/openid-configuration': (_, response) =>
      send(response, 200, {
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        userinfo_endpoint: `${provider.issuer}/userinfo`,
        jwks_uri: `${provider.issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        code_challenge_methods_supported: ['S256'],
      }),
    '/jwks': (_, response) => send(response, 200, { keys: [jwk] }),
    '/authorize'(request, response) {
      const asked = new URL(request.url ?? '', provider.issuer).searchParams;
      const code = randomUUID();
      const redirectUri = asked.get('redirect_uri') ?? '';
      grants.set(code, {
        nonce: asked.get('nonce') ?? undefined,
        challenge: asked.get('code_challenge') ?? undefined,
        redirectUri,
      });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      back.searchParams.set('state', asked.get('state') ?? '');
      response.writeHead(302, { location: back.href }).end();
    },
    async '/token'(request, response) {
      const form = new URLSearchParams(await readText(request));
      const grant = grants.get(form.get('code') ?? '');
      grants.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isClient = form.get('client_id') === CLIENT.id && form.get('client_secret') === CLIENT.secret;
      if (!grant || !isClient || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
        return send(response, 400, { error: 'invalid_grant' });
      const now = Math.floor(Date.now() / 1_000);
      const claims = {
        iss: provider.issuer,
        aud: CLIENT.id,
        iat: now,
        exp: now + 60,
        nonce: grant.nonce,
        ...provider.person,
      };
      const { email, email_verified, ...few } = claims as Record<string, unknown>;
      const inToken = provider.person.saysLater === true ? few : { ...few, email, email_verified };
      const idToken = await new SignJWT({ ...inToken, ...provider.forged })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .sign(provider.signsAsAnother ? (await generateKeyPair('RS256')).privateKey : privateKey);
      const accessToken = randomUUID();
      tokens.set(accessToken, provider.person);
      send(response, 200, { access_token: accessToken, token_type: 'Bearer', id_token: idToken });
    },
    '/userinfo'(request, response) {
      const person = tokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
      send(response, person ? 200 : 401, person ?? {});
    },
  };
  const server = createServer((request, response) => {
    const handler = routes[new URL(request.url ?? '', 'http://provider').pathname];
    if (provider.isDown || !handler) return void response.writeHead(provider.isDown ? 503 : 404).end();
    void handler(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: Provider = {
    issuer,
    person: { sub: 'u1', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    forged: {},
    isDown: false,
    signsAsAnother: false,
    env: { PLANE_OIDC_ISSUER: issuer, PLANE_OIDC_CLIENT_ID: CLIENT.id, PLANE_OIDC_CLIENT_SECRET: CLIENT.secret },
  };
  return provider;
}

// --- internal ---

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
