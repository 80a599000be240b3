import { describe, expect, it } from 'vitest';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { CODE, PASSWORD, startFakePlane } from './_fake-plane.ts';

const ID = '4f7c0f0e-5d0c-4b0e-9d52-0c9f6f9a1f10';

/** Every route of the fake, with what it is asked. Those of OAuth are forms. */
const ASKED: [route: string, path: string, body?: object][] = [
  ['POST /oauth/device_authorization', '/oauth/device_authorization', {}],
  [
    'POST /oauth/token',
    '/oauth/token',
    { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'device-1' },
  ],
  ['GET /api/v1/me', '/api/v1/me'],
  ['GET /api/v1/orgs', '/api/v1/orgs'],
  ['GET /api/v1/sessions', '/api/v1/sessions'],
  ['DELETE /api/v1/sessions/:id', '/api/v1/sessions/0192f3b4-0000-7000-8000-000000000002'],
  ['DELETE /api/v1/sessions', '/api/v1/sessions'],
  ['GET /api/v1/installations', '/api/v1/installations'],
  ['POST /api/v1/installations', '/api/v1/installations', { name: 'other' }],
  ['GET /api/v1/installations/:id', `/api/v1/installations/${ID}`],
  [
    'POST /api/v1/installations/:id/deployments',
    `/api/v1/installations/${ID}/deployments`,
    { url: 'https://box.example.com', imageTag: 'a', hmacSecret: 's' },
  ],
  ['POST /api/v1/installations/:id/token', `/api/v1/installations/${ID}/token`, { use: 'operate' }],
  ['DELETE /api/v1/orgs/:id', '/api/v1/orgs/o1', { confirm: 'acme' }],
  ['DELETE /api/v1/me', '/api/v1/me', { confirm: 'ada@example.com', password: PASSWORD }],
  ['POST /oauth/revoke', '/oauth/revoke', { token: 'x' }],
];

describe('the fake control plane', () => {
  it('answers each of its routes as the document of the real one says, and has no others', async () => {
    const real = new Map((await startPlane()).routes.map((one) => [`${one.method} ${one.path}`, one]));
    const plane = await startFakePlane();
    expect(ASKED.map(([route]) => route).toSorted()).toEqual([...plane.routes].toSorted());
    const form = (body: object) => new URLSearchParams(Object.entries({ client_id: 'svc-cli', ...body })).toString();
    let token = '';
    const signIn = async () => {
      const body = form(ASKED[1]?.[2] ?? {});
      const answer = await fetch(`${plane.url}/oauth/token`, { method: 'POST', body });
      ({ access_token: token } = (await answer.json()) as { access_token: string });
    };
    for (const [route, path, given] of ASKED) {
      await signIn();
      plane.agents = [plane.makeAgent({ id: ID, name: 'shop' })];
      const one = real.get(route);
      if (!one) throw new Error(`The control plane has no ${route}.`);
      const isForm = path.startsWith('/oauth/');
      const answer = await fetch(plane.url + path, {
        method: one.method,
        headers: { authorization: `Bearer ${token}` },
        ...(given ? { body: isForm ? form(given) : JSON.stringify(given) } : {}),
      });
      const text = await answer.text();
      expect([route, answer.status]).toEqual([route, one.status ?? 200]);
      const issues = one.answer ? one.answer.safeParse(JSON.parse(text)).error?.issues : text;
      expect([route, issues || 'none']).toEqual([route, 'none']);
    }
    expect(CODE).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
  });

  it('refuses with codes that the real one has, in its shape', async () => {
    const plane = await startFakePlane();
    const refused = await fetch(`${plane.url}/api/v1/me`);
    const own = await fetch(`${(await startPlane()).url}/api/v1/me`);
    const [fake, real] = [(await refused.json()) as object, (await own.json()) as object];
    expect([refused.status, Object.keys(fake)]).toEqual([own.status, expect.arrayContaining(['code', 'message'])]);
    expect(fake).toMatchObject({ code: (real as { code: string }).code });
  });
});
