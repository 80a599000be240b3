import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../../runtime/src/definitions/definition.ts';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const add = defineTool({
  description: 'Add.',
  inputSchema: z.object({ a: z.number() }),
  execute: ({ a }) => a + 1,
});

describeWhen(browser, 'What is open', (path) => {
  const served = serveBox({
    agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.', tools: { add } }) },
  });
  const open = openBrowser(path);
  const ask = async (route: string, body?: unknown) =>
    (await call<Record<string, unknown>>(served().box, route, body)).body;

  test('is in the address, so it is there after a reload, and Back closes it', async () => {
    const { studio } = served();
    const { id } = await ask('POST /api/keys', { name: 'till', client: 'shop' });
    await ask('PUT /api/secrets/BANK', { value: 'never' });
    const page = await open(studio('/keys'));
    for (const [screen, button, dialog, search] of [
      ['/keys', 'New key', 'New key', 'create=1'],
      ['/keys', 'Change till', 'Change “till”', `open=${String(id)}`],
      ['/secrets', 'New secret', 'New secret', 'create=1'],
      ['/secrets', 'Rotate BANK', 'Rotate BANK', 'rotate=BANK'],
      ['/prompts', 'New prompt', 'New prompt', 'create=1'],
    ] as const) {
      await page.goto(studio(screen));
      await page.getByRole('button', { name: button, exact: true }).click();
      const shown = page.getByRole('dialog', { name: dialog });
      await shown.waitFor();
      expect([button, new URL(page.url()).search]).toEqual([button, `?${search}`]);
      await page.reload();
      await shown.waitFor();
      await shown.getByRole('button', { name: 'Cancel' }).click();
      await shown.waitFor({ state: 'detached' });
      expect([button, new URL(page.url()).search]).toEqual([button, '']);
      await page.getByRole('button', { name: button, exact: true }).click();
      await shown.waitFor();
      await page.goBack();
      await shown.waitFor({ state: 'detached' });
    }
  });

  test('a secret is not to be read while it is typed, and forgotten when the window is left', async () => {
    const page = await open(served().studio('/secrets?create=1'), { width: 390, theme: 'dark' });
    const dialog = page.getByRole('dialog', { name: 'New secret' });
    await dialog.getByLabel('Name').fill('PEM');
    const value = dialog.getByLabel('Value');
    await value.fill('-----BEGIN KEY-----\nnobody reads this');
    const security = `getComputedStyle(document.activeElement).getPropertyValue('-webkit-text-security')`;
    expect(await page.evaluate(security)).toBe('disc');
    await keepPicture(page, 'secret-typed');
    expect(await listBarriers(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    await page.evaluate('dispatchEvent(new Event("blur"))');
    await dialog.getByText('You have left this window').waitFor();
    expect(await value.inputValue()).toBe('');
    expect(await dialog.getByRole('button', { name: 'Set', exact: true }).isDisabled()).toBe(true);
    await value.fill('two\nlines');
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByText('PEM is set.').waitFor();
    expect(await ask('GET /api/secrets')).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ name: 'PEM' })]),
    });
    await page.goto(served().studio('/settings'));
    const key = page.getByRole('form', { name: 'Set the model provider' }).getByLabel('Key');
    await key.fill('sk-typed');
    await page.evaluate('dispatchEvent(new Event("blur"))');
    expect(await key.inputValue()).toBe('');
  });

  test('an entry of the catalog leads to where it is worked with', async () => {
    const given = { ownerKind: 'agent', ownerName: 'helper', key: 'instructions', name: 'How to help', text: 'Kind.' };
    const { id } = await ask('POST /api/prompts', given);
    const { studio } = served();
    const page = await open(studio('/catalog?open=agent/helper'));
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('link', { name: 'How to help' }).waitFor();
    expect(await dialog.getByRole('link', { name: 'Talk to it' }).getAttribute('href')).toContain(
      '/playground?agent=helper',
    );
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'catalog-ways');
    await dialog.getByRole('link', { name: 'add', exact: true }).click();
    await page.getByRole('dialog', { name: 'helper:add' }).getByRole('link', { name: 'helper', exact: true }).click();
    await page.getByRole('dialog', { name: 'helper', exact: true }).waitFor();
    await page.goto(studio('/catalog?open=prompt/agent:helper:instructions'));
    await dialog.getByRole('link', { name: 'Open the prompt' }).click();
    await page.waitForURL(new RegExp(`/prompts/${String(id)}`));
  });
});
