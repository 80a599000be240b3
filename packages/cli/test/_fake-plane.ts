import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Agent {
  id: string;
  name: string;
  organizationId: string;
  createdAt: string;
  deployment: { url: string; imageTag: string; contract: number | null; at: string } | null;
}

/**
 * A control plane that is slow, silent, away or broken where a test says so, which the real one is not on command; what it answers
 * otherwise is held to the real one's document by fake-plane.test.ts. What the real one can do is tested with it: `_plane.ts`.
 */
export interface FakePlane {
  url: string;
  /** What the token endpoint says to the next polls, before it grants. */
  answers: string[];
  agents: Agent[];
  /** An agent of its organisation; `url`: of the box that is registered as it. */
  makeAgent(agent: { id: string; name: string; url?: string }): Agent;
  /** `<method> <path>` of each that it has. */
  routes: string[];
  /** `<method> <path>` of every request. */
  seen: string[];
  /** Seconds an access token is good for. */
  lifetime: number;
  /** Seconds between polls. */
  interval: number;
  /** Where the person is signed in. */
  sessions: { id: string; isCurrent: boolean }[];
  /** Ends every session. */
  revokeAll(): void;
  /** Ends the access tokens, not the sessions. */
  forgetAccess(): void;
  isDown: boolean;
  /** It takes requests and answers none. */
  isSilent: boolean;
  /** The token it gives for the box of an agent. */
  makeToken(use: string, agent: Agent): string;
}

export const CODE = 'BDFG-HJKL';
/** Of the person. */
export const PASSWORD = 'correct horse battery';

export async function startFakePlane(): Promise<FakePlane> {
  const access = new Set<string>();
  const refresh = new Set<string>();
  const used = new Set<string>();
  const grant = () => {
    const [token, next] = [randomUUID(), randomUUID()];
    access.add(token);
    refresh.add(next);
    return { access_token: token, refresh_token: next, token_type: 'Bearer', expires_in: plane.lifetime };
  };
  const revokeAll = () => {
    access.clear();
    refresh.clear();
  };
  const handlers: Record<string, Handler> = {
    'POST /oauth/device_authorization': () => [
      200,
      {
        device_code: 'device-1',
        user_code: CODE,
        verification_uri: `${plane.url}/device`,
        verification_uri_complete: `${plane.url}/device?user_code=${CODE}`,
        expires_in: 900,
        interval: plane.interval,
      },
    ],
    'POST /oauth/token': ({ form }) => {
      const said = plane.answers.shift();
      if (said !== undefined && form.get('grant_type') !== 'refresh_token')
        return said === 'broken' ? [502, {}] : [400, { error: said }];
      if (form.get('grant_type') !== 'refresh_token')
        return form.get('device_code') === 'device-1' ? [200, grant()] : [400, { error: 'invalid_grant' }];
      const token = form.get('refresh_token') ?? '';
      // Someone else holds a copy: the whole family ends.
      if (used.has(token)) revokeAll();
      if (!refresh.delete(token)) return [400, { error: 'invalid_grant' }];
      used.add(token);
      return [200, grant()];
    },
    'POST /oauth/revoke': ({ form }) => {
      refresh.delete(form.get('token') ?? '');
      return [200];
    },
    'GET /api/v1/me': () => [
      200,
      {
        user: { id: 'user-1', email: 'ada@example.com', name: 'Ada' },
        organization: ORGANIZATION,
        organizations: [ORGANIZATION],
        via: 'cli',
        endpoint: plane.url,
      },
    ],
    'DELETE /api/v1/me': ({ json }) => {
      if (json.password !== PASSWORD)
        return [401, { code: 'wrong_credentials', message: 'The e-mail address or the password is wrong.' }];
      revokeAll();
      return [204];
    },
    'GET /api/v1/orgs': () => [200, { items: [ORGANIZATION] }],
    'DELETE /api/v1/orgs/:id': () => {
      revokeAll();
      return [204];
    },
    'GET /api/v1/sessions': () => [200, { items: plane.sessions }],
    'DELETE /api/v1/sessions': () => {
      const ended = plane.sessions.filter(({ isCurrent }) => !isCurrent).length;
      plane.sessions = plane.sessions.filter(({ isCurrent }) => isCurrent);
      return [200, { ended }];
    },
    'GET /api/v1/installations': () => [200, { items: plane.agents }],
    'POST /api/v1/installations': ({ json }) => {
      const agent = makeAgent({ id: randomUUID(), name: String(json.name) });
      plane.agents.push(agent);
      return [201, agent];
    },
    'GET /api/v1/installations/:id': ({ agent }) => [200, agent],
    'POST /api/v1/installations/:id/deployments': ({ agent, json }) => {
      agent.deployment = makeAgent({ ...agent, url: String(json.url) }).deployment;
      return [200, agent];
    },
    'POST /api/v1/installations/:id/token': ({ agent, json }) => [
      200,
      { token: plane.makeToken(String(json.use), agent), expiresAt: new Date(Date.now() + 300_000).toISOString() },
    ],
    'DELETE /api/v1/sessions/:id': ({ path }) => {
      const others = plane.sessions.filter(({ id }) => !path.endsWith(id));
      if (others.length === plane.sessions.length) return notFound(path);
      plane.sessions = others;
      return [204];
    },
  };
  const answer = async (request: IncomingMessage): Promise<FakeAnswer> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const path = request.url ?? '';
    plane.seen.push(`${request.method} ${path}`);
    if (plane.isSilent) return new Promise(() => {});
    if (plane.isDown) return [503, { code: 'away', message: 'The control plane is away: 503.' }];
    const isApi = path.startsWith('/api/');
    const bearer = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (isApi && !access.has(bearer)) return [401, { code: 'unauthorized', message: 'No such session.' }];
    const [, id] = /^\/api\/v1\/installations\/([^/]+)/.exec(path) ?? [];
    const agent = plane.agents.find((one) => one.id === id);
    const place = path.replace(/(?<=\/(?:installations|sessions|orgs)\/)[^/]+/, ':id');
    const handler = handlers[`${request.method} ${place}`];
    if (!handler || (id && !agent)) return notFound(path);
    const json = isApi && body ? (JSON.parse(body) as Record<string, unknown>) : {};
    return handler({ form: new URLSearchParams(body), json, path, agent: agent as Agent });
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      if (body === undefined) return void response.writeHead(status).end();
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const plane: FakePlane = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers: [],
    agents: [],
    makeAgent,
    routes: Object.keys(handlers),
    seen: [],
    sessions: [
      toSession({ id: '0192f3b4-0000-7000-8000-000000000001', name: 'laptop', isCurrent: true }),
      toSession({ id: '0192f3b4-0000-7000-8000-000000000002', name: 'Firefox on Linux', isCurrent: false }),
    ],
    lifetime: 300,
    interval: 0.01,
    revokeAll,
    forgetAccess: () => access.clear(),
    isDown: false,
    isSilent: false,
    makeToken: (use, { name }) => `${use}-${name}`,
  };
  return plane;
}

// --- internal ---

function toSession({ id, name, isCurrent }: { id: string; name: string; isCurrent: boolean }) {
  const days = (count: number) => new Date(Date.now() + (count + 0.5) * 24 * 3_600_000).toISOString();
  const [createdAt, expiresAt] = [days(-3), days(7)];
  const kind = isCurrent ? 'cli' : 'browser';
  return { id, kind, name, address: '192.0.2.7', createdAt, seenAt: createdAt, expiresAt, isCurrent };
}

type FakeAnswer = [status: number, body?: object];
type Handler = (asked: {
  form: URLSearchParams;
  json: Record<string, unknown>;
  path: string;
  agent: Agent;
}) => FakeAnswer;

const CREATED = '2026-01-05T09:00:00.000Z';
const ORGANIZATION = { id: 'o1', slug: 'acme', name: 'Acme', role: 'owner', createdAt: CREATED };

function makeAgent({ id, name, url }: { id: string; name: string; url?: string }): Agent {
  const deployment = url === undefined ? null : { url, imageTag: 'shop:12', contract: 15, at: CREATED };
  return { id, name, organizationId: ORGANIZATION.id, createdAt: CREATED, deployment };
}

function notFound(path: string): FakeAnswer {
  return [404, { code: 'not_found', message: `There is no "${path}".` }];
}
