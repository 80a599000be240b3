import { expect, test } from 'vitest';
import type { ModelPrices } from '../../runtime/src/limits/prices.ts';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { call } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const prices: ModelPrices = { 'test/scripted': { inputPerMillion: 150, outputPerMillion: 600 } };

async function say(box: TestBox, model: string, key: string): Promise<void> {
  const { status } = await call(
    box,
    'POST /wire-a/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'say:Hello.' }] },
    { authorization: `Bearer ${key}`, 'x-svc-session': 'monday' },
  );
  expect(status).toBe(200);
}

async function makeKey(box: TestBox, name: string): Promise<string> {
  const { body } = await call<{ value: string }>(box, 'POST /api/keys', {
    name,
    grants: { agents: 'all', workflows: [] },
  });
  return body.value;
}

interface Used {
  items: { id: string; tokens: number; cost: number }[];
}

describeWhen(browser, 'Usage', (path) => {
  const served = serveBox({
    agents: {
      helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }),
      writer: defineDeepAgent({ name: 'writer', instructions: 'Write.' }),
    },
    workflows: { plain: { run: async () => 1 } },
    // Programs have keys here; whoever has none looks on.
    options: {
      prices: () => prices,
      strategy: { name: 'a seat', checksKeys: true, authenticate: async () => OWNER },
    },
  });
  const open = openBrowser(path);

  test('says what was used by agent, key, model, workflow and session, by month and by day', async () => {
    const { box, studio } = served();
    const key = await makeKey(box, 'the shop');
    const page = await open(studio('/usage'));
    await page.getByText(/^No agent has used anything in /).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await say(box, 'helper', key);
    await say(box, 'writer', key);
    // By the events of the box.
    const row = page.getByRole('row').filter({ hasText: 'helper' });
    await row.waitFor();
    const { body } = await call<Used>(box, 'GET /api/usage?kind=agent&period=month&id=helper');
    const [used] = body.items;
    const texts = await row.getByRole('cell').allInnerTexts();
    expect(texts).toEqual(['helper', used?.tokens.toLocaleString('en'), String(used?.cost)]);
    await page.getByRole('img', { name: /Tokens of all models in .*: [\d,]+ in all/ }).waitFor();
    await keepPicture(page, 'usage');
    expect(await listBarriers(page)).toEqual([]);

    await row.getByRole('button', { name: 'helper' }).click();
    const dialog = page.getByRole('dialog', { name: 'helper' });
    await dialog
      .getByRole('region', { name: 'Days' })
      .getByText(used?.tokens.toLocaleString('en') ?? '')
      .waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.reload();
    await dialog.getByRole('link', { name: 'Its runs' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('id')).toBeNull();

    const by = page.getByRole('combobox', { name: 'Counted by' });
    await by.selectOption('By API key');
    await page.getByRole('button', { name: 'the shop' }).click();
    await page.getByRole('dialog', { name: 'the shop' }).getByRole('link', { name: 'Its limits' }).waitFor();
    await page.keyboard.press('Escape');
    await by.selectOption('By model');
    await page.getByRole('button', { name: 'test/scripted' }).waitFor();
    await by.selectOption('By user');
    await page.getByText(/^No user of a client has used anything/).waitFor();
    await by.selectOption('By workflow');
    await page.getByRole('row').filter({ hasText: 'plain' }).getByText('0').first().waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await by.selectOption('By session');
    await page.getByRole('link', { name: 'monday' }).first().waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('holds its month in the address, fits a narrow page, and is reached from the first one', async () => {
    const { box, studio } = served();
    await say(box, 'writer', await makeKey(box, 'the other shop'));
    const page = await open(studio('/'), { width: 360, theme: 'dark' });
    await page.getByRole('link', { name: 'writer', exact: true }).click();
    await page.getByRole('dialog', { name: 'writer' }).getByText('Today').waitFor();
    await keepPicture(page, 'usage-opened-narrow-dark');
    expect(await listBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole('combobox', { name: 'Month' }).selectOption({ index: 1 });
    await page.getByText(/^No agent has used anything/).waitFor();
    await page.reload();
    await page.getByText(/^No agent has used anything/).waitFor();
    expect(new URL(page.url()).searchParams.get('month')).toMatch(/^\d{4}-\d{2}$/);
  });
});
