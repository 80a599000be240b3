import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { call } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { browser, openBrowser } from './_browser.ts';

/** The screen, what its button and its dialog are called, the address of the dialog. */
const NEW = [
  ['/connections', 'New connection', '1'],
  ['/triggers', 'New trigger', '1'],
  ['/knowledge', 'New collection', '1'],
  ['/guardrails', 'New rule', '1'],
  ['/evals', 'New case', 'case'],
  ['/evals', 'New suite', 'suite'],
  ['/prompts', 'New prompt', '1'],
  ['/secrets', 'New secret', '1'],
  ['/keys', 'New key', '1'],
] as const;

describeWhen(browser, 'What is newly made', (path) => {
  const served = serveBox();
  const open = openBrowser(path);

  test.each(NEW)('at %s, "%s" is in the address: a reload keeps it, back leaves it', async (screen, name, create) => {
    const page = await open(served().studio(screen));
    const dialog = page.getByRole('dialog', { name });
    await page.getByRole('button', { name, exact: true }).click();
    await dialog.waitFor();
    expect(new URL(page.url()).searchParams.get('create')).toBe(create);
    await page.reload();
    await dialog.waitFor();
    await page.goBack();
    await dialog.waitFor({ state: 'detached' });
    await page.goForward();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('');
  });

  test('and once it is made, back leads to the list and not to the dialog', async () => {
    const page = await open(served().studio('/prompts'));
    await page.getByRole('button', { name: 'New prompt' }).click();
    const dialog = page.getByRole('dialog', { name: 'New prompt' });
    await dialog.getByLabel('Of', { exact: true }).selectOption('workspace');
    await dialog.getByLabel('Key').fill('greeting');
    await dialog.getByLabel('Name').fill('The greeting');
    await dialog.getByLabel('Text').fill('Good day.');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(/prompts\/./);
    expect((await call<{ items: unknown[] }>(served().box, 'GET /api/prompts')).body.items).toHaveLength(1);
    await page.goBack();
    await page.getByRole('link', { name: 'The greeting' }).waitFor();
    expect([await dialog.count(), new URL(page.url()).search]).toEqual([0, '']);
  });

  test('a double click on the button opens the dialog, and a mark that ends outside of it leaves it open', async () => {
    const page = await open(served().studio('/guardrails'));
    await page.getByRole('button', { name: 'New rule' }).dblclick();
    const dialog = page.getByRole('dialog', { name: 'New rule' });
    await dialog.waitFor();
    const title = await dialog.getByRole('heading', { name: 'New rule' }).boundingBox();
    await page.mouse.move((title?.x ?? 0) + 5, (title?.y ?? 0) + 5);
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
    await page.keyboard.press('Tab');
    expect(await dialog.count()).toBe(1);
    await page.mouse.click(5, 5);
    await dialog.waitFor({ state: 'detached' });
  });
});
