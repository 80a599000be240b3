import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { call, finish, startWorkflow, untilStatus } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const LABEL = 'Screen, agent, workflow, run or id';

/** What is on the page at the end of the way: a path with its query. */
async function follow(page: Page, text: string): Promise<string> {
  const before = page.url();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: LABEL }).fill(text);
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.href !== before);
  expect(await page.getByRole('dialog').count()).toBe(0);
  const { pathname, search } = new URL(page.url());
  return pathname.replace('/studio', '') + search;
}

/** The keys are heard once the page is there. */
const isThere = (page: Page) => page.getByRole('heading', { name: 'Health', exact: true }).waitFor();

describeWhen(browser, 'The palette', (path) => {
  const served = serveBox({
    agents: { helper: createAgent() },
    workflows: {
      oldest: { run: async (input: unknown) => input },
      many: { run: async () => 1 },
      ask: { run: async () => requestApproval({ title: 'Send the parcel?' }) },
    },
  });
  const open = openBrowser(path);
  let oldest: string;
  let sessionId: string;
  let approvalId: string;
  beforeAll(async () => {
    const { box } = served();
    oldest = await startWorkflow(box, 'oldest', { order: 'o-77' });
    await finish(box, oldest);
    await call(
      box,
      'POST /wire-a/v1/chat/completions',
      { model: 'helper', messages: [{ role: 'user', content: 'say:Hello.' }] },
      { authorization: 'Bearer dev', 'x-svc-session': 'the-call-of-monday' },
    );
    await untilStatus(box, await startWorkflow(box, 'ask'), 'waiting');
    // More than a list shows.
    const newer = await Promise.all(Array.from({ length: 130 }, () => startWorkflow(box, 'many')));
    await Promise.all(newer.map((runId) => finish(box, runId)));
    const sessions = await call<{ items: { sessionId: string }[] }>(box, 'GET /api/sessions');
    sessionId = sessions.body.items[0]?.sessionId ?? '';
    const approvals = await call<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals');
    approvalId = approvals.body.items[0]?.approvalId ?? '';
  });

  test('goes to what has an id, whole or its beginning, also what no screen has loaded', async () => {
    const page = await open(served().studio('/health'));
    await isThere(page);
    const run = `/runs/${oldest}`;
    expect(await follow(page, oldest)).toBe(run);
    expect(await follow(page, sessionId)).toBe(`/sessions/${sessionId}`);
    await page.getByRole('heading', { name: 'the-call-of-monday' }).waitFor();
    expect(await follow(page, approvalId)).toBe(`/approvals?open=${approvalId}`);
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    // Nothing else of this box begins so.
    expect(await follow(page, oldest.slice(0, 23))).toBe(run);
    expect(await follow(page, sessionId.slice(0, 8))).toBe(`/sessions/${sessionId}`);
    expect(await follow(page, approvalId.slice(0, 10))).toBe(`/approvals?open=${approvalId}`);
    expect(await follow(page, `${served().url}/studio/runs/${oldest}?tab=logs`)).toBe(run);
  });

  test('finds runs by their name in all of them, and looks for a text in what they were given', async () => {
    const page = await open(served().studio('/health'));
    await isThere(page);
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: LABEL });
    const options = page.getByRole('option');
    await field.fill('oldest');
    await page.getByRole('option', { name: new RegExp(`oldest ${oldest} run, completed`) }).waitFor();
    await options.first().getByText('workflow').waitFor();
    await field.fill('o-77');
    await page.getByText('Nothing has that name.').waitFor();
    expect(await options.count()).toBe(1);
    expect(await listBarriers(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\?has=o-77$/);
    await page.getByRole('link', { name: 'oldest' }).first().waitFor();
  });

  test('is walked by the keyboard, says what it takes, and what it has not found', async () => {
    const page = await open(served().studio('/health'), { width: 360, theme: 'dark' });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('button', { name: /Go to/ }).click();
    const options = page.getByRole('option');
    await page.getByText('An id of a run, a session or an approval goes there too').waitFor();
    await options.first().waitFor();
    await keepPicture(page, 'palette-empty-narrow-dark');
    for (const key of ['ArrowDown', 'PageDown', 'ArrowUp', 'PageUp', 'ArrowDown']) await page.keyboard.press(key);
    expect(await options.nth(1).getAttribute('aria-selected')).toBe('true');
    await page.getByRole('combobox', { name: LABEL }).fill('ffffffff-ffff');
    await page.getByText('Nothing has that id.').waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    // Enter leads nowhere that was not asked for.
    const { href } = new URL(page.url());
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(page.url()).toBe(href);
  });
});
