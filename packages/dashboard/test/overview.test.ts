import { expect, test } from 'vitest';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import { createLog } from '../../runtime/src/log.ts';
import { svc } from '../../runtime/src/svc.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { finish, startWorkflow, toProgram, toStep, untilStatus } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';
const log = createLog({ level: 'silent', write() {} });
const talk = toStep('talk', () => {
  svc.log.info(`Packed the box. ${HOSTILE}`, { weight: 12 });
  svc.log.warn('The label is crooked.');
  throw Object.assign(new Error('The courier did not come.'), { fatal: true });
});

const chat = toStep('chat', () => {
  for (let n = 0; n < 450; n++) svc.log.info(`Line ${n}`);
});

const PROGRAM = {
  workflows: {
    ship: { run: async () => talk() },
    ask: { run: async () => requestApproval({ title: `Send it? ${HOSTILE}` }) },
    chatty: { run: async () => chat() },
    nightly: { run: async () => 1, schedules: [{ cron: '0 3 * * *' }] },
  },
};

describeWhen(browser, 'Overview, Logs and the palette', (path) => {
  const served = serveBox({ ...PROGRAM, options: { log, records: log } });
  const open = openBrowser(path);

  test('the first page shows what waits, what failed, and links to it', async () => {
    const { box, studio } = served();
    const failed = await startWorkflow(box, 'ship');
    await finish(box, failed);
    await untilStatus(box, await startWorkflow(box, 'ask'), 'waiting');
    const page = await open(studio('/'));
    await page.getByText('The box is ready').waitFor();
    await page.getByText('The courier did not come.').waitFor();
    await page.getByRole('link', { name: /Send it\?/ }).waitFor();
    await page.getByRole('img', { name: /Runs of the last 24 hours: \d+ in all, 1 failed/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'overview');
    const asked = page.getByRole('link', { name: /Send it\?/ });
    await asked.click();
    await page.waitForURL((url) => url.pathname.endsWith('/approvals') && url.searchParams.has('open'));
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'ship', exact: true }).click();
    await page.waitForURL((url) => url.pathname.endsWith(failed));
    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByRole('button', { name: /Packed the box/ }).waitFor();
  });

  test('the last 24 hours move on in a page that is left open', async () => {
    const page = await open(served().studio('/health'));
    const now = Date.now();
    const begin = (time: number) => new Date(Math.ceil(time / 3_600_000) * 3_600_000 - 86_400_000).toISOString();
    await page.clock.install({ time: now });
    const from = () => page.waitForRequest((asked) => asked.url().includes('/api/runs/stats'));
    const first = from();
    await page.goto(served().studio('/'));
    expect(new URL((await first).url()).searchParams.get('from')).toBe(begin(now));
    await page.getByRole('img', { name: /Runs of the last 24 hours/ }).waitFor();
    const next = from();
    await page.clock.fastForward('01:00:00');
    expect(new URL((await next).url()).searchParams.get('from')).toBe(begin(now + 3_600_000));
  });

  test('older records are read page by page, and a time of the address narrows them down', async () => {
    const { box, studio } = served();
    await finish(box, await startWorkflow(box, 'chatty'));
    const page = await open(studio('/logs?name=chatty&text=Line'));
    const records = page.getByRole('log');
    await records.getByRole('button', { name: /Line 449/ }).waitFor();
    const older = page.getByRole('button', { name: 'Show older' });
    await older.click();
    // Those before what was the first come into view.
    await records.getByRole('button', { name: /Line 249/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'logs-older');
    await older.click();
    await older.waitFor({ state: 'detached' });
    await records.evaluate((element) => (element.scrollTop = 0));
    await records.getByRole('button', { name: /Line 0$/ }).waitFor();
    await page.getByLabel('Before', { exact: true }).fill('2020-01-01T00:00');
    await page.getByText('No record matches').waitFor();
    expect(new URL(page.url()).searchParams.get('to')).toMatch(/^20(?:19|20)-/);
    await page.reload();
    await page.getByText('No record matches').waitFor();
    expect(await page.getByLabel('Before', { exact: true }).inputValue()).toBe('2020-01-01T00:00');
  });

  test('log records come as they are stored, are narrowed down, paused, and opened', async () => {
    const { box, studio } = served();
    await finish(box, await startWorkflow(box, 'ship'));
    const page = await open(studio('/logs?name=ship'));
    const crooked = page.getByRole('button', { name: /The label is crooked/ });
    await crooked.first().waitFor();
    const before = await crooked.count();
    await finish(box, await startWorkflow(box, 'ship'));
    await expect.poll(() => crooked.count()).toBe(before + 1);
    await page.getByRole('combobox', { name: 'Level' }).selectOption('error');
    await page.getByText('No record matches').or(page.getByRole('log')).waitFor();
    await expect.poll(() => crooked.count()).toBe(0);
    await page.getByRole('combobox', { name: 'Level' }).selectOption('');
    await page
      .getByRole('button', { name: /Packed the box/ })
      .first()
      .click();
    await page.getByRole('dialog').getByText('"weight": 12').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    // The address has the open record, and that nothing is followed.
    await page.reload();
    await page.getByRole('dialog').getByText('"weight": 12').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(new URL(page.url()).searchParams.get('record')).toBeNull();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Go on', exact: true }).waitFor();
    await crooked.first().waitFor();
    const paused = await crooked.count();
    await finish(box, await startWorkflow(box, 'ship'));
    // By the keyboard through records.
    await page.getByRole('log').focus();
    for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowUp']) await page.keyboard.press(key);
    const marked = page.getByRole('log').locator('[aria-current]');
    const text = await marked.innerText();
    expect(await page.getByRole('log').getByRole('button').nth(1).innerText()).toBe(text);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(await crooked.count()).toBe(paused);
    await page.getByRole('button', { name: 'Go on', exact: true }).click();
    await expect.poll(() => crooked.count()).toBe(paused + 1);
    expect(await listBarriers(page)).toEqual([]);
    expect(await page.title()).toBe('Logs · test-box');
    await keepPicture(page, 'logs');
  });

  test('the palette goes anywhere by the keyboard, and knows what was loaded since', async () => {
    const { box, studio } = served();
    const page = await open(studio('/health'), { width: 360, theme: 'dark' });
    await page.getByRole('heading', { name: 'Health', exact: true }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Screen, agent, workflow, run or id' }).fill('brandnew');
    await page.getByText('Nothing has that name.').waitFor();
    await box.reload(toProgram({ workflows: { ...PROGRAM.workflows, brandnew: { run: async () => 1 } } }));
    await page.getByRole('option', { name: /brandnew/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'palette-narrow-dark');
    await page.getByRole('combobox', { name: 'Screen, agent, workflow, run or id' }).fill('overv');
    await page.getByRole('option', { name: /Overview/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.getByText('Next timers').waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
  });
});
