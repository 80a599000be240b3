import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { addInstallation, openBox } from '../../control-plane/test/_box.ts';
import { startSignedIn } from '../../control-plane/test/_operator.ts';
import { addPerson, ask, PASSWORD, signUpFirst } from '../../control-plane/test/_people.ts';
import type { SignedInPerson } from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';
import { listFaults } from './_screens.ts';

describeWhen(browser, 'The members of an organisation', (path) => {
  const boxes = setupBoxes();
  const open = openBrowser(path);
  const dev = serveBox();
  /** An organisation of Ada with one box, which is registered. */
  const setUp = async (): Promise<{ plane: { url: string }; ada: SignedInPerson }> => {
    const plane = await startPlane();
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    const hmacSecret = 'f'.repeat(64);
    const registration = { installationId: id, hmacSecret };
    const url = await (await openBox(boxes, { issuer: plane.url, installationId: id, registration })).listen();
    const body = { url, hmacSecret, imageTag: 'shop:1' };
    const link = async () =>
      (await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body })).status;
    // A box that is slow to answer is taken for none.
    await expect.poll(link, { timeout: 30_000 }).toBe(200);
    return { plane, ada };
  };
  const list = async (plane: { url: string }, ada: SignedInPerson) =>
    (await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/members`, ada)).body.items as {
      email: string;
      role: string;
    }[];
  const row = (page: Page, name: string | RegExp) =>
    page.getByRole('region', { name: 'Members' }).getByRole('row', { name });

  test('are invited, come, are given another role and removed; the last owner stays', async () => {
    const { plane, ada } = await setUp();
    const page = await open(`${plane.url}/studio/`, { cookie: ada.cookie });
    allowComplaint(page, /409|403/);
    await page.getByRole('link', { name: 'Members', exact: true }).click();
    await row(page, /Ada.*you/)
      .getByText('The only one. Make another member an owner first.')
      .waitFor();
    await page.getByText('There are no open invites').waitFor();
    await page.getByRole('button', { name: 'Invite someone' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invite someone' });
    await dialog.getByLabel('E-mail address').fill('bob@example.com');
    await dialog.getByLabel('Role').selectOption('approver');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Make the invite' }).click();
    const made = page.getByRole('dialog', { name: 'The invite of bob@example.com' });
    await made.getByRole('button', { name: 'Copy the link' }).click();
    await made.getByText('Copied').waitFor();
    const link = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(link).toContain(`${plane.url}/invite#`);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'members-invite');
    await made.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('row', { name: /bob@example\.com.*approver/ }).waitFor();

    const invite = link.split('#')[1];
    const body = { email: 'bob@example.com', password: PASSWORD, name: 'Bob', invite };
    expect((await ask(plane, 'POST /api/v1/auth/signup', { body })).status).toBe(201);
    await page.reload();
    await row(page, /Bob/).getByLabel('Role of Bob').selectOption('owner');
    await page.getByText('Bob is owner now.').waitFor();
    expect(await list(plane, ada)).toMatchObject([{ role: 'owner' }, { email: 'bob@example.com', role: 'owner' }]);
    // Ada may go now, as there is another one; not once Bob has become a viewer behind the page.
    await row(page, /Ada/).getByLabel('Role of Ada').waitFor();
    const looks = [
      { width: 360, theme: 'dark' },
      { width: 1_440, theme: 'light' },
    ] as const;
    expect(await listFaults(page, 'screens-members', looks)).toEqual([]);
    const bob = (await list(plane, ada)).find(({ email }) => email.startsWith('bob')) as unknown as { userId: string };
    const change = `PATCH /api/v1/orgs/${ada.organizationId}/members/${bob.userId}`;
    expect((await ask(plane, change, { ...ada, body: { role: 'viewer' } })).status).toBe(200);
    await row(page, /Ada/).getByLabel('Role of Ada').selectOption('member');
    await page.getByText('last_owner').waitFor();
    await row(page, /Ada/).getByText('The only one').waitFor();
    await row(page, /Bob/).getByRole('button', { name: 'Remove Bob' }).click();
    const confirm = page.getByRole('dialog', { name: 'Remove this member?' });
    expect(new URL(page.url()).searchParams.get('remove')).toBe(bob.userId);
    await page.reload();
    await confirm.waitFor();
    await page.keyboard.press('Escape');
    await confirm.waitFor({ state: 'detached' });
    expect((await list(plane, ada)).map(({ email }) => email)).toContain('bob@example.com');
    await row(page, /Bob/).getByRole('button', { name: 'Remove Bob' }).click();
    expect(await listBarriers(page)).toEqual([]);
    await confirm.getByRole('button', { name: 'Remove', exact: true }).click();
    await row(page, /Bob/).waitFor({ state: 'detached' });
    expect((await list(plane, ada)).map(({ email }) => email)).toEqual(['ada@example.com']);
  });

  test('an invite is revoked', async () => {
    const { plane, ada } = await setUp();
    const invites = `/api/v1/orgs/${ada.organizationId}/invites`;
    const made = await ask(plane, `POST ${invites}`, { ...ada, body: { email: 'cy@example.com', role: 'viewer' } });
    const page = await open(`${plane.url}/studio/members`, { cookie: ada.cookie, theme: 'dark', width: 390 });
    await page.getByRole('button', { name: 'Revoke the invite of cy@example.com' }).click();
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('There are no open invites').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'members-narrow');
    const preview = await ask(plane, 'POST /api/v1/invites/preview', { body: { token: made.body.token } });
    expect(preview.body.code).toBe('invite_invalid');
  });

  test('a viewer reads who is in it, and changes no one; the studio leads to the organisation and the account', async () => {
    const { plane, ada } = await setUp();
    const eve = await addPerson(plane, ada, { email: 'eve@example.com', role: 'viewer' });
    const page = await open(`${plane.url}/studio/members?invite=1`, { cookie: eve.cookie });
    await row(page, /Ada.*owner/).waitFor();
    expect(await page.getByRole('button', { name: /Invite|Remove|Revoke/ }).count()).toBe(0);
    expect(await page.getByRole('combobox').count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Leave the organisation' }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'members-viewer');
    const around = page.getByRole('navigation', { name: 'Control plane' });
    await around.getByRole('link', { name: 'Account' }).click();
    await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor();
    await page.goBack();
    await around.getByRole('link', { name: 'Organisation' }).click();
    await page.getByText('Acme, as viewer').waitFor();
  });

  test('there are none where a box has one operator, or is developed', async () => {
    const box = await boxes.open({});
    const alone = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: await box.listen() });
    for (const [url, cookie] of [
      [`${alone.url}/studio`, alone.cookie],
      [dev().url + '/studio', undefined],
    ] as const) {
      const page = await open(`${url}/members`, cookie === undefined ? {} : { cookie });
      await page.getByText('There is no such page').waitFor();
      await page.getByRole('link', { name: 'Settings', exact: true }).waitFor();
      expect(await page.getByRole('link', { name: 'Members', exact: true }).count()).toBe(0);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('members');
      await page.getByText('Nothing has that name').waitFor();
      await page.keyboard.press('Escape');
      const around = page.getByRole('navigation', { name: 'Control plane' });
      expect(await around.count()).toBe(cookie === undefined ? 0 : 1);
      if (cookie === undefined) continue;
      await around.getByRole('link', { name: 'Box and tokens' }).click();
      await page.getByRole('heading', { name: 'For a coding agent' }).waitFor();
      await page.context().close();
    }
  });
});
