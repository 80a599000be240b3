import { expect, test } from 'vitest';
import { createAgent } from '../../runtime/test/_agui.ts';
import { json } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';
import { serveObjects } from './_objects.ts';
import { toPng, widthsOf } from './_pictures.ts';

describeWhen(browser, 'Pictures of a conversation', (path) => {
  const objects = serveObjects();
  const served = serveBox(() => ({ agents: { helper: createAgent() }, options: { storage: objects.storage() } }));
  const open = openBrowser(path);
  const send = async (session: string, source: object, text = 'say:I see it.') => {
    const content = [
      { type: 'image', source },
      { type: 'text', text },
    ];
    const messages = [{ id: crypto.randomUUID(), role: 'user', content }];
    const headers = { authorization: 'Bearer dev' };
    const init = json({ threadId: session, runId: crypto.randomUUID(), messages }, { headers });
    return (await served().box.request('/agui/v1/agents/helper', init)).text();
  };

  test('are shown, from the message and from the object storage, light, dark and narrow', async () => {
    await send('seen', { type: 'data', value: toPng(20), mimeType: 'image/png' });
    await send('seen', { type: 'data', value: toPng(300), mimeType: 'image/png' });
    for (const options of [{}, { theme: 'dark' as const }, { width: 390, height: 844 }]) {
      const page = await open(served().studio('/playground?agent=helper&session=seen'), options);
      await page.getByRole('img', { name: 'Sent with the message' }).nth(1).scrollIntoViewIfNeeded();
      await expect.poll(() => widthsOf(page)).toEqual([20, 300]);
      expect(await page.getByText('[image]').count()).toBe(0);
      expect(await page.getByText('say:I see it.').count()).toBe(2);
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, `chat-pictures-${JSON.stringify(options).replaceAll(/\W/g, '')}`);
    }
  });

  test('that lie elsewhere, or are none, are named', async () => {
    await send('unseen', { type: 'url', value: 'https://pictures.example.com/secret.png' });
    await send('unseen', { type: 'data', value: Buffer.from('no picture').toString('base64'), mimeType: 'image/png' });
    const page = await open(served().studio('/playground?agent=helper&session=unseen'));
    // What the policy of the page has stopped is noted as asked, too.
    allowComplaint(page, /Content Security Policy|violates|^asked https:\/\/pictures/);
    await page.getByText('[image]').nth(1).waitFor();
    expect(await page.getByRole('img', { name: 'Sent with the message' }).count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
  });
});
