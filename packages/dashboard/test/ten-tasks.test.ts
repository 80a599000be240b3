import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { newJournalPath } from '../../runtime/src/engine/_setup.ts';
import { openSqliteJournal } from '../../runtime/src/engine/stores/sqlite/journal.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import type { Calls } from '../../runtime/test/_agui.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { call, finish, setupBoxes, startWorkflow, toStep, until } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, openBrowser } from './_browser.ts';

/**
 * A person with a mouse who knows the page by what is on it: things are found by their role and their visible name alone, and
 * every click is counted. What is typed is not; a list that is chosen from is one click.
 */
function toHand(page: Page) {
  let clicks = 0;
  const named = (within: Page | Locator, role: Parameters<Page['getByRole']>[0], name: string) =>
    within.getByRole(role, { name, exact: true }).first();
  return {
    clicks: () => clicks,
    async click(role: Parameters<Page['getByRole']>[0], name: string, within: Page | Locator = page) {
      await named(within, role, name).click();
      clicks += 1;
    },
    async write(label: string, text: string, within: Page | Locator = page) {
      await within.getByLabel(label, { exact: true }).fill(text);
    },
    async choose(label: string, option: string) {
      await named(page, 'combobox', label).selectOption(option);
      clicks += 1;
    },
    sees: (text: string | RegExp, within: Page | Locator = page) => within.getByText(text).first().waitFor(),
  };
}

/** The part of a screen that has that heading. */
const below = (page: Page, heading: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name: heading, exact: true }) });

const DAY_MS = 86_400_000;

interface Listed {
  items: Record<string, unknown>[];
}

const ship = toStep('ship', (): never => {
  throw Object.assign(new Error('The courier did not come.'), { fatal: true });
});

describeWhen(browser, 'Ten tasks with nothing but the page', (path) => {
  const calls: Calls[] = [];
  const workflows = {
    refund: {
      inputSchema: z.object({ orderId: z.string().regex(/^o-\d+$/), amount: z.number().max(100) }),
      run: async (input: unknown) => ({ refunded: input }),
    },
    ship: { run: async () => ship() },
    nightly: { run: async () => 1, schedules: [{ cron: '0 3 * * *' }] },
  };
  const boxes = setupBoxes();
  const journalPath = newJournalPath();
  let old: string;
  // What is in the store when the box begins was run a day ago.
  beforeAll(async () => {
    const now = (): number => Date.now() - DAY_MS;
    const clock = { now, sync: async () => {} };
    const journal = await openSqliteJournal({ path: journalPath, clock: now });
    const box = await boxes.share({ workflows, journal, options: { engine: { clock } } })();
    old = await startWorkflow(box, 'refund', { orderId: 'o-77', amount: 5 });
    await finish(box, old);
    await box.shut();
  });
  afterAll(() => rm(dirname(journalPath), { recursive: true, force: true }));
  const served = serveBox(() => ({ agents: { helper: createAgent(calls) }, workflows, journalPath }));
  const open = openBrowser(path);
  const ask = async <Body = Record<string, unknown>>(route: string, body?: unknown): Promise<Body> =>
    (await call<Body>(served().box, route, body)).body;
  const say = (session: string, content: string) =>
    call(
      served().box,
      'POST /wire-a/v1/chat/completions',
      { model: 'helper', messages: [{ role: 'user', content }] },
      { authorization: 'Bearer dev', 'x-svc-session': session },
    );
  let promptId: string;
  beforeAll(async () => {
    const { box } = served();
    await finish(box, await startWorkflow(box, 'refund', { orderId: 'o-77', amount: 6 }));
    await finish(box, await startWorkflow(box, 'refund', { orderId: 'o-78', amount: 5 }));
    await finish(box, await startWorkflow(box, 'ship'));
    await say('monday', 'say:Hello.');
    await say('refunds', 'tool:refund {"order": "o-9", "amount": 50}; say:Done.');
    const made = await ask('POST /api/prompts', {
      ownerKind: 'agent',
      ownerName: 'helper',
      key: 'instructions',
      name: 'The tone',
      text: 'Be kind.',
    });
    promptId = String(made['id']);
    await ask(`POST /api/prompts/${promptId}/publish`, {});
    await ask(`POST /api/prompts/${promptId}/versions`, { text: 'Be rude.' });
    await ask(`POST /api/prompts/${promptId}/publish`, {});
    await ask('PUT /api/secrets/mail-key', { value: 'the-old-one' });
  });

  /** From the first page on. */
  const begin = async () => {
    const page = await open(served().studio('/'));
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    return { page, hand: toHand(page) };
  };

  test('start a workflow with a wrong input, and mend it', async () => {
    const { page, hand } = await begin();
    await hand.click('link', 'Workflows');
    await hand.click('link', 'refund');
    await hand.write('orderId', '99');
    await hand.write('amount', '500');
    await hand.click('button', 'Start');
    await hand.sees('At most 100.');
    await hand.write('amount', '50');
    allowComplaint(page, /status of 400/);
    await hand.click('button', 'Start');
    // A pattern is the box's to check.
    await page.getByRole('textbox', { name: 'orderId' }).and(page.locator('[aria-invalid=true]')).waitFor();
    await hand.write('orderId', 'o-99');
    await hand.click('button', 'Start');
    await hand.sees('completed', page.getByRole('status'));
    const { items } = await ask<Listed>('GET /api/runs?name=refund&limit=1');
    expect(items[0]).toMatchObject({ status: 'completed', input: { orderId: 'o-99', amount: 50 } });
    expect(hand.clicks()).toBe(5);
  });

  test('find why a run failed', async () => {
    const { page, hand } = await begin();
    await hand.click('link', 'ship', below(page, 'Failed last'));
    const why = below(page, 'Why');
    await hand.sees(/The courier did not come/, why);
    expect(hand.clicks()).toBe(1);
  });

  test('approve with edited arguments', async () => {
    const { page, hand } = await begin();
    const asked = below(page, 'Waits for a person').getByRole('listitem');
    const title = (await asked.getByRole('link').innerText()).trim();
    await hand.click('link', title);
    await hand.click('button', 'Edit arguments');
    await hand.write('amount', '4');
    await hand.click('button', 'Approve with these');
    await until(() => calls.length > 0);
    expect(calls.map(({ tool, input }) => [tool, input])).toEqual([['refund', { order: 'o-9', amount: 4 }]]);
    expect(hand.clicks()).toBe(3);
  });

  test("find yesterday's run by its input", async () => {
    const { createdAt } = await ask<{ createdAt: string }>(`GET /api/runs/${old}`);
    expect(Date.now() - Date.parse(createdAt)).toBeGreaterThan(DAY_MS - 1_000);
    const { page, hand } = await begin();
    await hand.click('link', 'Runs');
    await hand.write('Input or output holds', 'o-77');
    await hand.choose('Created', 'Yesterday');
    await expect
      .poll(() => page.getByRole('link', { name: 'refund', exact: true }).count(), { timeout: 30_000 })
      .toBe(1);
    await hand.click('link', 'refund');
    await page.waitForURL((url) => url.pathname.endsWith(old));
    expect(hand.clicks()).toBe(3);
  });

  test('roll back a prompt', async () => {
    const { page, hand } = await begin();
    await hand.click('link', 'Prompts');
    await hand.click('link', 'The tone');
    await hand.click('button', 'Roll back');
    await hand.click('button', 'Roll back', page.getByRole('dialog'));
    await hand.sees('version 1 in force');
    expect(await ask(`GET /api/prompts/${promptId}`)).toMatchObject({ publishedVersion: 1 });
    expect(hand.clicks()).toBe(4);
  });

  test('rotate a secret', async () => {
    const { page, hand } = await begin();
    await hand.click('link', 'Secrets');
    await hand.click('button', 'Rotate mail-key');
    const dialog = page.getByRole('dialog', { name: 'Rotate mail-key' });
    await hand.sees('Nothing has read it yet.', dialog);
    await hand.write('Value', 'the-new-one', dialog);
    await hand.click('button', 'Rotate', dialog);
    await dialog.waitFor({ state: 'detached' });
    expect(await ask('GET /api/secrets/mail-key')).toMatchObject({ version: 2 });
    expect(hand.clicks()).toBe(3);
  });

  test('stop a timer', async () => {
    const { hand } = await begin();
    await hand.click('link', 'Recurring jobs');
    await hand.click('button', 'Pause nightly:0');
    await hand.sees('nightly:0 is paused.');
    expect((await ask<Listed>('GET /api/recurring-jobs')).items[0]).toMatchObject({ isPaused: true });
    expect(hand.clicks()).toBe(2);
  });

  test('make a key for one agent', async () => {
    const { page, hand } = await begin();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /Screen, agent/ }).fill('api key');
    await hand.click('option', 'New API key action');
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await hand.write('Name', 'the shop', dialog);
    await hand.click('checkbox', 'helper', dialog);
    await hand.click('button', 'Make the key', dialog);
    await page.getByRole('dialog', { name: 'The value of “the shop”' }).waitFor();
    const { items } = await ask<Listed>('GET /api/keys');
    expect(items).toMatchObject([{ name: 'the shop', grants: { agents: ['helper'], workflows: [] } }]);
    expect(hand.clicks()).toBe(3);
  });

  test('chat, and branch', async () => {
    const { page, hand } = await begin();
    await hand.click('link', 'Playground');
    await hand.write('Message', 'say:One.');
    await hand.click('button', 'Send');
    await page.getByText('One.', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await hand.click('button', 'Edit or branch: say:One.');
    await hand.write('Say instead', 'say:Other.');
    await hand.click('button', 'Branch into a new session');
    await page.getByText('Other.', { exact: true }).waitFor();
    await expect
      .poll(async () => (await ask<Listed>('GET /api/sessions')).items.filter(({ turns }) => turns === 1).length, {
        timeout: 30_000,
      })
      .toBeGreaterThanOrEqual(3);
    expect(hand.clicks()).toBe(4);
  });

  test('read the tokens of a session', async () => {
    const { page, hand } = await begin();
    await hand.click('link', 'Sessions');
    await hand.click('link', 'monday');
    const { items } = await ask<Listed>('GET /api/sessions');
    const session = items.find(({ name }) => name === 'monday');
    await hand.sees(`${session?.['inputTokens']} in, ${session?.['outputTokens']} out`);
    const turn = `${session?.['inputTokens']} tokens in, ${session?.['outputTokens']} out`;
    await hand.sees(turn, page.getByRole('region', { name: 'Turn' }));
    expect(hand.clicks()).toBe(2);
  });
});
