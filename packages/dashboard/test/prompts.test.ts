import { expect, test } from 'vitest';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

type Answer = Record<string, unknown>;

describeWhen(browser, 'A prompt', (path) => {
  const served = serveBox({ agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Of the code.' }) } });
  const open = openBrowser(path);
  const ask = async (route: string, body?: unknown): Promise<Answer> =>
    (await call<Answer>(served().box, route, body)).body;
  const create = async (key: string, text: string): Promise<string> => {
    const made = await ask('POST /api/prompts', { ownerKind: 'agent', ownerName: 'helper', key, name: key, text });
    return String(made['id']);
  };

  test('is tried in the Playground before it is in force, and says who uses it', async () => {
    const { box, studio } = served();
    const id = await create('instructions', 'Be kind.');
    await ask(`POST /api/prompts/${id}/publish`, {});
    await ask('POST /api/evals/suites', { name: 'nightly', prompts: [{ promptId: id, version: 1 }] });
    const page = await open(studio(`/prompts/${id}`));
    const used = page.getByRole('region', { name: 'Used by' });
    await used.getByText('takes it as its instructions').waitFor();
    await used.getByRole('link', { name: 'nightly' }).waitFor();
    await used.getByText('No run was given version 1 yet').waitFor();
    await page.getByLabel('Text, from version 1').fill('Be kind, and brief.');
    await page.getByRole('button', { name: 'Save and try in the Playground' }).click();
    await page.waitForURL(/playground\?agent=helper&prompt=/);
    const note = page.getByRole('note');
    await note.getByText('asked with version 2').waitFor();
    await note.getByText('nothing has changed').waitFor();
    const say = async (text: string): Promise<void> => {
      await page.getByLabel('Message', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
    };
    await say('say:Hello there.');
    await page.getByText('Hello there.', { exact: true }).waitFor();
    const lastSystem = () => JSON.stringify(box.model.requests.at(-1)?.messages[0]);
    expect(lastSystem()).toContain('Be kind, and brief.');
    expect(await ask(`GET /api/prompts/${id}`)).toMatchObject({ publishedVersion: 1, latestVersion: 2 });
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'prompt-tried');
    // The address holds it.
    await page.reload();
    await note.getByText('asked with version 2').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    await note.getByRole('button', { name: 'Stop trying it' }).click();
    await note.waitFor({ state: 'detached' });
    await say('say:As ever.');
    await page.getByText('As ever.', { exact: true }).waitFor();
    expect(lastSystem()).toContain('Be kind.');
    expect(lastSystem()).not.toContain('brief');
    await page.goto(studio(`/prompts/${id}`));
    await used.getByRole('link', { name: /^helper [0-9a-f]{8}$/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('is written with the numbers of its lines, and by the keyboard', async () => {
    const id = await create('steps', 'One.\nTwo.');
    const page = await open(served().studio(`/prompts/${id}`), { theme: 'dark' });
    const text = page.getByLabel('Text, from version 1');
    const long = 'A line that is broken. '.repeat(30);
    await text.fill(`${long}\nTwo.\nThree.`);
    // Both are broken at the same places, so a number is beside its line.
    const heights = await page.evaluate(
      `[...document.querySelectorAll('textarea')].map((area) => [area.scrollHeight, area.previousElementSibling.scrollHeight])[0]`,
    );
    const [own = 0, mirror = -1] = heights as number[];
    expect(Math.abs(own - mirror)).toBeLessThan(3);
    await keepPicture(page, 'prompt-numbered');
    expect(await listBarriers(page)).toEqual([]);
    await text.press('Control+s');
    await page.getByText('Version 2 is saved as a draft').waitFor();
    expect(await ask(`GET /api/prompts/${id}`)).toMatchObject({ publishedVersion: null, latestVersion: 2 });
    await page.getByLabel('Text, from version 2').press('Control+Enter');
    await page.getByText('version 2 in force').waitFor();
    expect(await ask(`GET /api/prompts/${id}`)).toMatchObject({ publishedVersion: 2 });
  });

  test('has the version that is shown in its address', async () => {
    const id = await create('shown', 'The first text.');
    const page = await open(served().studio(`/prompts/${id}?tab=versions`));
    await page.getByRole('button', { name: 'Show version 1' }).click();
    await page.getByRole('dialog', { name: 'Version 1' }).getByText('The first text.').waitFor();
    expect(new URL(page.url()).searchParams.get('version')).toBe('1');
    await page.reload();
    const dialog = page.getByRole('dialog', { name: 'Version 1' });
    await dialog.getByText('The first text.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.has('version')).toBe(false);
  });
});
