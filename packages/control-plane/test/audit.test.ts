import { describe, expect, test } from 'vitest';
import { addPerson, ask, logIn, signUpFirst } from './_people.ts';
import { startPlane, STORES } from './_setup.ts';

describe.each(STORES)('the audit log on %s', (store) => {
  test('has a row for what was done, with who and what, the latest first', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const { cookie, organizationId } = ada;
    const org = `/api/v1/orgs/${organizationId}`;
    await logIn(plane, ada.email, 'wrong');
    await logIn(plane, ada.email);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    await ask(plane, `PATCH ${org}/members/${bo.userId}`, { cookie, body: { role: 'admin' } });
    await ask(plane, `DELETE ${org}/members/${bo.userId}`, { cookie });
    const installation = (await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'refunds' } })).body
      .id;
    await ask(plane, `DELETE /api/v1/installations/${installation}`, { cookie });
    const token = (await ask(plane, 'POST /api/v1/tokens', { cookie, body: { name: 'ci' } })).body.id;
    await ask(plane, `DELETE /api/v1/tokens/${token}`, { cookie });
    const { body } = await ask(plane, `GET ${org}/audit`, { cookie });
    const rows = body.items.map(({ action, actor, target }: Record<string, string>) => [action, actor, target]);
    expect(rows.toReversed()).toStrictEqual([
      ['auth.signup', ada.email, ada.email],
      ['auth.login_failed', ada.email, ''],
      ['auth.login', ada.email, ada.email],
      ['invites.create', ada.email, 'bo@example.com: viewer'],
      ['invites.accept', bo.email, 'bo@example.com: viewer'],
      ['auth.signup', bo.email, bo.email],
      ['members.update', ada.email, 'bo@example.com: viewer -> admin'],
      ['members.remove', ada.email, 'bo@example.com'],
      ['installations.create', ada.email, `refunds (${installation})`],
      ['installations.delete', ada.email, `refunds (${installation})`],
      ['tokens.create', ada.email, 'ci: member'],
      ['tokens.revoke', ada.email, 'ci: member'],
    ]);
    expect(body.items[0]).toMatchObject({ address: expect.any(String), at: expect.stringMatching(/Z$/) });
  });

  test('is read page by page, also while rows are added', async () => {
    const plane = await startPlane({ store });
    const { cookie, organizationId } = await signUpFirst(plane);
    const add = (name: string) => ask(plane, 'POST /api/v1/installations', { cookie, body: { name } });
    for (const name of ['a', 'b', 'c', 'd']) await add(name);
    const path = `GET /api/v1/orgs/${organizationId}/audit?limit=2`;
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await ask(plane, cursor === '' ? path : `${path}&cursor=${cursor}`, { cookie });
      seen.push(...body.items.map(({ target }: { target: string }) => target[0]));
      cursor = body.nextCursor;
      await add(`later ${seen.length}`);
    }
    expect(seen.join('')).toBe('dcbaa');
    const wrong = await ask(plane, `${path}&cursor=nothing`, { cookie });
    expect([wrong.status, wrong.body.code]).toStrictEqual([400, 'invalid_request']);
  });
});
