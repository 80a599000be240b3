import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { sleep } from '../../runtime/src/engine/primitives/sleep.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { call, finish, startWorkflow, toStep, untilStatus } from '../../runtime/test/_setup.ts';
import { svc } from '../../runtime/src/svc.ts';
import { toCaseLine, toTestLine } from '../src/screens/run/lines.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202egnp.exe';

/** So many objects are recorded in another way. */
const MANY = Array.from({ length: 200 }, (_, n) => ({ n }));

const reserve = toStep('reserve', (order: unknown) => ({ reserved: order }));
const charge = toStep('charge', () => {
  throw Object.assign(new Error(`The card was refused. ${HOSTILE}`), { fatal: true });
});
const flaky = toStep('flaky', () => {
  tries += 1;
  if (tries < 3) throw new Error(`Not yet. ${HOSTILE}`);
  return tries;
});
Object.assign(flaky, { backoff: { initial: '150ms', factor: 1, max: '150ms' } });
let tries = 0;
const many = toStep('many', (n: number) => n);

const PROGRAM = {
  workflows: {
    order: {
      async run(input: unknown) {
        await reserve(input);
        await sleep('1s');
        return charge();
      },
    },
    hook: { run: async () => createHook({ token: 'never' }) },
    greet: { run: async (input: unknown) => reserve(input) },
    tried: { run: async () => [await reserve({}), await flaky()] },
    outer: { run: async (input: unknown) => [await reserve(input), await svc.workflows.startAndWait('inner', input)] },
    inner: { run: async (input: unknown) => reserve({ inner: input }) },
    asks: { run: async () => requestApproval({ title: 'Ship the order?', payload: { order: 'A-1' } }) },
    wave: { run: async (input: unknown) => reserve(input) },
    long: {
      async run() {
        for (let n = 0; n < 1_500; n++) await many(n);
      },
    },
  },
};

describeWhen(browser, 'Runs and Run', (path) => {
  const served = serveBox(PROGRAM);
  const open = openBrowser(path);

  test('a run is found by its input, opened by the keyboard, and says why it failed', async () => {
    const { box, studio } = served();
    const failed = await startWorkflow(box, 'order', { orderId: 'o-77', note: HOSTILE });
    await startWorkflow(box, 'order', { orderId: 'o-78' });
    await finish(box, failed);
    const page = await open(studio('/runs'));
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Input or output holds' }).fill('o-77');
    await page
      .getByRole('status')
      .getByText(/1 of all \d+ runs holds “o-77”/)
      .waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    expect(new URL(page.url()).searchParams.get('has')).toBe('o-77');
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('row').getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname.endsWith(failed));
    await page.getByRole('group', { name: 'Error' }).first().waitFor();
    expect(await page.getByRole('group', { name: 'Error' }).first().innerText()).toContain('The card was refused.');
    await page.getByRole('tree', { name: 'Timeline' }).waitFor();
    expect(await page.title()).toBe('Run · test-box');
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('treeitem', { name: /step charge/ }).click();
    await page.getByRole('region', { name: 'Details' }).getByText('step ·').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-failed');
    await page.reload();
    await page.getByRole('region', { name: 'Details' }).getByRole('group', { name: 'Error' }).waitFor();
  });

  test('the oldest of many runs is found by what stands deep in its input, and further back when asked', async () => {
    const { box, studio } = served();
    const wanted = await startWorkflow(box, 'greet', { note: `${'x'.repeat(5_000)}needle "7"`, list: MANY });
    await finish(box, wanted);
    for (let n = 0; n < 60; n++) await startWorkflow(box, 'greet', { n });
    const page = await open(studio('/runs'));
    await expect.poll(() => page.getByRole('row').count()).toBe(51);
    await page.getByRole('searchbox', { name: 'Input or output holds' }).fill('NEEDLE "7"');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    expect(await page.getByRole('row').getByRole('link').getAttribute('href')).toContain(wanted);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'runs-found');
    // A box that has looked through so many says how far it has come.
    await page.route('**/api/runs?*has=*', async (route) => {
      const isFurther = route.request().url().includes('cursor=');
      const looked = { runs: 2_000, to: '2026-11-02T10:00:00.000Z', stored: isFurther ? 0 : 1 };
      await route.fulfill({ json: { items: [], nextCursor: isFurther ? null : wanted, looked } });
    });
    await page.getByRole('searchbox', { name: 'Input or output holds' }).fill('other');
    const status = page.getByRole('status');
    await status.getByText(/0 of the newest 2,000 runs, back to .*2026.*1 of their values were too large/).waitFor();
    await page.getByRole('button', { name: 'Look further', exact: true }).click();
    await status.getByText(/0 of all 4,000 runs hold/).waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
  });

  test('columns are chosen, are in the address, and are kept by the browser', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'greet', { name: 'Columns' });
    await finish(box, runId);
    const page = await open(studio('/runs?name=greet'));
    await page.getByRole('button', { name: 'Columns', exact: true }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Output' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Trigger' }).click();
    await page.getByRole('columnheader', { name: 'Output', exact: true }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    const headings = () => page.getByRole('columnheader').allInnerTexts();
    const chosen = ['Run', 'Status', 'Input', 'Output', 'Created', 'Took', 'Tokens in', 'Tokens out'];
    expect(await headings()).toEqual(chosen);
    expect(new URL(page.url()).searchParams.get('cols')).toBe('run,status,input,output,created,took,in,out');
    await page.reload();
    await page.getByRole('columnheader', { name: 'Output', exact: true }).waitFor();
    await page.goto(studio('/runs'));
    await page.getByRole('columnheader', { name: 'Output', exact: true }).waitFor();
    await page.setViewportSize({ width: 360, height: 800 });
    // Rows are cards there: each value has its heading before it, but the first.
    const card = () => page.getByRole('row').filter({ hasText: 'greet' }).first().innerText();
    await expect.poll(card).toMatch(/Status[^]*Input[^]*Output[^]*Created[^]*Took[^]*Tokens in[^]*Tokens out/);
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'runs-columns-narrow');
    await page.getByRole('button', { name: 'Columns', exact: true }).click();
    await page.getByRole('menuitem', { name: 'The usual ones' }).click();
    await expect.poll(card).not.toContain('Output');
    expect(await card()).toMatch(/Status[^]*Created/);
  });

  test('a run is forked from a step with other arguments, and what is executed again is shown first', async () => {
    const { box, studio } = served();
    const source = await startWorkflow(box, 'greet', { name: 'Ada' });
    await finish(box, source);
    const page = await open(studio(`/runs/${source}`));
    await page.getByRole('treeitem', { name: /step reserve/ }).click();
    await page.getByRole('button', { name: 'Fork from here', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('list', { name: 'Executed again' }).getByText('reserve').waitFor();
    expect(await dialog.innerText()).toContain('done once already');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-fork');
    const args = dialog.getByRole('textbox', { name: 'Arguments of the step' });
    await args.fill('{"name":"Bob"}');
    await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
    await dialog.getByText('The arguments of a step are a list: [ … ].').waitFor();
    await args.fill('[{"name":"Bob"}]');
    await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(source));
    const forked = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(await finish(box, forked)).toMatchObject({
      output: { reserved: { name: 'Bob' } },
      forkedFrom: { runId: source, step: '0' },
    });
    // Each leads to the other.
    await page
      .getByRole('definition')
      .getByRole('link', { name: source.slice(0, 8) })
      .click();
    await page.waitForURL((url) => url.pathname.endsWith(source));
    await page.getByRole('link', { name: 'Its forks', exact: true }).click();
    await page.getByRole('row').getByText(forked.slice(0, 8)).waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
  });

  test('a run that waits is rewound, and a refusal says why', async () => {
    const { box, studio } = served();
    const source = await startWorkflow(box, 'hook');
    await untilStatus(box, source, 'waiting');
    const page = await open(studio(`/runs/${source}`));
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Fork from the start…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'The run itself' }).selectOption('rewind');
    await dialog.getByText('It is cancelled with the runs it started').waitFor();
    expect(await isTooWide(page)).toBe(false);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'run-rewind');
    await dialog.getByRole('button', { name: 'Cancel it and fork' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(source));
    const next = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await untilStatus(box, source, 'cancelled');
    await untilStatus(box, next, 'waiting');
    await call(box, `POST /api/runs/${next}/cancel`);
  });

  test('a run is followed as it goes on, and cancelled', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'hook');
    await untilStatus(box, runId, 'waiting');
    const page = await open(studio(`/runs/${runId}`));
    await page.getByRole('heading', { name: /hook waiting/ }).waitFor();
    await page.getByText('Why', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel run', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel the run', exact: true }).click();
    await page.getByRole('heading', { name: /hook cancelled/ }).waitFor();
    await untilStatus(box, runId, 'cancelled');
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL((url) => url.pathname === '/studio/runs');
    expect((await call(box, `GET /api/runs/${runId}`)).status).toBe(404);
  });

  test('a list shows what happens without being asked again', async () => {
    const { box, studio } = served();
    const page = await open(studio('/runs?name=wave'));
    await page.getByText('No run matches').waitFor();
    const runId = await startWorkflow(box, 'wave', { word: 'hello' });
    await page.getByText(runId.slice(0, 8)).waitFor();
    await page.getByRole('cell', { name: 'completed' }).waitFor();
    const failing = await startWorkflow(box, 'order', {});
    await finish(box, failing);
    await page.goto(studio(`/runs/${failing}`));
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/studio/runs/') && !url.pathname.endsWith(failing));
    const again = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await finish(box, again);
    // Each leads to the other.
    const facts = page.getByRole('definition');
    await facts.getByRole('link', { name: failing.slice(0, 8) }).click();
    await page.waitForURL((url) => url.pathname.endsWith(failing));
    await page.getByText('Repeated by', { exact: true }).waitFor();
    await facts.getByRole('link', { name: again.slice(0, 8) }).click();
    await page.waitForURL((url) => url.pathname.endsWith(again));
  });

  test('a timeline of many rows has as many elements as are seen, and is walked by the keyboard', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'long');
    await finish(box, runId);
    const page = await open(studio(`/runs/${runId}`), { width: 360, theme: 'dark' });
    const tree = page.getByRole('tree', { name: 'Timeline' });
    await tree.waitFor();
    expect(await page.getByRole('treeitem').count()).toBeLessThan(60);
    await tree.focus();
    await page.keyboard.press('End');
    await page
      .getByRole('region', { name: 'Details' })
      .getByRole('heading', { name: /many completed/ })
      .waitFor();
    expect(new URL(page.url()).searchParams.get('span')).toBe(`${runId}:1499`);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => page.getByRole('treeitem').count()).toBe(1);
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-narrow-dark');
  });

  test('attempts of a call and what it stood back between them are drawn', async () => {
    const { box, studio } = served();
    tries = 0;
    const runId = await startWorkflow(box, 'tried');
    await finish(box, runId);
    const page = await open(studio(`/runs/${runId}`));
    const row = page.getByRole('treeitem', { name: /step flaky, completed, .* attempt 3/ });
    await row.waitFor();
    expect(await partsOf(row)).toEqual(['failed', 'backoff', 'failed', 'backoff', 'last']);
    expect(await partsOf(page.getByRole('treeitem', { name: /step reserve/ }))).toEqual(['whole']);
    await row.click();
    await page.getByText(/#2 .*ms.*after the last/).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-attempts');
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'run-attempts-narrow-dark');
  });

  test('a child run stands below its call, is opened in place, and is one click away and back', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'outer', { name: 'Ada' });
    await finish(box, runId);
    const page = await open(studio(`/runs/${runId}`));
    const child = page.getByRole('treeitem', { name: /run inner/ });
    await child.waitFor();
    expect(await levelsOf(page)).toEqual(['outer 1', 'reserve 2', 'start inner 2', 'inner 3', 'wait inner 2']);
    await child.click();
    await page.keyboard.press('ArrowRight');
    await expect
      .poll(() => levelsOf(page))
      .toEqual(['outer 1', 'reserve 2', 'start inner 2', 'inner 3', 'reserve 4', 'wait inner 2']);
    // What is opened and closed is in the address: a reload keeps it, and so does the way to another run and back.
    const inner = ['outer 1', 'reserve 2', 'start inner 2', 'inner 3', 'reserve 4', 'wait inner 2'];
    await page.reload();
    await expect.poll(() => levelsOf(page)).toEqual(inner);
    await page.getByRole('treeitem', { name: /child start inner/ }).click();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => levelsOf(page)).toEqual(inner.filter((row) => !/^(inner|reserve 4)/.test(row)));
    await page.getByRole('link', { name: 'Runs', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.goBack();
    await expect.poll(() => levelsOf(page)).toEqual(inner.filter((row) => !/^(inner|reserve 4)/.test(row)));
    await page.getByRole('treeitem', { name: /child start inner/ }).click();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => levelsOf(page)).toEqual(inner);
    expect(new URL(page.url()).searchParams.has('closed')).toBe(false);
    await page.getByRole('treeitem', { name: /run inner/ }).click();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('region', { name: 'Details' }).getByText('"inner"').first().waitFor();
    expect(await page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-child-open');
    await page.getByRole('treeitem', { name: /child wait inner/ }).click();
    await page.getByRole('region', { name: 'Details' }).getByRole('link', { name: 'Open the run of inner' }).waitFor();
    await page
      .getByRole('treeitem', { name: /run inner/ })
      .getByRole('link', { name: 'Open the run of inner' })
      .click();
    await page.getByRole('heading', { name: /inner completed/ }).waitFor();
    await page
      .getByRole('definition')
      .getByRole('link', { name: runId.slice(0, 8) })
      .first()
      .click();
    await page.waitForURL((url) => url.pathname.endsWith(runId));
    // And by the keyboard alone.
    await page.getByRole('tree', { name: 'Timeline' }).focus();
    for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: /inner completed/ }).waitFor();
  });

  test('what a run has asked a person is decided where the run is seen, in one click', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'asks');
    await untilStatus(box, runId, 'waiting');
    const page = await open(studio(`/runs/${runId}`));
    const approvals = page.getByRole('region', { name: 'Approvals', exact: true });
    await approvals.getByText('Ship the order?').waitFor();
    await approvals.getByText('"A-1"').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'run-approval');
    // No single key decides here.
    await page.keyboard.press('a');
    await approvals.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('heading', { name: /asks completed/ }).waitFor();
    await approvals.getByText(/Approved by/).waitFor();
    expect(await finish(box, runId)).toMatchObject({ output: { approved: true } });
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    await approvals.getByRole('link', { name: 'Ship the order?' }).click();
    await page
      .getByRole('region', { name: 'What is asked' })
      .getByText(/Approved by/)
      .waitFor();
  });

  test('a run is copied as the commands that make a test or a case of it', async () => {
    const { box, studio } = served();
    const runId = await startWorkflow(box, 'greet', { name: 'Ada' });
    await finish(box, runId);
    const page = await open(studio(`/runs/${runId}`));
    const copied = async (name: RegExp) => {
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name }).click();
      await page
        .getByText(/^Copied: /)
        .first()
        .waitFor();
      return page.evaluate(`navigator.clipboard.readText()`);
    };
    expect(await copied(/as a test/)).toBe(toTestLine({ runId, name: 'greet' }));
    expect(await copied(/as a case/)).toBe(toCaseLine({ runId }));
  });

  test('what a link has narrowed the list to is shown, and taken away', async () => {
    const { studio } = served();
    const parent = '00000000-0000-4000-8000-000000000000';
    const page = await open(studio(`/runs?parent=${parent}&user=ada&since=between`), { width: 390 });
    const chips = page.getByRole('list', { name: 'Narrowed down to' });
    await chips.getByText(`Started by the run ${parent}`).waitFor();
    await page.getByText('No run matches').waitFor();
    await page.getByLabel('From', { exact: true }).fill('2026-01-01T00:00');
    await page.waitForURL(/from=/);
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'runs-chips-narrow');
    await page.getByRole('button', { name: 'Of any: Started by the run' }).click();
    await expect.poll(() => chips.getByRole('listitem').count()).toBe(1);
    expect(new URL(page.url()).searchParams.get('parent')).toBeNull();
    await page.getByRole('combobox', { name: 'Created' }).selectOption('yesterday');
    await page.getByLabel('From', { exact: true }).waitFor({ state: 'detached' });
  });

  test('a run that is not there says so, with the code', async () => {
    const page = await open(served().studio('/runs/00000000-0000-4000-8000-000000000000'));
    allowComplaint(page, /404/);
    await page.getByRole('alert').getByText('run_not_found').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });
});

/** The parts of a bar. */
function partsOf(row: Locator): Promise<(string | null)[]> {
  return row.locator('[data-segment]').evaluateAll((parts) => parts.map((part) => part.getAttribute('data-segment')));
}

/** What is in the timeline, each with its level. */
function levelsOf(page: Page): Promise<string[]> {
  return page
    .getByRole('treeitem')
    .evaluateAll((rows) =>
      rows.map((row) => `${row.querySelector('bdi')?.textContent} ${row.getAttribute('aria-level')}`),
    );
}
