import { describe, expect, test } from 'vitest';
import { ask, signUpFirst } from './_people.ts';
import { startPlane, STORES } from './_setup.ts';

describe.each(STORES)('organisations on %s', (store) => {
  test('are made, renamed and chosen; the slug stays', async () => {
    const plane = await startPlane({ store });
    const { cookie, organizationId } = await signUpFirst(plane);
    const made = await ask(plane, 'POST /api/v1/orgs', { cookie, body: { name: 'Acme' } });
    expect([made.status, made.body]).toMatchObject([201, { name: 'Acme', role: 'owner' }]);
    expect(made.body.slug).toMatch(/^acme-[\da-f]{6}$/);
    const renamed = await ask(plane, `PATCH /api/v1/orgs/${made.body.id}`, { cookie, body: { name: 'Umbrella' } });
    expect([renamed.status, renamed.body]).toStrictEqual([200, { ...made.body, name: 'Umbrella' }]);
    const all = await ask(plane, 'GET /api/v1/orgs', { cookie });
    expect(all.body.items.map(({ id }: { id: string }) => id).toSorted()).toStrictEqual(
      [organizationId, made.body.id].toSorted(),
    );
    const body = { organization: made.body.id };
    const chosen = await ask(plane, 'POST /api/v1/session/organization', { cookie, body });
    expect(chosen.body.organization.id).toBe(made.body.id);
    expect((await ask(plane, 'GET /api/v1/me', { cookie })).body.organization.id).toBe(made.body.id);
    const none = await ask(plane, 'POST /api/v1/session/organization', { cookie, body: { organization: 'none' } });
    expect(none.status).toBe(404);
  });

  test('the last owner stays one', async () => {
    const plane = await startPlane({ store });
    const { cookie, userId, organizationId } = await signUpFirst(plane);
    const path = `/api/v1/orgs/${organizationId}/members/${userId}`;
    for (const answer of [
      await ask(plane, `DELETE ${path}`, { cookie }),
      await ask(plane, `PATCH ${path}`, { cookie, body: { role: 'admin' } }),
    ])
      expect([answer.status, answer.body.code]).toStrictEqual([409, 'last_owner']);
    const { body } = await ask(plane, `GET /api/v1/orgs/${organizationId}/members`, { cookie });
    expect(body.items).toMatchObject([{ userId, email: 'ada@example.com', name: 'Ada', role: 'owner' }]);
  });
});

describe.each(STORES)('installations on %s', (store) => {
  test('are made, read, renamed and deleted', async () => {
    const plane = await startPlane({ store });
    const { cookie, organizationId } = await signUpFirst(plane);
    const made = await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'refunds' } });
    expect([made.status, made.body]).toMatchObject([201, { name: 'refunds', organizationId, deployment: null }]);
    expect(made.body.id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    const again = await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'refunds' } });
    expect([again.status, again.body]).toMatchObject([409, { code: 'conflict', details: { id: made.body.id } }]);
    const path = `/api/v1/installations/${made.body.id}`;
    expect((await ask(plane, `GET ${path}`, { cookie })).body).toStrictEqual(made.body);
    const renamed = await ask(plane, `PATCH ${path}`, { cookie, body: { name: 'returns' } });
    expect([renamed.status, renamed.body]).toStrictEqual([200, { ...made.body, name: 'returns' }]);
    expect((await ask(plane, 'GET /api/v1/installations', { cookie })).body).toStrictEqual({ items: [renamed.body] });
    expect((await ask(plane, `DELETE ${path}`, { cookie })).status).toBe(204);
    expect((await ask(plane, `GET ${path}`, { cookie })).status).toBe(404);
  });

  test('of two with one name at once one is made', async () => {
    const plane = await startPlane({ store });
    const { cookie } = await signUpFirst(plane);
    const make = () => ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'refunds' } });
    const answers = await Promise.all([make(), make(), make()]);
    expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([201, 409, 409]);
  });
});
