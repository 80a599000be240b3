import { expect, test } from 'vitest';
import { z } from 'zod';
import { createHook, createWebhook } from '../../runtime/src/engine/primitives/hook.ts';
import { getWritable } from '../../runtime/src/engine/primitives/writable.ts';
import { svc } from '../../runtime/src/svc.ts';
import { call, finish, startWorkflow, toStep, until, untilStatus } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

interface Listed {
  items: { runId: string; status: string; input: unknown }[];
}

const fails = toStep('pay', (input: unknown) => {
  if (isBroken) throw Object.assign(new Error('The bank is closed.'), { fatal: true });
  return input;
});
let isBroken = true;
const write = toStep('write', async () => {
  const writer = getWritable<{ line: number }>({ namespace: 'report' }).getWriter();
  for (let line = 1; line <= 3; line++) await writer.write({ line });
  await writer.close();
});

describeWhen(browser, 'Many runs at once, and what a run publishes', (path) => {
  const served = serveBox({
    workflows: {
      waits: { run: async () => createHook({ token: `never ${crypto.randomUUID()}` }) },
      others: { run: async () => createHook({ token: `never ${crypto.randomUUID()}` }) },
      pays: { run: async (input: unknown) => fails(input) },
      paid: { run: async (input: unknown) => input, on: { event: 'order.paid' }, schedules: [{ cron: '0 0 29 2 *' }] },
      listens: { run: async () => svc.events.wait('order.paid') },
      many: { run: async () => 'over' },
      checked: { inputSchema: z.object({ n: z.int() }), run: async (input: unknown) => input },
      publishes: {
        async run() {
          svc.publish({ done: 1, of: 3 });
          await write();
          const webhook = createWebhook();
          await webhook;
          svc.publish({ done: 3, of: 3 });
          return 'over';
        },
      },
    },
  });
  const open = openBrowser(path);
  const list = async (query: string) => (await call<Listed>(served().box, `GET /api/runs?${query}`)).body.items;
  const isOf = (name: string) => list(`name=${name}&limit=100`);

  test('all runs that the filters let through are cancelled, retried and deleted, once it is said how many', async () => {
    const { box, studio } = served();
    for (let n = 0; n < 3; n++) await untilStatus(box, await startWorkflow(box, 'waits', { n }), 'waiting');
    const other = await startWorkflow(box, 'others');
    await untilStatus(box, other, 'waiting');
    const page = await open(studio('/runs'));
    await page.getByRole('table').waitFor();
    // Without a filter it would be every run there is.
    expect(await page.getByRole('button', { name: 'All of these' }).count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Agent or workflow' }).fill('waits');
    const begin = async (label: RegExp) => {
      await page.getByRole('button', { name: 'All of these' }).click();
      await page.getByRole('menuitem', { name: label }).click();
    };
    await begin(/^Cancel all/);
    const dialog = page.getByRole('dialog');
    await page.getByRole('dialog', { name: 'Cancel 3 runs?' }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'runs-all-cancel');
    await page.reload();
    await page.getByRole('dialog', { name: 'Cancel 3 runs?' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await isOf('waits')).map(({ status }) => status)).toEqual(['waiting', 'waiting', 'waiting']);
    await begin(/^Cancel all/);
    await dialog.getByRole('button', { name: 'Cancel 3 runs' }).click();
    await page.getByRole('dialog', { name: '3 runs were cancelled' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await until(async () => (await isOf('waits')).every(({ status }) => status === 'cancelled'));
    await begin(/^Delete all/);
    await dialog.getByRole('button', { name: 'Delete 3 runs' }).click();
    await page.getByRole('dialog', { name: '3 runs were deleted' }).waitFor();
    expect(await isOf('waits')).toEqual([]);
    expect((await isOf('others')).map(({ runId, status }) => [runId, status])).toEqual([[other, 'waiting']]);

    for (let n = 0; n < 2; n++) await finish(box, await startWorkflow(box, 'pays', { n }));
    isBroken = false;
    await page.goto(studio('/runs?name=pays&status=failed'));
    await begin(/^Retry all/);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('dialog', { name: 'Retry 2 runs?' }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'runs-all-retry-narrow-dark');
    await dialog.getByRole('button', { name: 'Retry 2 runs' }).click();
    await page.getByRole('dialog', { name: '2 runs were retried' }).waitFor();
    await until(async () => (await isOf('pays')).filter(({ status }) => status === 'completed').length === 2);
  });

  test('to close it while it is under way stops it, and says how far it came', async () => {
    const { box, studio } = served();
    await call(box, 'POST /api/workflows/many/start-many', { items: Array.from({ length: 230 }, () => ({})) });
    const over = async () => (await list('name=many&status=completed&limit=200')).length;
    await until(async () => (await over()) === 200 && (await list('name=many&status=running')).length === 0);
    const page = await open(studio('/runs?name=many&all=delete'));
    const stopped = withResolve();
    await page.route('**/api/runs/delete', async (route) => {
      if (route.request().postData()?.includes('dryRun') === false) await stopped.done;
      await route.continue();
    });
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete 230 runs' }).click();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    stopped.resolve();
    await page.getByText('200 runs were deleted until it was stopped: the others are as they were.').waitFor();
    expect(await over()).toBe(30);
  });

  test('what has ended since it was counted is said before it is deleted', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'listens');
    await untilStatus(box, runId, 'waiting');
    for (let n = 0; n < 2; n++) await finish(box, await startWorkflow(box, 'paid', { n }));
    const page = await open(studio('/runs?kind=workflow&all=delete'));
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: /^Delete \d+ runs$/ });
    const counted = Number((await button.innerText()).match(/\d+/)?.[0]);
    await call(box, 'POST /api/events/order.paid', { id: 'o-6' });
    await finish(box, runId);
    await button.click();
    await dialog.getByText(/^Since you were asked \d+ runs? more became so\. Nothing was done yet\.$/).waitFor();
    expect((await list('name=listens')).map((run) => run.runId)).toContain(runId);
    await dialog.getByRole('button', { name: /^Delete \d+ runs$/ }).click();
    await page.getByRole('dialog', { name: /^\d+ runs were deleted$/ }).waitFor();
    expect(Number((await dialog.getByRole('heading').innerText()).match(/\d+/)?.[0])).toBeGreaterThan(counted);
    expect((await list('name=listens')).map((run) => run.runId)).not.toContain(runId);
  });

  test('an event is sent, and it is said who took it', async () => {
    const { box, studio } = served();
    const waiting = await startWorkflow(box, 'listens');
    await untilStatus(box, waiting, 'waiting');
    const page = await open(studio('/workflows'));
    await page.getByRole('button', { name: 'Send an event' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Workflows start by order.paid').waitFor();
    await dialog.getByLabel('Name').fill('order.paid');
    await dialog.getByLabel('Payload').fill('{oops');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByText(/The payload is not JSON/).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByLabel('Payload').fill('{"id": "o-5"}');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByText('1 run that waited for it went on, and by it started:').waitFor();
    await dialog.getByText('paid started').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'event-sent');
    expect(await finish(box, waiting)).toMatchObject({ output: { payload: { id: 'o-5' } } });
    await until(async () => (await isOf('paid'))[0]?.status === 'completed');
    expect((await isOf('paid'))[0]?.input).toMatchObject({ id: 'o-5' });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('link', { name: 'paid', exact: true }).click();
    const by = page.getByText('Started by').locator('..');
    expect(await by.innerText()).toMatch(/the event\s+order\.paid\s+1 timer/);
    await keepPicture(page, 'workflow-started-by');
  });

  test('a workflow is started with many inputs, and what became of each is said', async () => {
    const page = await open(served().studio('/workflows/checked'));
    await page.getByRole('button', { name: 'Start many…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start checked many times' });
    await dialog.getByLabel('Inputs').fill('{"n": 1}\n{"n": 2');
    await dialog.getByText(/^Line 2 is not JSON/).waitFor();
    expect(await dialog.getByRole('button', { name: /^Start/ }).isDisabled()).toBe(true);
    await dialog.getByLabel('Inputs').fill('{"n": 1}\n{"n": "two"}\n\n{"n": 3}\n');
    await dialog.getByRole('button', { name: 'Start 3 runs' }).click();
    await page.getByText('2 started, 0 queued, 1 refused.').waitFor();
    const rows = page.getByRole('dialog').getByRole('row');
    expect(await rows.nth(2).innerText()).toContain('workflow_input_invalid');
    expect(await rows.nth(1).getByRole('link').count()).toBe(1);
    expect(await listBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'start-many-narrow-dark');
    await until(async () => (await isOf('checked')).filter(({ status }) => status === 'completed').length === 2);
    expect((await isOf('checked')).map(({ input }) => (input as { n: number }).n).sort()).toEqual([1, 3]);
  });

  test('what a run publishes is seen as it changes, and its streams and the addresses it has made', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'publishes');
    await untilStatus(box, runId, 'waiting');
    const page = await open(studio(`/runs/${runId}?tab=published`));
    await page.getByText('done').first().waitFor();
    const state = page.locator('section').filter({ has: page.getByRole('heading', { name: 'State', exact: true }) });
    await expect.poll(() => state.innerText()).toMatch(/done:?\s*1/);
    await page.getByRole('button', { name: 'report' }).click();
    await page
      .getByRole('dialog', { name: 'Stream report' })
      .getByText(/"line": 3/)
      .waitFor();
    await page.reload();
    await page
      .getByRole('dialog', { name: 'Stream report' })
      .getByText(/"line": 3/)
      .waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-stream');
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Webhooks' }).click();
    const row = page.getByRole('row').filter({ hasText: 'takes calls' });
    const url = await row.locator('code').innerText();
    expect(await listBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'run-webhooks-narrow-dark');
    await page.getByRole('tab', { name: 'State and streams' }).click();
    const { pathname } = new URL(url);
    expect((await box.request(pathname, { method: 'POST', body: '{}' })).status).toBeLessThan(300);
    await expect.poll(() => state.innerText()).toMatch(/done:?\s*3/);
    expect(await finish(box, runId)).toMatchObject({ output: 'over' });
    await keepPicture(page, 'run-published-narrow-dark');
  });
});

// --- internal ---

function withResolve(): { done: Promise<void>; resolve(): void } {
  let resolve = (): void => {};
  const done = new Promise<void>((end) => {
    resolve = end;
  });
  return { done, resolve: () => resolve() };
}
