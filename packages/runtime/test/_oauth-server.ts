import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

export const CLIENT = { id: 'box-client', secret: 'the secret of the client: 100%' };

/** A small authorization server, with an API that takes its tokens. */
export interface OAuthServer {
  url: string;
  /** How many tokens it has handed out, by grant. */
  granted: Record<string, number>;
  /** What was asked of the API: `GET /api/me`, with the authorization it came with. */
  calls: { what: string; authorization: string | undefined; body: string; headers: IncomingMessage['headers'] }[];
  /** How it behaves. Set back by `reset`. */
  ways: {
    /** Seconds for which a token is good; null: it does not say. */
    expiresIn: number | null;
    /** Answers tokens as a form, and refuses with 200, as some do. */
    isOdd: boolean;
    /**
     * What comes of a refresh token that is used again: it is refused, and its grant ends; it is taken for some time; or a
     * token is none that is used up.
     */
    reuse: 'refused' | 'grace' | 'kept';
    /** Hands out no refresh token. */
    withoutRefresh: boolean;
    /** Milliseconds until it answers for a token that it has made. */
    delayMs: number;
    /** A status it answers for every token. */
    down: number | null;
    /** What comes of `POST /revoke`: the grant goes, or this is answered; "never": nothing is. */
    revocation: number | 'never' | null;
    /** Says at its well-known address where tokens are taken back; a text: there instead. */
    metadata: boolean | string;
  };
  /** What was asked to be taken back, with the kind that was named. */
  revoked: { kind: string | null; token: string; isClient: boolean }[];
  /** How often it was asked to refresh a token. */
  refreshes: number;
  /** Requests for a token that are not answered yet. */
  waiting: number;
  /** Whether a token is taken. */
  takes(token: string): boolean;
  /** Whoever signs in says yes: the address the browser is sent back to. */
  approve(url: string): Promise<URL>;
  /** What was handed out is not taken any more; `all`: nor can it be refreshed. */
  revoke(all?: boolean): void;
  reset(): void;
}

export function useOAuthServer(): OAuthServer {
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  /** By each refresh token, all tokens of its grant. */
  const grants = new Map<string, Set<string>>();
  const ways = (): OAuthServer['ways'] => ({
    expiresIn: 3_600,
    isOdd: false,
    withoutRefresh: false,
    reuse: 'refused',
    delayMs: 0,
    down: null,
    revocation: null,
    metadata: false,
  });

  const send = (response: ServerResponse, status: number, body: Record<string, unknown>): void => {
    const { isOdd } = self.ways;
    const form = new URLSearchParams(
      Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]),
    );
    response.writeHead(isOdd ? 200 : status, { 'content-type': isOdd ? 'text/plain' : 'application/json' });
    response.end(isOdd ? form.toString() : JSON.stringify(body));
  };
  const grant = async (response: ServerResponse, kind: string, before?: string): Promise<void> => {
    self.granted[kind] = (self.granted[kind] ?? 0) + 1;
    const token = `access-${randomBytes(12).toString('hex')}`;
    const next = `refresh-${randomBytes(12).toString('hex')}`;
    access.add(token);
    refresh.add(next);
    const all = (before === undefined ? undefined : grants.get(before)) ?? new Set();
    grants.set(next, all.add(token).add(next));
    const { expiresIn, withoutRefresh, isOdd, delayMs } = self.ways;
    self.waiting++;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    self.waiting--;
    send(response, 200, {
      access_token: token,
      token_type: isOdd ? 'bot' : 'Bearer',
      scope: isOdd ? 'read,write' : 'read write',
      ...(expiresIn === null ? {} : { expires_in: expiresIn }),
      ...(withoutRefresh || kind === 'client_credentials' ? {} : { refresh_token: next }),
    });
  };
  const grantToken = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await textOf(request));
    if (self.ways.down !== null) return void response.writeHead(self.ways.down).end('out of order');
    const [id, secret] = basicOf(request) ?? [form.get('client_id'), form.get('client_secret')];
    if (id !== CLIENT.id || secret !== CLIENT.secret) return send(response, 401, { error: 'invalid_client' });
    const kind = form.get('grant_type') ?? '';
    if (kind === 'client_credentials') return grant(response, kind);
    if (kind === 'refresh_token') {
      const token = form.get('refresh_token') ?? '';
      self.refreshes++;
      const isNew = self.ways.reuse === 'kept' ? refresh.has(token) : refresh.delete(token);
      const isLate = !isNew && self.ways.reuse === 'grace' && grants.has(token);
      if (isNew || isLate) return grant(response, kind, token);
      // One that is used twice was stolen: none of them is good any more.
      for (const each of grants.get(token) ?? []) for (const known of [access, refresh]) known.delete(each);
      return send(response, 400, { error: 'invalid_grant', error_description: 'used up' });
    }
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isGood = code?.challenge === proof && code.redirectUri === form.get('redirect_uri');
    return isGood
      ? grant(response, kind)
      : send(response, 400, { error: 'invalid_grant', error_description: 'no such code' });
  };
  const takeBack = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await textOf(request));
    const { revocation } = self.ways;
    const [id, secret] = basicOf(request) ?? [form.get('client_id'), form.get('client_secret')];
    const isClient = id === CLIENT.id && secret === CLIENT.secret;
    const token = form.get('token') ?? '';
    self.revoked.push({ kind: form.get('token_type_hint'), token, isClient });
    if (revocation === 'never') return;
    if (revocation !== null) return void response.writeHead(revocation).end('out of order');
    if (!isClient) return send(response, 401, { error: 'invalid_client' });
    access.delete(token);
    refresh.delete(token);
    response.writeHead(200).end();
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', self.url);
    if (url.pathname === '/token') return grantToken(request, response);
    if (url.pathname === '/revoke') return takeBack(request, response);
    if (url.pathname === '/.well-known/oauth-authorization-server') {
      const { metadata } = self.ways;
      if (self.ways.down !== null) return void response.writeHead(self.ways.down).end('out of order');
      if (metadata === false) return void response.writeHead(404).end();
      const there = metadata === true ? `${self.url}/revoke` : metadata;
      return send(response, 200, { issuer: self.url, token_endpoint: `${self.url}/token`, revocation_endpoint: there });
    }
    if (url.pathname === '/authorize') {
      const code = randomBytes(12).toString('hex');
      const { searchParams: asked } = url;
      const redirectUri = asked.get('redirect_uri') ?? '';
      codes.set(code, { challenge: asked.get('code_challenge') ?? '', redirectUri });
      const back = new URL(redirectUri);
      back.search = new URLSearchParams({
        code,
        state: asked.get('state') ?? '',
        iss: 'https://elsewhere.example',
      }).toString();
      return void response.writeHead(302, { location: back.href }).end();
    }
    const body = await textOf(request);
    const { authorization } = request.headers;
    self.calls.push({
      what: `${request.method} ${url.pathname}${url.search}`,
      authorization,
      body,
      headers: request.headers,
    });
    if (url.pathname === '/open') return void response.end('elsewhere');
    if (url.pathname === '/api/away')
      return void response.writeHead(302, { location: url.searchParams.get('to') ?? '' }).end();
    const token = authorization?.replace(/^Bearer /, '') ?? '';
    const isKnown = access.has(token) || token === 'a-key-of-a-service' || authorization === BASIC;
    if (!isKnown) return void response.writeHead(401).end('{"error":"no"}');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ login: 'ada', sent: body }));
  };

  const self: OAuthServer = {
    url: '',
    granted: {},
    calls: [],
    revoked: [],
    waiting: 0,
    refreshes: 0,
    ways: ways(),
    takes: (token) => access.has(token) || refresh.has(token),
    async approve(url) {
      const page = await fetch(url, { redirect: 'manual' });
      return new URL(page.headers.get('location') ?? '');
    },
    revoke(all = false) {
      access.clear();
      if (all) {
        refresh.clear();
        grants.clear();
      }
    },
    reset() {
      self.ways = ways();
      self.granted = {};
      self.calls = [];
      self.revoked = [];
      self.refreshes = 0;
    },
  };
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return self;
}

/** What the API takes besides its tokens: a username and a password. */
const BASIC = `Basic ${Buffer.from('ada:a-long-password').toString('base64')}`;

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function basicOf({ headers }: IncomingMessage): string[] | undefined {
  const [kind, text = ''] = headers.authorization?.split(' ') ?? [];
  if (kind !== 'Basic') return undefined;
  const [id = '', secret = ''] = Buffer.from(text, 'base64').toString('utf8').split(':');
  return [id, secret].map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
}
