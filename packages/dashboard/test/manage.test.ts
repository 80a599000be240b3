import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { defineDynamicConfig } from '../../runtime/src/config-values/define.ts';
import { call, until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

type Answer = Record<string, unknown>;

describeWhen(browser, 'What a workspace is run with', (path) => {
  const served = serveBox({
    agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.', model: 'code/declared' }) },
    // A leap day: no time that comes while a test runs.
    workflows: {
      report: { run: async (input: unknown) => input, schedules: [{ cron: '0 0 29 2 *', input: { n: 1 } }] },
    },
    config: defineDynamicConfig({
      maxRefund: z.number().max(100).default(50).describe('What is paid back without asking'),
      limits: z.object({ perDay: z.int().default(5), note: z.string().optional() }).default({ perDay: 5 }),
    }),
  });
  const open = openBrowser(path);
  const ask = async (route: string, body?: unknown): Promise<Answer> =>
    (await call<Answer>(served().box, route, body)).body;

  test('a timer is run now, paused, and armed again', async () => {
    const page = await open(served().studio('/jobs'));
    await page.getByRole('row', { name: /report:0/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'jobs');
    await page.getByRole('button', { name: 'Run report:0 now' }).click();
    await page.getByRole('row', { name: /report:0.*completed/ }).waitFor();
    expect((await ask('GET /api/runs?name=report'))['items']).toMatchObject([{ input: { n: 1 } }]);
    await page.getByRole('button', { name: 'Firings of report:0' }).click();
    const dialog = page.getByRole('dialog', { name: 'report:0' });
    await dialog.getByRole('tree', { name: 'Input of report:0' }).getByText('n').waitFor();
    await dialog.getByText('completed').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Pause report:0' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    expect(await ask('GET /api/recurring-jobs/report:0')).toMatchObject({ isPaused: true });
    await page.getByRole('button', { name: 'Resume report:0' }).click();
    await page.getByRole('button', { name: 'Pause report:0' }).waitFor();
    expect(await ask('GET /api/recurring-jobs/report:0')).toMatchObject({ isPaused: false });
  });

  test('a prompt is written, published, compared and rolled back', async () => {
    const page = await open(served().studio('/prompts'));
    await page.getByText('There is no prompt here').waitFor();
    await page.getByRole('button', { name: 'New prompt' }).click();
    const dialog = page.getByRole('dialog', { name: 'New prompt' });
    await dialog.getByLabel('Which one').selectOption('helper');
    await dialog.getByLabel('Name').fill('How to help');
    await dialog.getByLabel('Text').fill('Be kind.\nBe short, {{name}}.');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'How to help' }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1);
    await page.getByText('Filled in when it is read: name').waitFor();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByText('version 1 in force').waitFor();
    await page.getByLabel('Text, from version 1').fill('Be kind.\nBe brief, {{name}}.');
    await page.getByLabel('Note').fill('shorter');
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByText('version 2 is a draft').waitFor();
    expect(await ask(`GET /api/prompts/${id}`)).toMatchObject({ publishedVersion: 1, latestVersion: 2 });
    await page.getByRole('tab', { name: 'Compare' }).click();
    const changed = page.getByRole('row', { name: /Be short.*Be brief/ });
    await changed.waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'prompt-compare');
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByRole('row', { name: /2.*shorter/ }).waitFor();
    await page.getByRole('button', { name: 'Publish version 2' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('version 2 in force').waitFor();
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await page.getByText('version 1 in force').waitFor();
    expect(await ask(`GET /api/prompts/${id}`)).toMatchObject({ publishedVersion: 1 });
    await page.goto(served().studio('/prompts?owner=agent'));
    await page.getByRole('row', { name: /How to help.*agent helper/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('what is typed of a prompt stays when another person saves another version, and when the page is left', async () => {
    const owner = { ownerKind: 'agent', ownerName: 'helper' };
    const { id } = await ask('POST /api/prompts', { ...owner, key: 'kept', name: 'Kept', text: 'Be kind.' });
    const page = await open(served().studio(`/prompts/${String(id)}`));
    const text = page.getByLabel('Text, from version 1');
    await text.fill('Be kind, and what I have typed.');
    await ask(`POST /api/prompts/${String(id)}/versions`, { text: 'Be strict.' });
    await page.getByText(/Meanwhile .* has made version 2/).waitFor();
    expect(await text.inputValue()).toBe('Be kind, and what I have typed.');
    expect(await page.getByRole('button', { name: 'Save as a draft' }).isDisabled()).toBe(true);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'prompt-behind');
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('link', { name: 'Config', exact: true }).click();
    await page.getByRole('heading', { name: 'Config', exact: true }).waitFor();
    await page.goBack();
    expect(await page.getByLabel('Text, from version 2').inputValue()).toBe('Be kind, and what I have typed.');
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByText('version 3 is a draft').waitFor();
    expect(await ask(`GET /api/prompts/${String(id)}`)).toMatchObject({
      latest: { text: 'Be kind, and what I have typed.' },
    });
    await page.getByLabel('Text, from version 3').waitFor();
    expect(await page.getByRole('button', { name: 'Save as a draft' }).isDisabled()).toBe(true);
    await ask(`DELETE /api/prompts/${String(id)}`);
  });

  test('a value of the config is set by its schema, never over what another person has set, and dropped', async () => {
    const page = await open(served().studio('/config'));
    allowComplaint(page, /409|412/);
    await page.getByRole('row', { name: /maxRefund.*50.*default/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Change maxRefund' }).click();
    const dialog = page.getByRole('dialog', { name: 'maxRefund' });
    await dialog.getByRole('textbox').fill('500');
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await dialog.getByText('At most 100.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await ask('PUT /api/config/maxRefund', { value: 60 });
    await dialog.getByRole('textbox').fill('70');
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await dialog.getByText('revision_conflict').waitFor();
    await dialog.getByText(/Meanwhile .* has changed it: 60/).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    expect(await ask('GET /api/config/maxRefund')).toMatchObject({ value: 60 });
    await dialog.getByRole('button', { name: 'Keep mine' }).click();
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByRole('row', { name: /maxRefund.*70/ }).waitFor();
    expect(await ask('GET /api/config/maxRefund')).toMatchObject({ value: 70, revision: 2 });
    await page.getByRole('button', { name: 'Change maxRefund' }).click();
    await dialog.getByRole('listitem').filter({ hasText: '70' }).waitFor();
    await dialog.getByRole('button', { name: /Use the default/ }).click();
    await page.getByRole('row', { name: /maxRefund.*50.*default/ }).waitFor();
    expect(await ask('GET /api/config/maxRefund')).toMatchObject({ value: 50, isSet: false });
  });

  test('a secret is set, rotated and deleted, and its value is nowhere on the page', async () => {
    const page = await open(served().studio('/secrets'));
    await page.getByText('There is no secret yet').waitFor();
    await page.getByRole('button', { name: 'New secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('SHOP_KEY');
    await dialog.getByLabel('Value').fill('the-first-value');
    await dialog.getByRole('button', { name: 'Set' }).click();
    await page.getByRole('row', { name: /SHOP_KEY.*1/ }).waitFor();
    await page.getByRole('button', { name: 'Rotate SHOP_KEY' }).click();
    await dialog.getByLabel('Value').fill('the-second-value');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('row', { name: /SHOP_KEY.*2/ }).waitFor();
    expect(await ask('GET /api/secrets/SHOP_KEY')).toMatchObject({ version: 2 });
    expect(await page.content()).not.toMatch(/the-(?:first|second)-value/);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'secrets');
    await page.getByRole('button', { name: 'Delete SHOP_KEY' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no secret yet').waitFor();
    expect((await ask('GET /api/secrets'))['items']).toEqual([]);
  });

  test('a key is made for one agent, shown once, and revoked', async () => {
    const page = await open(served().studio('/keys'));
    await page.getByText('There is no API key yet').waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('the shop');
    await dialog.getByLabel('helper', { exact: true }).check();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Make the key' }).click();
    const shown = page.getByRole('dialog', { name: 'The value of “the shop”' });
    const value = await shown.locator('code').innerText();
    expect(value).toMatch(/^svc_/);
    expect(await listBarriers(page)).toEqual([]);
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('row', { name: /the shop.*active.*helper/ }).waitFor();
    expect(await page.content()).not.toContain(value);
    expect((await ask('GET /api/keys'))['items']).toMatchObject([
      { name: 'the shop', status: 'active', grants: { agents: ['helper'], workflows: [] } },
    ]);
    await keepPicture(page, 'keys');
    await page.getByRole('button', { name: 'Revoke the shop' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /the shop.*revoked/ }).waitFor();
    expect((await ask('GET /api/keys'))['items']).toMatchObject([{ status: 'revoked' }]);
  });

  test('a key is held to limits and addresses, which are changed and shown', async () => {
    const page = await open(served().studio('/keys'));
    allowComplaint(page, /400/);
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name').fill('the till');
    await dialog.getByLabel('It speaks for users of its own').check();
    await dialog.getByText('Limits, addresses, client').click();
    await dialog.getByLabel('Requests a minute').first().fill('10');
    await dialog.getByLabel('Tokens a day').last().fill('1,000');
    await dialog.getByLabel('May be used from').fill('203.0.113.999');
    await dialog.getByLabel('Client').fill('shop');
    await dialog.getByLabel('Expires').selectOption('at');
    await dialog.getByLabel('Good until').fill('2099-01-01T00:00');
    await dialog.getByRole('button', { name: 'Make the key' }).click();
    // The box says which of the fields it is.
    await dialog
      .getByText(/It is no address and no network/)
      .first()
      .waitFor();
    expect(await dialog.getByLabel('May be used from').getAttribute('aria-invalid')).toBe('true');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'key-new');
    await dialog.getByLabel('May be used from').fill('203.0.113.7');
    await dialog.getByRole('button', { name: 'Make the key' }).click();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page
      .getByRole('row', { name: /the till.*of shop.*speaks for users.*10 requests a minute.*203\.0\.113\.7/ })
      .waitFor();
    const find = async () =>
      ((await ask('GET /api/keys'))['items'] as { name: string }[]).find(({ name }) => name.startsWith('the till'));
    expect(await find()).toMatchObject({
      limits: { requestsPerMinute: 10, users: { tokensPerDay: 1_000 } },
      addresses: ['203.0.113.7'],
      client: 'shop',
      users: true,
    });
    await page.getByRole('button', { name: 'Change the till' }).click();
    const change = page.getByRole('dialog', { name: 'Change “the till”' });
    await change.getByLabel('Name').fill('the till (new)');
    await change.getByLabel('helper', { exact: true }).check();
    await change.getByLabel('Requests a minute').first().fill('20');
    await change.getByLabel('May be used from').fill('');
    await page.setViewportSize({ width: 390, height: 900 });
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'key-change-narrow');
    await page.setViewportSize({ width: 1_440, height: 900 });
    await change.getByRole('button', { name: 'Change the key' }).click();
    await page.getByRole('row', { name: /the till \(new\).*helper.*20 requests a minute/ }).waitFor();
    expect(await find()).toMatchObject({
      name: 'the till (new)',
      grants: { agents: ['helper'], workflows: [] },
      limits: { requestsPerMinute: 20, users: { tokensPerDay: 1_000 } },
      addresses: null,
    });
  });

  test('of an agent the model is chosen, and it is hidden', async () => {
    const page = await open(served().studio('/catalog?kind=agent'));
    await page.getByRole('button', { name: 'helper', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'helper' });
    await dialog.getByLabel('Model').fill('test/other');
    await dialog.getByRole('button', { name: 'Choose the model' }).click();
    await dialog.getByText('the next turn asks test/other').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'catalog-entry');
    await dialog.getByRole('button', { name: 'Hide from lists' }).click();
    await dialog.getByRole('button', { name: 'Show in lists' }).waitFor();
    expect(await ask('GET /api/catalog/agent/helper')).toMatchObject({
      model: { declared: 'code/declared', override: 'test/other', effective: 'test/other' },
      isHidden: true,
    });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('row', { name: /helper.*hidden/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('the settings of the workspace are changed', async () => {
    const page = await open(served().studio('/settings'));
    allowComplaint(page, /400/);
    await page.getByLabel('Default model').fill('test/new');
    await page.getByRole('form', { name: 'Model defaults' }).getByRole('button', { name: 'Save' }).click();
    await until(async () => (await ask('GET /api/settings'))['defaultModel'] === 'test/new', 30_000);
    await page.getByLabel('Time zone').fill('Europe/Nowhere');
    await page.getByRole('form', { name: 'Workspace' }).getByRole('button', { name: 'Save' }).click();
    await page.getByText('invalid_request').waitFor();
    await page.getByLabel('Time zone').fill('Europe/Madrid');
    await page.getByRole('form', { name: 'Workspace' }).getByRole('button', { name: 'Save' }).click();
    await until(async () => (await ask('GET /api/settings'))['timeZone'] === 'Europe/Madrid', 30_000);
    const retention = page.getByRole('form', { name: 'Logs are kept for' });
    await retention.getByLabel('Days').fill('14');
    await retention.getByRole('button', { name: 'Save' }).click();
    await page.getByText('14 days').waitFor();
    const isOn = (await ask('GET /api/settings'))['mcp'] as { enabled: boolean };
    await page.getByRole('button', { name: isOn.enabled ? 'Switch it off' : 'Switch it on' }).click();
    await page.getByRole('button', { name: isOn.enabled ? 'Switch it on' : 'Switch it off' }).waitFor();
    expect(await ask('GET /api/settings')).toMatchObject({
      defaultModel: 'test/new',
      timeZone: 'Europe/Madrid',
      logRetentionDays: 14,
      mcp: { enabled: !isOn.enabled },
    });
    await page.getByRole('button', { name: 'Test it' }).click();
    await page.getByText(/^It answered within/).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'settings');
  });

  test('who has changed what is listed, with what was before and after', async () => {
    await ask('PUT /api/config/limits', { value: { perDay: 9 } });
    const page = await open(served().studio('/activity?operation=config.set&target=limits'));
    await page.getByRole('button', { name: 'What config.set changed' }).click();
    const dialog = page.getByRole('dialog', { name: 'What was changed' });
    await dialog.getByRole('tree', { name: 'After' }).getByText('limits').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'activity');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByLabel('What was changed').fill('nothing');
    await page.getByText('No change matches').waitFor();
  });

  test('what is set up already is said, and all of it is for a narrow screen too', async () => {
    const page = await open(served().studio('/setup'), { width: 360, theme: 'dark' });
    await page.getByText('Agents and workflows are served.').waitFor();
    await keepPicture(page, 'setup-narrow-dark');
    const isFit = async (): Promise<boolean> => !(await isTooWide(page)) && (await listBarriers(page)).length === 0;
    expect(await isFit()).toBe(true);
    for (const [screen, text] of [
      ['jobs', 'report:0'],
      ['config', 'maxRefund'],
      ['settings', 'Default model'],
      ['catalog', 'helper'],
      ['activity', 'config.set'],
    ] as const) {
      await page.goto(served().studio(`/${screen}`));
      await page.getByText(text).first().waitFor();
      await until(isFit);
    }
  });
});
