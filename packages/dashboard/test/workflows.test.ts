import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { getWritable } from '../../runtime/src/engine/primitives/writable.ts';
import { sleep } from '../../runtime/src/engine/primitives/sleep.ts';
import { call, toStep } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const charge = toStep('charge', (order: { quantity: number }) => ({ total: order.quantity * 5 }));

const HOSTILE = '<img src=x onerror="document.title=1">';

const tell = toStep('tell', async (what: unknown) => {
  const writer = getWritable().getWriter();
  await writer.write(what);
  writer.releaseLock();
});

const count = toStep('count', (n: number) => n);

const Order = z.object({
  customer: z.string().min(2).describe('Who orders'),
  email: z.email().optional(),
  quantity: z.int().min(1).max(10).default(1),
  color: z.enum(['red', 'blue']).optional(),
  isUrgent: z.boolean(),
  lines: z.array(z.object({ sku: z.string().max(20) })).optional(),
  pay: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('card'), number: z.string().max(20) }),
      z.object({ type: z.literal('cash') }),
    ])
    .optional(),
});

describeWhen(browser, 'Workflows', (path) => {
  const served = serveBox({
    workflows: {
      order: {
        inputSchema: Order,
        outputSchema: z.object({ total: z.number() }),
        run: async (order: { quantity: number }) => charge(order),
      },
      free: { run: async (input: unknown) => ({ got: input }) },
      many: {
        async run() {
          for (let n = 0; n < 250; n++) await count(n);
        },
      },
      hostile: { run: async () => toHostile() },
      alone: { serial: true, run: async () => sleep('1 day') },
      talk: {
        mode: 'chat',
        inputSchema: z.object({ words: z.array(z.string()).max(20), isSlow: z.boolean().optional() }),
        run: async ({ words, isSlow }: { words: string[]; isSlow?: boolean }) => {
          for (const word of words) await tell(word);
          if (isSlow) await createHook({ token: 'talk' });
          await tell({ last: HOSTILE });
          return { told: words.length };
        },
      },
      broken: new Error('Cannot find module "./missing.ts"'),
    },
  });
  const open = openBrowser(path);
  const lastInput = async (name: string): Promise<unknown> => {
    const { body } = await call<{ items: { input: unknown }[] }>(served().box, `GET /api/runs?name=${name}&limit=1`);
    return body.items[0]?.input;
  };
  const start = (page: Page): Promise<void> => page.getByRole('button', { name: 'Start', exact: true }).click();
  const followed = (page: Page): Locator => page.getByRole('status').filter({ hasText: /completed|waiting/ });

  test('a workflow of mode chat is talked to, and what it says goes on over a reload', async () => {
    const { box, studio } = served();
    const page = await open(studio('/workflows/talk?tab=chat'));
    await page.getByText('Say something to talk').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const input = page.getByRole('textbox', { name: 'Input', exact: true });
    await input.fill('{"words": ["Hel", "lo, ", "Ada."], "isSlow": true}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const frames = page.getByRole('log', { name: 'Frames' });
    await frames.getByText('Hello, Ada.', { exact: true }).waitFor();
    await page.getByText('It goes on…').waitFor();
    const runId = new URL(page.url()).searchParams.get('chat') ?? '';
    expect((await call(box, `GET /api/runs/${runId}`)).body).toMatchObject({ name: 'talk', trigger: 'chat' });
    await page.reload();
    await frames.getByText('Hello, Ada.', { exact: true }).waitFor();
    await call(box, 'POST /api/workflows/hooks/talk/resume', {});
    await frames.getByText('"last"').waitFor();
    await page.getByText('It has ended.').waitFor();
    await page.getByRole('region', { name: 'What it says' }).getByText('"told": 3').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'workflow-chat');
    // Another one, which starts over.
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await input.fill('{"words": ["Again."]}');
    await input.press('Control+Enter');
    await frames.getByText('Again.', { exact: true }).waitFor();
    await page.getByText('It has ended.').waitFor();
    expect(await frames.getByText('Hello, Ada.').count()).toBe(0);
    await page.goBack();
    await frames.getByText('Hello, Ada.', { exact: true }).waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'workflow-chat-narrow-dark');
    await page.goto(studio('/workflows/order'));
    await page.getByRole('tab', { name: 'Queue' }).waitFor();
    expect(await page.getByRole('tab', { name: 'Chat' }).count()).toBe(0);
  });

  test('the receipt of a start of many steps has all of them', async () => {
    const page = await open(served().studio('/workflows/many'));
    await start(page);
    await followed(page).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    await expect.poll(() => steps.count()).toBe(200);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => steps.count()).toBe(250);
    expect(await listBarriers(page)).toEqual([]);
  });

  test('are listed with what they take and whether they load, and found by name', async () => {
    const page = await open(served().studio('/workflows'));
    await page.getByRole('row', { name: /order.*◆ schema/ }).waitFor();
    await page.getByRole('row', { name: /broken.*does not load/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'workflows');
    await page.getByRole('searchbox', { name: 'Find a workflow' }).fill('ord');
    await page.getByRole('row', { name: /free/ }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?q=ord');
    await page.getByRole('link', { name: 'order', exact: true }).click();
    await page.getByRole('heading', { name: 'order', exact: true }).waitFor();
  });

  test('one is started by its form: what is wrong is said at its field, by the page and by the box', async () => {
    const page = await open(served().studio('/workflows/order'));
    allowComplaint(page, /400|422/);
    await page.getByLabel('customer').fill('A');
    await start(page);
    await page.getByText('At least 2 characters.').waitFor();
    await page.getByLabel('customer').fill('Ada');
    await page.getByLabel('email').fill('ada');
    await page.getByLabel('quantity').fill('3');
    await page.getByLabel('color').selectOption('blue');
    await page.getByRole('button', { name: 'Add lines' }).click();
    await page.getByRole('button', { name: 'Add an entry to lines' }).click();
    await page.getByLabel('sku').fill('A-1');
    await page.getByLabel('pay: type').selectOption('card');
    await page.getByLabel('number', { exact: true }).fill('4242');
    await start(page);
    await page.getByText('Invalid email address').waitFor();
    expect(await page.getByLabel('email').getAttribute('aria-invalid')).toBe('true');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'workflow-issues');
    await page.getByLabel('email').fill('ada@example.com');
    await start(page);
    await followed(page).filter({ hasText: 'completed' }).waitFor();
    await page.getByRole('tree', { name: 'Output' }).getByText('15').waitFor();
    await page.getByRole('list', { name: 'Steps' }).getByText('charge').waitFor();
    expect(await lastInput('order')).toEqual({
      customer: 'Ada',
      email: 'ada@example.com',
      quantity: 3,
      color: 'blue',
      isUrgent: false,
      lines: [{ sku: 'A-1' }],
      pay: { type: 'card', number: '4242' },
    });
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'workflow');
  });

  test('an output that is hostile, long and deep is shown as text, and searched to its end', async () => {
    const { body } = await call<{ runId: string }>(served().box, 'POST /api/workflows/hostile/start', {});
    const page = await open(served().studio(`/workflows/hostile?run=${body.runId}`));
    await followed(page).filter({ hasText: 'completed' }).waitFor();
    const title = await page.title();
    const output = page.getByRole('tree', { name: 'Output' });
    await page.getByRole('searchbox', { name: 'Search in: Output' }).fill('the needle');
    await output.getByText('the needle').waitFor();
    await output.getByText('Show those before: 19,900 are left').waitFor();
    expect(await output.getByRole('treeitem').count()).toBeLessThan(200);
    await output.getByText(HTML).waitFor();
    expect([await page.title(), await page.locator('img[src="x"]').count()]).toEqual([title, 0]);
  });

  test('the address of a start is what becomes of it, also for who opens it later', async () => {
    const { body } = await call<{ runId: string }>(served().box, 'POST /api/workflows/free/start', { a: 1 });
    const page = await open(served().studio(`/workflows/free?run=${body.runId}`));
    await followed(page).filter({ hasText: 'completed' }).waitFor();
    await page.getByRole('link', { name: 'Open the run' }).waitFor();
  });

  test('an input is written as JSON, and an earlier one is taken over', async () => {
    const page = await open(served().studio('/workflows/order?mode=json'));
    const text = page.getByRole('textbox', { name: 'Input', exact: true });
    await text.fill('{"customer": "Bob", "isUrgent": true');
    await start(page);
    await page.getByText(/^This is not JSON/).waitFor();
    await text.fill('{"customer": "Bob", "quantity": 2, "isUrgent": true}');
    await page.getByRole('button', { name: 'Form', exact: true }).click();
    expect(await page.getByLabel('quantity').inputValue()).toBe('2');
    await start(page);
    await followed(page).filter({ hasText: 'completed' }).waitFor();
    expect(await lastInput('order')).toEqual({ customer: 'Bob', quantity: 2, isUrgent: true });
    await page.reload();
    const earlier = page.getByLabel('Use an earlier input');
    const option = await earlier.locator('option', { hasText: 'Bob' }).first().getAttribute('value');
    await earlier.selectOption(option);
    await page.getByText('Bob').first().waitFor({ state: 'attached' });
    expect(await page.getByLabel('customer').inputValue()).toBe('Bob');
  });

  test('a start that waits is seen in the queue, and dropped there', async () => {
    const page = await open(served().studio('/workflows/alone'));
    await start(page);
    await followed(page).filter({ hasText: 'waiting' }).waitFor();
    await start(page);
    await page.getByText('It waits in the queue').waitFor();
    await page.getByRole('tab', { name: 'Queue' }).click();
    await page.getByRole('row', { name: /a place/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'workflow-queue');
    await page.getByRole('button', { name: 'Drop the start at 0' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
    await page.getByText('No start waits').waitFor();
    const { body } = await call<{ items: unknown[] }>(served().box, 'GET /api/workflows/alone/queue');
    expect(body.items).toEqual([]);
  });

  test('its schemas are shown, and searched', async () => {
    const page = await open(served().studio('/workflows/order?tab=schema'));
    await page.getByRole('searchbox', { name: 'Search in: Schema: Input' }).fill('Who orders');
    await page.getByText('1 of 1').waitFor();
    await page.getByRole('treeitem', { name: /Who orders/, selected: true }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('is for the dark and for a narrow screen too', async () => {
    const page = await open(served().studio('/workflows/order'), { width: 360, theme: 'dark' });
    await page.getByLabel('customer').waitFor();
    await page.getByRole('button', { name: 'Add lines' }).click();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'workflow-narrow-dark');
  });
});

const HTML = '<img src=x onerror="document.title=1"><script>document.title=1</script>';

function toHostile(): unknown {
  let deep: unknown = 'the bottom';
  for (let at = 0; at < 900; at += 1) deep = [deep];
  return {
    html: HTML,
    rtl: 'abc\u202Egnp.exe',
    long: 'x'.repeat(300_000),
    deep,
    list: Array.from({ length: 20_000 }, (_, at) => (at === 19_990 ? 'the needle' : `entry ${at}`)),
  };
}
