import { expect, test } from 'vitest';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, keepPicture, listBarriers, openBrowser } from './_browser.ts';

describeWhen(browser, 'Setup', (path) => {
  const served = serveBox({
    provider: 'none',
    defaultModel: '',
    workflows: { hello: { run: async () => 'hello' } },
  });
  const open = openBrowser(path);

  test('a new workspace is led from a provider to its first run', async () => {
    const { box, studio } = served();
    const page = await open(studio('/setup'));
    allowComplaint(page, /400|409|422|502|503/);
    await page.getByText('Agents and workflows are not served yet.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByLabel('Base URL').fill('ftp://example.com');
    await page.getByRole('button', { name: 'Set the provider' }).click();
    await page.getByText('provider_url_invalid').waitFor();
    await page.getByLabel('Base URL').fill(box.model.url);
    await page.getByLabel('Key').fill('the-key-of-the-provider');
    await page.getByRole('button', { name: 'Set the provider' }).click();
    await page.getByText('Agents and workflows are served.').waitFor();
    expect(await page.content()).not.toContain('the-key-of-the-provider');
    await keepPicture(page, 'setup');
    await page.getByLabel('Default model').fill('no/such-model');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The model provider does not list the default model "no/such-model".').waitFor();
    const models = await call<{ items: { id: string }[] }>(box, 'GET /api/models');
    await page.getByLabel('Default model').fill(models.body.items[0]?.id ?? '');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'start a workflow' }).click();
    await page.getByRole('link', { name: 'hello' }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('tree', { name: 'Output' }).getByText('hello').waitFor();
    await page.goto(studio('/setup'));
    await page.getByText('Everything is set up.').waitFor();
    const setup = await call<{ steps: { done: boolean }[] }>(box, 'GET /api/settings/setup');
    expect(setup.body.steps.every(({ done }) => done)).toBe(true);
    expect((await call(box, 'GET /api/model-provider')).body).toMatchObject({ baseUrl: box.model.url, hasKey: true });
  });
});
