import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { call } from '../../runtime/test/_setup.ts';
import { useFeed } from '../../runtime/test/_feed.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const SECRET = 'a-secret-of-the-shop';
const OTHER = 'another-secret-of-it';

describeWhen(browser, 'Triggers', (path) => {
  const served = serveBox({
    agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }) },
    workflows: {
      typed: { run: async (input: unknown) => input, inputSchema: z.object({ title: z.string() }) },
    },
    options: { engine: { sweepMs: 20 } },
  });
  const feed = useFeed();
  const open = openBrowser(path);
  const ask = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> =>
    (await call<T>(served().box, route, body)).body;
  let sent = 0;
  /** As GitHub calls: what it was answered. */
  const send = async (id: string, body: object, secret = SECRET) => {
    const text = JSON.stringify(body);
    const answer = await fetch(`${served().url}/api/inbound/${id}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'issues',
        'x-github-delivery': `delivery-${(sent += 1)}`,
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`,
      },
      body: text,
    });
    return answer.status;
  };
  const make = (more: object = {}) =>
    ask<{ id: string }>('POST /api/triggers', {
      name: 'pushes',
      target: { workflow: 'typed' },
      signature: { scheme: 'github' },
      secret: SECRET,
      mapping: { input: { title: '{{body.title}}' } },
      ...more,
    });

  test('one is made, its deliveries are followed to their runs and delivered again, and it is deleted', async () => {
    const page = await open(served().studio('/triggers'));
    await page.getByText('There is no trigger yet').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'New trigger' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('issues of the shop');
    await dialog.getByLabel('Which one').selectOption('typed');
    await dialog.getByLabel('Who calls').selectOption('github');
    expect(await dialog.getByLabel('Header', { exact: true }).count()).toBe(0);
    await dialog.getByLabel('Secret').fill(SECRET);
    expect(await dialog.getByLabel('Secret').getAttribute('type')).toBe('password');
    await dialog.getByLabel('Events').fill('issues\n');
    await dialog.getByText('What else it looks at').press('Enter');
    await dialog.getByLabel('Filter').fill('{"body.repository": ["shop"]}');
    await dialog.getByLabel('Input').fill('{"title": ');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('The input is not JSON').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByLabel('Input').fill('{"title": "{{body.issue.title}}"}');
    await dialog.getByRole('button', { name: 'Create' }).click();

    await page.getByRole('heading', { name: 'issues of the shop' }).waitFor();
    await page.getByText('Nothing has come yet').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const trigger = await ask(`GET /api/triggers/${id}`);
    expect(trigger).toMatchObject({
      target: { workflow: 'typed' },
      signature: { scheme: 'github' },
      secrets: 1,
      events: ['issues'],
      where: { 'body.repository': ['shop'] },
      mapping: { input: { title: '{{body.issue.title}}' } },
    });
    await page.getByRole('button', { name: 'Copy the address' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(trigger['url']);
    expect(await page.content()).not.toContain(SECRET);

    // What starts a run is seen without asking again.
    const issue = { action: 'opened', repository: 'shop', issue: { title: 'Late parcels' } };
    expect(await send(id, issue)).toBe(200);
    await page.getByRole('row', { name: /issues\.opened delivery-1 delivered/ }).waitFor();
    expect(await send(id, { ...issue, repository: 'other' })).toBe(200);
    expect(await send(id, { ...issue, issue: {} })).toBe(200);
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Read again' }).click();
        return page.getByRole('row', { name: /delivery-3 dead .*title/ }).count();
      })
      .toBe(1);
    await page.getByRole('row', { name: /delivery-2 filtered/ }).waitFor();
    expect(await page.getByRole('button', { name: /^Redeliver/ }).count()).toBe(2);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'trigger');

    await page
      .getByRole('row', { name: /delivery-1/ })
      .getByRole('button', { name: /^Redeliver/ })
      .press('Enter');
    await page.getByRole('row', { name: /^issues\.opened again .*delivered/ }).waitFor();
    expect((await ask<{ items: unknown[] }>('GET /api/runs?name=typed')).items).toHaveLength(2);
    await page
      .getByRole('row', { name: /^issues\.opened delivery-1 delivered/ })
      .getByRole('link')
      .click();
    await page.waitForURL('**/studio/runs/*');
    await page.goto(served().studio('/triggers'));
    await page.getByRole('row', { name: /issues of the shop ready typed GitHub issues .* delivered/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'issues of the shop' }).click();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/studio/triggers');
    await page.getByText('There is no trigger yet').waitFor();
    expect(await send(id, issue)).toBe(401);
  });

  test('one is changed, disabled, and given another secret, which is never shown', async () => {
    const { id } = await make({ events: ['push'], where: { 'body.title': ['a'] } });
    const page = await open(served().studio(`/triggers/${id}`));
    await page.getByText('Calls with a valid signature are accepted.').waitFor();
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    expect(await dialog.getByLabel('Secret').count()).toBe(0);
    expect(await dialog.getByLabel('Events').inputValue()).toBe('push');
    await dialog.getByLabel('Events').fill('');
    await dialog.getByText('What else it looks at').click();
    await dialog.getByLabel('Filter').fill('');
    await dialog.getByLabel('It starts').selectOption('agent');
    await dialog.getByLabel('Which one').selectOption('helper');
    await dialog.getByLabel('Message').fill('It is {{body.title}}');
    await dialog.getByLabel('Conversation').fill('{{body.thread}}');
    await dialog.getByLabel('Who calls').selectOption('hmac');
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Header', { exact: true }).fill('x-signature');
    await dialog.getByLabel('Written in').selectOption('base64');
    await dialog.getByLabel('Before it').fill('v1 ');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('encoding base64').waitFor();
    expect(await ask(`GET /api/triggers/${id}`)).toMatchObject({
      target: { agent: 'helper' },
      events: null,
      where: null,
      signature: { scheme: 'hmac', header: 'x-signature', algorithm: 'sha256', encoding: 'base64', prefix: 'v1 ' },
      mapping: { message: 'It is {{body.title}}', session: '{{body.thread}}' },
    });
    expect(await listBarriers(page)).toEqual([]);

    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('It accepts nothing until it is enabled. Deliveries that wait go on then.').waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText('Calls with a valid signature are accepted.').waitFor();

    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Rotate the secret' }).click();
    await dialog.getByLabel('Secret').fill(OTHER);
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await page.getByText('two: the previous one is still valid').waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Drop the previous secret' }).click();
    await dialog.getByRole('button', { name: 'Drop' }).click();
    await page.getByText('two: the previous one is still valid').waitFor({ state: 'detached' });
    expect(await ask(`GET /api/triggers/${id}`)).toMatchObject({ secrets: 1 });
    for (const secret of [SECRET, OTHER]) expect(await page.content()).not.toContain(secret);
  });

  test('without a secret it says so, and what the box refuses is said in the form', async () => {
    const { id } = await make({ name: 'new', secret: undefined });
    const page = await open(served().studio(`/triggers/${id}`));
    allowComplaint(page, /40[04]/);
    await page.getByText('It accepts nothing until it has a secret.').waitFor();
    await page.getByRole('button', { name: 'Set the secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Secret').fill('short');
    await dialog.getByRole('button', { name: 'Set' }).click();
    await dialog.getByRole('alert').getByText('invalid_request').waitFor();
    await dialog.getByLabel('Secret').fill(SECRET);
    await dialog.getByRole('button', { name: 'Set' }).click();
    await page.getByText('Calls with a valid signature are accepted.').waitFor();
    expect(await send(id, { title: 'a' })).toBe(200);
    await page.goto(served().studio('/triggers/nothing'));
    await page.getByText('trigger_not_found').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('one that asks is made with the keyboard, says how far it has come, and is changed', async () => {
    feed.reset();
    feed.items = [{ key: 1, title: 'Late parcels' }];
    feed.ways.isWrapped = true;
    const page = await open(served().studio('/triggers'));
    await page.getByRole('button', { name: 'New trigger' }).press('Enter');
    const dialog = page.getByRole('dialog');
    // Every field is reached by the key that goes to the next one, in this order.
    const next = async (label: string) => {
      for (let n = 0; n < 4; n++) {
        await page.keyboard.press('Tab');
        if ((await page.evaluate('document.activeElement.labels?.[0]?.textContent')) === label) return;
      }
      throw new Error(`The key does not go to "${label}".`);
    };
    await dialog.getByLabel('Name', { exact: true }).focus();
    await page.keyboard.type('issues of another shop');
    await next('It starts');
    await next('Which one');
    await page.keyboard.type('typed');
    await next('How it comes');
    await page.keyboard.press('ArrowDown');
    await dialog.getByLabel('Secret').waitFor({ state: 'detached' });
    expect(await dialog.getByLabel('Who calls').count()).toBe(0);
    expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
    await next('Address');
    await page.keyboard.type(`${feed.url}/issues`);
    await next('Asked as');
    await next('How often');
    await next('Minutes');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('0.1');
    await next('What is there at first');
    await page.keyboard.press('ArrowDown');
    await next('Where the list is');
    await page.keyboard.type('body.data.list');
    await next('Where the id of an item is');
    await page.keyboard.type('body.key');
    await next('Headers');
    await page.keyboard.type('{"x-version": "7"}');
    await dialog.getByLabel('Input').fill('{"title": "{{body.title}}"}');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'poll-form');
    allowComplaint(page, /400/);
    await dialog.getByRole('button', { name: 'Create' }).press('Enter');
    await dialog.getByRole('alert').getByText('everySeconds').waitFor();
    await dialog.getByLabel('Minutes').fill('10');
    await dialog.getByRole('button', { name: 'Create' }).press('Enter');

    await page.getByRole('heading', { name: 'issues of another shop' }).waitFor();
    await page.getByText('What is new at the service is delivered.').waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(await ask(`GET /api/triggers/${id}`)).toMatchObject({
      poll: {
        url: `${feed.url}/issues`,
        everySeconds: 600,
        items: 'body.data.list',
        from: 'all',
        headers: { 'x-version': '7' },
      },
      deduplicate: 'body.key',
    });
    await page.getByText('every 10 min').waitFor();
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Read again' }).click();
        return page.getByRole('row', { name: /^an item 1 delivered/ }).count();
      })
      .toBe(1);
    await page.getByText('1 in the last answer, 1 seen in all').waitFor();
    expect(await page.getByText('To enter at the service').count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'poll');
    await page.getByRole('button', { name: 'More' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Delete']);
    await page.keyboard.press('Escape');

    feed.ways.status = 503;
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    expect(await dialog.getByLabel('How it comes').count()).toBe(0);
    expect(await dialog.getByLabel('Headers').inputValue()).toContain('x-version');
    await dialog.getByLabel('How often').selectOption('cron');
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Cron').fill('0 7 * * 1');
    await dialog.getByLabel('Time zone').fill('Europe/Berlin');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('at 0 7 * * 1 Europe/Berlin').waitFor();
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Read again' }).click();
        return page.getByText('The service answered 503.').count();
      })
      .toBe(1);
    await page.getByText('The last poll failed. It is tried again.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'poll-failing');
    await page.goto(served().studio('/triggers'));
    await page.getByRole('row', { name: /issues of another shop failing typed polls 127\.0\.0\.1/ }).waitFor();
    await keepPicture(page, 'poll-list');
    await page.getByRole('link', { name: 'issues of another shop' }).click();
    feed.ways.status = 200;
    await page.getByRole('button', { name: 'Poll now' }).click();
    await page.getByText('The service is asked.').waitFor();
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Read again' }).click();
          return page.getByText('What is new at the service is delivered.').count();
        },
        { timeout: 30_000 },
      )
      .toBe(1);
    await keepPicture(page, 'poll-now');
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('It asks for nothing until it is enabled. Deliveries that wait go on then.').waitFor();
    await page.getByText('not while it is disabled').waitFor();
  });

  test.each(['dark', 'narrow'] as const)('one that asks is whole on a %s page', async (how) => {
    feed.reset();
    feed.items = [{ id: 'a-long-id-of-an-item-that-has-no-place-to-break'.repeat(3), title: 'a' }];
    const name = `asks ${how}`;
    const { id } = await ask<{ id: string }>('POST /api/triggers', {
      name,
      target: { workflow: 'typed' },
      poll: {
        url: `${feed.url}/${'long/'.repeat(30)}?state=open`,
        from: 'all',
        headers: { accept: 'application/json' },
      },
      mapping: { input: { title: '{{body.title}}' } },
    });
    const look = how === 'dark' ? { theme: 'dark' as const } : { width: 390, height: 844 };
    const page = await open(served().studio('/triggers'), look);
    const isWhole = async () => {
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
    };
    await page.getByRole('link', { name }).waitFor();
    await isWhole();
    await page.getByRole('button', { name: 'New trigger' }).click();
    await page.getByRole('dialog').getByLabel('How it comes').selectOption('poll');
    await page.getByRole('dialog').getByLabel('How often').selectOption('cron');
    await isWhole();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect
      .poll(async () => (await ask<{ deliveries: unknown[] }>(`GET /api/triggers/${id}`)).deliveries.length)
      .toBe(1);
    await page.getByRole('link', { name }).click();
    await page.getByRole('row', { name: /^an item/ }).waitFor();
    await isWhole();
    await keepPicture(page, `poll-${how}`);
  });

  test.each(['dark', 'narrow'] as const)('is whole on a %s page', async (how) => {
    const name = `whole ${how}`;
    const { id } = await make({ name });
    expect(await send(id, { title: 'a' })).toBe(200);
    expect(await send(id, {})).toBe(200);
    const look = how === 'dark' ? { theme: 'dark' as const } : { width: 360, height: 740 };
    const page = await open(served().studio('/triggers'), look);
    const isWhole = async () => {
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
    };
    await page.getByRole('link', { name }).waitFor();
    await isWhole();
    await page.getByRole('button', { name: 'New trigger' }).click();
    await page.getByRole('dialog').getByLabel('Who calls').selectOption('hmac');
    await isWhole();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name }).click();
    await page.getByRole('region', { name: 'Deliveries' }).waitFor();
    await isWhole();
    await keepPicture(page, `trigger-${how}`);
  });
});
