import { expect, test } from 'vitest';
import { addInstallation, openBox } from '../../control-plane/test/_box.ts';
import { startSignedIn } from '../../control-plane/test/_operator.ts';
import { addPerson, ask, signUpFirst } from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { setupBoxes, startWorkflow } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { allowComplaint, browser, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const SECRET = 'f'.repeat(64);

describeWhen(browser, 'The dashboard at a control plane', (path) => {
  const boxes = setupBoxes();
  const open = openBrowser(path);

  test('shows the box behind it to the operator, by way of the proxy, until the operator signs out', async () => {
    const box = await boxes.open({ workflows: { greet: { run: async () => 1 } } });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: await box.listen() });
    const page = await open(`${plane.url}/studio/runs`, { cookie: plane.cookie });
    await page.getByText('Nothing has run yet').waitFor();
    await startWorkflow(box, 'greet');
    await page.getByRole('link', { name: 'greet', exact: true }).click();
    await page.getByRole('tree', { name: 'Timeline' }).waitFor();

    allowComplaint(page, /Failed to load resource/);
    await page.route('**/api/settings', (asked) => asked.abort());
    await page.goto(`${plane.url}/studio/health`);
    await page.getByRole('heading', { name: 'Health' }).waitFor();
    await page.keyboard.press('Control+.');
    const copilot = page.getByRole('complementary', { name: 'Copilot' });
    await copilot.locator('[data-off="unreachable"]').getByText('The box cannot be reached').waitFor();
    await page.unroute('**/api/settings');
    await copilot.getByRole('button', { name: 'Try again' }).click();
    await copilot.getByText('The copilot is switched off').waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL((url) => url.pathname === '/login');
    allowComplaint(page, /401/);
    await page.goto(`${plane.url}/studio/runs`);
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('/login?next=%2Fstudio%2Fruns');
    expect(await listBarriers(page)).toEqual([]);
  });

  test('calls the boxes of an organisation itself, each person by their role', async () => {
    const plane = await startPlane();
    const ada = await signUpFirst(plane);
    const bob = await addPerson(plane, ada, { email: 'bob@example.com', role: 'viewer' });
    const page = await open(`${plane.url}/studio/`, { cookie: ada.cookie });
    await page.getByText('no_installation').waitFor();
    const id = await addInstallation(plane, ada.cookie);
    await page.reload();
    await page.getByText('no_deployment').waitFor();
    await page.getByText('The copilot is off: It needs a box that is deployed and registered.').waitFor();
    expect(await listBarriers(page)).toEqual([]);

    const registration = { installationId: id, hmacSecret: SECRET };
    const box = await openBox(boxes, { issuer: plane.url, installationId: id, registration });
    const url = await box.listen();
    const body = { url, hmacSecret: SECRET, imageTag: 'shop:1' };
    const link = async () =>
      (await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body })).status;
    // A box that is slow to answer is taken for none.
    await expect.poll(link, { timeout: 30_000 }).toBe(200);
    await page.goto(`${plane.url}/studio/?installation=${id}`);
    // Nothing is deployed with it that could run.
    await page.getByRole('heading', { name: 'Setup', exact: true }).waitFor();
    const step = page.getByRole('listitem').filter({ hasText: 'Add an agent or a workflow' });
    await step.getByText('svc package --target byoc', { exact: true }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'Go on to the Overview' }).click();
    await page.getByText('The box is ready').waitFor();
    await page.getByText('Something that this box needs is missing yet.').waitFor();
    await page.getByText('Ada · owner').waitFor();
    await page.getByRole('link', { name: 'Logs', exact: true }).waitFor();
    await keepPicture(page, 'plane-overview');

    const seen = await open(`${plane.url}/studio/`, { cookie: bob.cookie });
    await seen.getByText('The box is ready').waitFor();
    expect(await seen.getByRole('link', { name: 'Logs', exact: true }).count()).toBe(0);
    await seen.goto(`${plane.url}/studio/logs`);
    await seen.getByText('Logs is not open to you').waitFor();
    expect(await listBarriers(seen)).toEqual([]);

    // From where this browser sits, the address of the box does not answer.
    allowComplaint(seen, /Failed to load resource/);
    await seen.route(`${url}/**`, (asked) => asked.abort());
    await seen.goto(`${plane.url}/studio/health`);
    await seen.getByRole('heading', { name: 'Health' }).waitFor();
    await seen.keyboard.press('Control+.');
    const copilot = seen.getByRole('complementary', { name: 'Copilot' });
    await copilot.locator('[data-off="no-direct-connection"]').waitFor();
    await copilot.getByText('There is no direct connection to the box').waitFor();
    await seen.unroute(`${url}/**`);
    await copilot.getByRole('button', { name: 'Try again' }).click();
    await copilot.getByText('The copilot is switched off').waitFor();
    // Before the box that they follow.
    await Promise.all([page, seen].map((one) => one.context().close()));
  });
});
