import { expect, test } from 'vitest';
import { createAgent } from '../../runtime/test/_agui.ts';
import { call, toProgram } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

describeWhen(browser, 'Setup', (path) => {
  const served = serveBox({
    provider: 'none',
    defaultModel: '',
    workflows: { hello: { run: async () => 'hello' } },
  });
  const open = openBrowser(path);

  test('a new workspace is led from a provider to its first run', async () => {
    const { box, studio } = served();
    // Where there is no provider the first page is this one.
    const page = await open(studio('/'));
    await page.getByRole('heading', { name: 'Setup', exact: true }).waitFor();
    allowComplaint(page, /400|409|422|502|503/);
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    const isDone = (title: string) => steps.filter({ hasText: title }).getByText('done', { exact: true }).waitFor();
    await isDone('The box reaches its stores');
    await steps.getByText('put MODEL_PROVIDER_BASE_URL and MODEL_PROVIDER_API_KEY into .env').waitFor();
    await page.getByText('Agents and workflows are not served yet.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByLabel('Base URL').fill('ftp://example.com');
    await page.getByRole('button', { name: 'Set the provider' }).click();
    await page.getByText('provider_url_invalid').waitFor();
    await page.getByLabel('Base URL').fill(box.model.url);
    await page.getByLabel('Key').fill('the-key-of-the-provider');
    await page.getByRole('button', { name: 'Set the provider' }).click();
    await page.getByText('Agents and workflows are served.').waitFor();
    await isDone('Set the model provider');
    await isDone('Add an agent or a workflow');
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

describeWhen(browser, 'Setup of a box without code', (path) => {
  const served = serveBox({});
  const open = openBrowser(path);

  test('is what such a box opens on, says how code is added, and is gone past for good', async () => {
    const { box, studio } = served();
    const page = await open(studio('/'), { width: 360, theme: 'dark' });
    await page.getByRole('heading', { name: 'Setup', exact: true }).waitFor();
    const step = page.getByRole('listitem').filter({ hasText: 'Add an agent or a workflow' });
    await step.getByText('to do').waitFor();
    await step.getByRole('button', { name: 'Copy svc add agent support' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('svc add agent support');
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'setup-no-code-narrow-dark');
    // As when the file is saved.
    await box.reload(toProgram({ agents: { support: createAgent() } }));
    await step.getByText('done').waitFor();
    await box.reload(toProgram({}));
    await step.getByText('to do').waitFor();
    await page.getByRole('link', { name: 'Go on to the Overview' }).click();
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.getByText('Something that this box needs is missing yet.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.goto(studio('/'));
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.getByText('Next timers').waitFor();
    await page.getByRole('link', { name: 'Setup', exact: true }).last().click();
    await step.getByText('to do').waitFor();
  });
});
