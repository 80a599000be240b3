import { expect, test } from 'vitest';
import { startProvider } from './_oidc-provider.ts';
import { ask, signUpFirst } from './_people.ts';
import { startPlane } from './_setup.ts';

/** What a page of another site can have a browser send along with our cookie. */
const FORGED: [string, Record<string, string>, string | undefined][] = [
  ['without an origin', {}, undefined],
  ['of another origin', { origin: 'https://evil.example' }, undefined],
  ['of an opaque origin', { origin: 'null' }, undefined],
  ['of another site, as the browser says', { 'sec-fetch-site': 'cross-site' }, undefined],
  ['of a sibling of ours', { 'sec-fetch-site': 'same-site' }, undefined],
  ['a form without an origin', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b'],
];

test('no write that a page of another site can send with the cookie is taken, at any route', async () => {
  const plane = await startPlane({ env: { ...(await startProvider()).env, PLANE_PASSWORD_SIGNUP: '1' } });
  const { cookie, userId, organizationId } = await signUpFirst(plane);
  const { id } = (await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'refunds' } })).body;
  const writes = plane.routes.filter(({ method, origin }) => method !== 'GET' && origin !== 'never');
  expect(writes.length).toBeGreaterThan(15);
  for (const { method, path } of writes) {
    const own = path.startsWith('/api/v1/installations') ? id : organizationId;
    const url = `${plane.url}${path.replace(':id', own).replace(':userId', userId)}`;
    for (const [what, headers, body = method === 'DELETE' ? undefined : '{}'] of FORGED) {
      const answer = await fetch(url, {
        method,
        headers: { cookie, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      });
      const { code } = (await answer.json()) as { code: string };
      expect([method, path, what, answer.status, code]).toStrictEqual([method, path, what, 403, 'origin_not_allowed']);
    }
  }
  expect((await ask(plane, 'GET /api/v1/me', { cookie })).status).toBe(200);
  expect((await ask(plane, `GET /api/v1/installations/${id}`, { cookie })).body.name).toBe('refunds');
});

test('only what OAuth clients call, which has no use for a cookie, is free of that', async () => {
  const free = (await startPlane()).routes.filter(({ method, origin }) => method !== 'GET' && origin === 'never');
  expect(free.filter(({ path }) => !path.startsWith('/oauth/'))).toStrictEqual([]);
});

test('a form is refused of our own pages, too, at any route', async () => {
  const plane = await startPlane({ env: { ...(await startProvider()).env, PLANE_PASSWORD_SIGNUP: '1' } });
  const { cookie } = await signUpFirst(plane);
  for (const { method, path, bodyType } of plane.routes) {
    if (method === 'GET' || bodyType === 'form') continue;
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
      const headers = { cookie, origin: plane.url, 'content-type': type };
      const answer = await fetch(`${plane.url}${path}`, { method, headers, body: '{}' });
      expect([method, path, type, answer.status]).toStrictEqual([method, path, type, 415]);
    }
  }
  expect((await ask(plane, 'GET /api/v1/me', { cookie })).status).toBe(200);
});

test('sign-in and sign-up are refused from elsewhere without a cookie, too', async () => {
  const plane = await startPlane();
  for (const path of ['login', 'signup']) {
    const headers = { origin: 'https://evil.example', 'content-type': 'application/json' };
    const answer = await fetch(`${plane.url}/api/v1/auth/${path}`, { method: 'POST', headers, body: '{}' });
    expect([path, answer.status]).toStrictEqual([path, 403]);
  }
});
