import { expect, test } from 'vitest';
import { z } from 'zod';
import { operatorToken } from '../src/auth/strategy.ts';
import { signUserToken } from '../src/client.ts';
import { publish } from '../src/engine/primitives/publish.ts';
import { getWritable } from '../src/engine/primitives/writable.ts';
import { browser, openPage } from './_browser.ts';
import type { Page } from './_browser.ts';
import { openCuttable } from './_cuttable.ts';
import { press, readPageFiles } from './_guide-page.ts';
import { useServedPage } from './_served-page.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const pageUrl = useServedPage(() => readPageFiles('runs'), 'main.tsx', { mode: 'development' });

/** Items wait until they are allowed, so that what the page shows in between is seen. */
let allowed: Record<string, number> = {};
const packItem = toStep('packItem', async (...args: unknown[]) => {
  const [order, item] = args as [string, number];
  const writer = getWritable<string>().getWriter();
  await writer.write(`item ${item} of ${order}`);
  writer.releaseLock();
  await until(() => (allowed[order] ?? 0) >= item, 60_000);
  if (order === 'bad') throw Object.assign(new Error('There is no such item.'), { fatal: true });
});

const workflows = {
  pack: {
    inputSchema: z.object({ order: z.string().min(1) }),
    async run(input: unknown) {
      const { order } = input as { order: string };
      for (let item = 1; item <= 3; item += 1) {
        await packItem(order, item);
        publish({ packed: item });
      }
      return { parcel: `${order}-1` };
    },
  },
};

interface ApiKey {
  id: string;
  value: string;
  userSecret: string;
}

const see = (page: Page, selector: string) =>
  page.evaluate<string>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText).join('|')`,
  );
const untilShown = (page: Page, selector: string, text: RegExp) =>
  until(async () => text.test(await see(page, selector)), 30_000);
const pack = async (page: Page, order: string): Promise<void> => {
  await page.evaluate(`(() => {
    const input = document.querySelector('input');
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(order)});
    input.dispatchEvent(new Event('input', { bubbles: true }));
  })()`);
  await until(() => press(page, 'Pack'));
};

describeWhen(browser, 'the runs of the guide in a browser, with a user token', (path) => {
  const open = async () => {
    allowed = {};
    const box = await boxes.open({ workflows, options: { host: 'image', strategy: operatorToken('operator') } });
    const operator = { authorization: 'Bearer operator' };
    const body = { name: 'shop', users: true, grants: { agents: [], workflows: ['pack'] } };
    const { body: key } = await call<ApiKey>(box, 'POST /api/keys', body, operator);
    const network = await openCuttable(await box.listen());
    const page = await openPage(path);
    const token = await signUserToken(key, { sub: 'ada' });
    await page.goto(`${pageUrl()}/?${new URLSearchParams({ url: network.url, token })}`);
    await until(() => page.evaluate<boolean>('document.querySelector("input") !== null'), 30_000);
    return { page, network };
  };

  test('are started, seen step by step over one connection, and end', { timeout: 60_000 }, async () => {
    const { page, network } = await open();
    expect(network.openedEvents()).toBe(0);
    await pack(page, 'A-1');
    await untilShown(page, '#run', /^running/);
    await untilShown(page, '#frames', /^item 1 of A-1$/);
    for (const item of [1, 2]) {
      allowed['A-1'] = item;
      await untilShown(page, '#run', new RegExp(`^running ${item}`));
      expect(await see(page, '#steps li')).toBe(Array.from({ length: item }, () => 'packItem completed').join('|'));
    }
    expect([network.openEvents(), network.openedEvents()]).toEqual([1, 1]);
    const asked = page.requests.length;
    allowed['A-1'] = 3;
    await untilShown(page, '#run', /^completed 3 A-1-1$/);
    expect(await see(page, '#frames')).toBe('item 1 of A-1\nitem 2 of A-1\nitem 3 of A-1');
    expect(await see(page, '#steps li')).toBe('packItem completed|packItem completed|packItem completed');
    // Looked at when something happened, and not in between.
    expect(page.requests.length - asked).toBeLessThan(20);
    await until(() => network.openEvents() === 0);
    expect(await see(page, '[role=alert]')).toBe('');
  });

  test('say why they failed, or could not be started', { timeout: 60_000 }, async () => {
    const { page } = await open();
    allowed = { bad: 1, 'A-2': 0 };
    await pack(page, 'bad');
    await untilShown(page, '[role=alert]', /^There is no such item\.$/);
    await untilShown(page, '#run', /^failed/);
    expect(await see(page, '#steps li')).toBe('packItem failed');
    await pack(page, '');
    await untilShown(page, '[role=alert]', /input/);
    await pack(page, 'A-2');
    await untilShown(page, '#run', /^running/);
    await until(() => press(page, 'Stop'));
    await untilShown(page, '#run', /^cancelled/);
    expect(await see(page, '[role=alert]')).toMatch(/was cancelled\.$/);
  });

  test('are read again once a lost connection is back', { timeout: 60_000 }, async () => {
    const { page, network } = await open();
    await pack(page, 'A-3');
    await untilShown(page, '#frames', /item 1/);
    network.cut();
    await untilShown(page, '#lost', /No connection/);
    allowed['A-3'] = 2;
    network.heal();
    await untilShown(page, '#run', /^running 2/);
    await until(async () => (await see(page, '#lost')) === '');
    allowed['A-3'] = 3;
    await untilShown(page, '#run', /^completed 3 A-3-1$/);
    await untilShown(page, '#frames', /^item 1 of A-3\nitem 2 of A-3\nitem 3 of A-3$/);
  });

  test('close the connection once none is shown', { timeout: 60_000 }, async () => {
    const { page, network } = await open();
    await pack(page, 'A-4');
    await untilShown(page, '#run', /^running/);
    expect(network.openEvents()).toBe(1);
    await until(() => press(page, 'Close'));
    await until(() => network.openEvents() === 0);
    expect(await see(page, '#steps')).toBe('');
  });
});
