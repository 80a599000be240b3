import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import type { Role } from '../../runtime/src/auth/permissions.ts';
import { defineDeepAgent, defineTool } from '../../runtime/src/definitions/definition.ts';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { confirm, inTurn, read, startPlayedModel, use, write } from '../../runtime/test/_copilot.ts';
import type { PlayedModel } from '../../runtime/test/_copilot.ts';
import { call, getRun, setupBoxes, startWorkflow, toProgram } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';
import { cancels, drawer, mountStudio, openDrawer, panel, press, say, switchCopilot } from './_copilot.ts';

describeWhen(browser, 'the copilot', (path) => {
  const boxes = setupBoxes();
  const open = openBrowser(path);
  let model: PlayedModel;
  let box: TestBox;
  let studio: string;
  let role: Role = 'owner';
  /** The page takes the person to have this one. */
  let shownRole: Role | undefined;
  /** Whose session it is, where two have one name. */
  let account: string | undefined;
  /** How far the clock of the box is ahead. */
  let skew = 0;
  beforeAll(async () => {
    model = await startPlayedModel();
    const clock = { now: () => Date.now() + skew, sync: async () => {} };
    const authenticate = async () => ({ ...OWNER, role, id: role, name: `the ${role}` });
    box = await boxes.share({
      workflows: { rest: { run: async () => createHook() } },
      defaultModel: '',
      provider: { baseUrl: model.url, apiKey: 'key' },
      options: { strategy: { name: 'a seat', checksKeys: false, authenticate }, engine: { clock } },
    })();
    mountStudio(box, () => ({ id: account ?? role, name: `the ${role}`, role: shownRole ?? role }));
    studio = `${await box.listen()}/studio`;
    await call(box, 'PATCH /api/settings', { defaultModel: 'v/m' });
  });
  afterAll(async () => model.close());
  beforeEach(() => {
    role = 'owner';
  });

  const switchTo = (enabled: boolean) => switchCopilot(box, enabled);
  const openOn = async (screen: string, options = {}): Promise<Page> => {
    const seat = role;
    role = 'owner';
    await switchTo(true);
    role = seat;
    const page = await open(studio + screen, options);
    await openDrawer(page);
    return page;
  };
  const systemLast = () => String(model.asked.at(-1)?.messages[0]?.content);
  const statusOf = async (id: string) => (await getRun(box, id)).status;
  /** The page asks to cancel a run, and shows what it asks the person. */
  const askToCancel = async (page: Page): Promise<string> => {
    const id = await startWorkflow(box, 'rest');
    model.play = cancels(id);
    await say(page, 'Cancel it.');
    await panel(page).waitFor();
    return id;
  };

  test('is off until an owner or an admin turns the switch, which every seat sees', async () => {
    await switchTo(false);
    for (const seat of ['member', 'viewer', 'approver'] as const) {
      role = seat;
      const page = await open(`${studio}/settings`);
      const shown = page.getByRole('switch', { name: 'Studio copilot' });
      await shown.waitFor();
      expect([await shown.isDisabled(), await shown.getAttribute('aria-checked')]).toEqual([true, 'false']);
      expect(await page.getByRole('button', { name: /^Copilot/ }).count()).toBe(0);
      await page.keyboard.press('Control+.');
      await drawer(page).getByText('The copilot is switched off').waitFor();
      await drawer(page).getByRole('link', { name: 'Open Settings' }).waitFor();
    }
    role = 'admin';
    const page = await open(`${studio}/settings`);
    await page.getByRole('switch', { name: 'Studio copilot' }).click();
    await openDrawer(page);
    await page.getByRole('switch', { name: 'Studio copilot' }).click();
    await drawer(page).getByText('The copilot is switched off').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('reads, opens what it found, writes, and knows where the person is', async () => {
    const id = await startWorkflow(box, 'rest');
    const page = await openOn('/');
    model.play = inTurn(
      read('runs.list', { limit: 1 }),
      use('navigate', { screen: 'runs', item: id }),
      () => 'It **waits** for a hook.',
    );
    await say(page, 'Open the newest run.');
    await drawer(page).getByText('waits', { exact: true }).waitFor();
    await drawer(page).getByText('Opened Run.').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/studio/runs/${id}`);
    const pointers = model.asked.slice(-3).map(({ messages }) => String(messages[0]?.content));
    expect(pointers[0]).toContain('"screen":"overview","title":"Overview"');
    expect(pointers[2]).toContain(`"screen":"run","title":"Run","runId":"${id}"`);
    expect(pointers[2]).toMatch(/"role":"owner","now":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d","tz":"[^"]+"/);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'copilot-read');

    await page.reload();
    await openDrawer(page);
    await drawer(page).getByText('Open the newest run.').waitFor();
    await drawer(page).getByText('waits', { exact: true }).waitFor();
    model.play = inTurn(write('settings.update', { name: 'Shop' }), () => 'It has its name.');
    await say(page, 'Name it Shop.');
    await drawer(page).getByText('It has its name.').waitFor();
    expect([(await call(box, 'GET /api/settings')).body.name, await panel(page).count()]).toEqual(['Shop', 0]);
    await drawer(page).getByRole('button', { name: 'New conversation' }).click();
    await drawer(page).getByText('Ask about this installation').waitFor();
    // The workspace has no agent but this one.
    await page.goto(`${studio}/playground`);
    await page.getByText('There is no agent yet').waitFor();
  });

  test('says why a screen does not open, and keeps a conversation for each person', async () => {
    role = 'viewer';
    const page = await openOn('/runs');
    model.play = inTurn(use('navigate', { screen: 'secrets' }), () => 'You may not see them.');
    await say(page, 'Show the secrets.');
    await drawer(page).getByText('"Secrets" is not open to the role "viewer": it needs secrets:read.').waitFor();
    await drawer(page).getByText('You may not see them.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/studio/runs');
    model.play = inTurn(write('settings.update', { name: 'Mine' }), () => 'It was refused.');
    await say(page, 'Name it Mine.');
    await drawer(page)
      .getByText(/\(forbidden\)$/)
      .waitFor();
    await drawer(page).getByRole('button', { name: 'settings.update {"name":"Mine"} refused' }).click();
    await drawer(page).getByText('Arguments of call_write_operation').waitFor();
    await drawer(page).getByText('It was refused.').waitFor();
    role = 'member';
    await page.reload();
    await openDrawer(page);
    await drawer(page).getByText('Ask about this installation').waitFor();
  });

  test('keeps no conversation for another person of the same name', async () => {
    onTestFinished(() => void (account = undefined));
    account = 'one';
    const page = await openOn('/');
    model.play = () => 'Between us.';
    await say(page, 'Something private.');
    await drawer(page).getByText('Between us.').waitFor();
    account = 'other';
    await page.reload();
    await openDrawer(page);
    await drawer(page).getByText('Ask about this installation').waitFor();
    expect(await drawer(page).getByText('Something private.').count()).toBe(0);
    account = 'one';
    await page.reload();
    await openDrawer(page);
    await drawer(page).getByText('Something private.').waitFor();
  });

  test('asks before what cannot be undone, over a reload too, and runs it once it is approved', async () => {
    const page = await openOn('/');
    const id = await askToCancel(page);
    await panel(page).getByText(`"runs.cancel" with {"id":"${id}"}`).waitFor();
    await panel(page).getByText(`POST /api/runs/${id}/cancel`).waitFor();
    await panel(page)
      .getByText(/^\d\d s left to approve$/)
      .waitFor();
    expect(await panel(page).getByLabel('id').inputValue()).toBe(id);
    await drawer(page)
      .getByRole('button', { name: `runs.cancel {"id":"${id}"} asks first` })
      .waitFor();
    await drawer(page).getByText('Nothing has run: it asks you first.').waitFor();
    await drawer(page)
      .getByRole('button', { name: `runs.cancel {"id":"${id}"} waits for you` })
      .waitFor();
    // Whoever was typing approves nothing by it.
    const heading = panel(page).getByRole('heading', { name: 'Run this call?' });
    await heading.and(page.locator(':focus')).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'copilot-confirm');
    await page.reload();
    await openDrawer(page);
    await panel(page).getByText(`"runs.cancel" with {"id":"${id}"}`).waitFor();
    expect(await statusOf(id)).not.toBe('cancelled');
    await panel(page).getByRole('button', { name: 'Approve', exact: true }).press('Enter');
    await drawer(page).getByText('It is done.').waitFor();
    await drawer(page).getByLabel('Message to the copilot').and(page.locator(':focus')).waitFor();
    expect(await statusOf(id)).toBe('cancelled');
  });

  test('shows all that waits, over a reload too, each with its own time, and runs them once all are decided', async () => {
    const page = await openOn('/');
    const ids = [await startWorkflow(box, 'rest'), await startWorkflow(box, 'rest')];
    model.play = (_asked, results) => {
      const asked = results.filter((result) => result.requestState !== undefined);
      if (results.length === 0) return ids.flatMap((id) => write('runs.cancel', { id }));
      return results.length === asked.length ? asked.flatMap(confirm) : 'Both are done.';
    };
    await say(page, 'Cancel both.');
    const showsBoth = async () => {
      for (const [at, id] of ids.entries()) {
        const one = drawer(page).getByRole('region', { name: `Run this call? (${at + 1} of 2)` });
        await one.getByText(`"runs.cancel" with {"id":"${id}"}`).waitFor();
        await one.getByText(/^\d\d s left to approve$/).waitFor();
        await one.getByRole('button', { name: 'Approve', exact: true }).waitFor();
      }
      expect(await panel(page).count()).toBe(2);
    };
    await showsBoth();
    await page.reload();
    await openDrawer(page);
    await showsBoth();
    expect(await listBarriers(page)).toEqual([]);
    await panel(page).first().getByRole('button', { name: 'Approve', exact: true }).click();
    await panel(page).first().getByText('You chose: approve.').waitFor();
    const second = panel(page).last().getByRole('heading', { name: 'Run this call? (2 of 2)' });
    await second.and(page.locator(':focus')).waitFor();
    expect(await Promise.all(ids.map(statusOf))).not.toContain('cancelled');
    await press(page, 'Approve');
    await drawer(page).getByText('Both are done.').waitFor();
    expect(await Promise.all(ids.map(statusOf))).toEqual(['cancelled', 'cancelled']);
  });

  test('runs nothing that is rejected, and stops', async () => {
    const page = await openOn('/');
    const id = await askToCancel(page);
    await press(page, 'Reject');
    await drawer(page).getByText('You said no, so that call did not run.').waitFor();
    await drawer(page).getByText('was not run: "the owner" rejected it.').waitFor();
    await drawer(page)
      .getByRole('button', { name: /^runs\.cancel .* refused$/ })
      .waitFor();
    expect(await statusOf(id)).not.toBe('cancelled');
  });

  test('says that it waits when the model is slow, and is stopped with the focus where the next message is written', async () => {
    const page = await openOn('/', { width: 360, theme: 'dark' });
    let answer = (_text: string): void => {};
    model.play = () => new Promise<string>((resolve) => (answer = resolve));
    await say(page, 'Think long.');
    const pending = drawer(page).locator('[data-pending]');
    await pending.waitFor();
    await page.evaluate(`{ const now = Date.now.bind(Date); Date.now = () => now() + 12_000; }`);
    await pending.getByText('This takes longer than most. You can wait, or stop it.').waitFor();
    await pending.getByText(/^\d+ s$/).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'copilot-slow-dark');
    await drawer(page).getByRole('button', { name: 'Stop', exact: true }).press('Enter');
    await drawer(page).getByText('The turn was stopped.').waitFor();
    await pending.waitFor({ state: 'detached' });
    await drawer(page).getByLabel('Message to the copilot').and(page.locator(':focus')).waitFor();
    answer('Too late.');
    model.play = () => 'At once.';
    await page.keyboard.type('And now?');
    await page.keyboard.press('Enter');
    await drawer(page).getByText('At once.').waitFor();
    await pending.waitFor({ state: 'detached' });
  });

  test('asks again about a call that was edited, and runs the edited one', async () => {
    const page = await openOn('/');
    const id = await askToCancel(page);
    const other = await startWorkflow(box, 'rest');
    await panel(page).getByLabel('id').fill(other);
    await panel(page).getByText('you are asked about it again').waitFor();
    await press(page, 'Send the changed call');
    await panel(page)
      .getByText(/^The call was edited\. Nothing ran\..*with \{"id":/)
      .waitFor();
    await panel(page).getByText(`POST /api/runs/${other}/cancel`).waitFor();
    await press(page, 'Approve');
    await drawer(page).getByText('It is done.').waitFor();
    expect([(await statusOf(id)) === 'cancelled', await statusOf(other)]).toEqual([false, 'cancelled']);
  });

  test('asks again, with the reason of the box, when the approval comes after 90 seconds', async () => {
    onTestFinished(() => void (skew = 0));
    const page = await openOn('/');
    const id = await askToCancel(page);
    skew = 90_000;
    await page.evaluate(`{ const now = Date.now.bind(Date); Date.now = () => now() + 90_000; }`);
    await panel(page)
      .getByText(/^The time is up: an approval now runs nothing/)
      .waitFor();
    await press(page, 'Approve');
    await panel(page)
      .getByText(/^The confirmation came after 90 seconds\. Nothing ran\./)
      .waitFor();
    expect(await statusOf(id)).not.toBe('cancelled');
    await press(page, 'Approve');
    await drawer(page).getByText('It is done.').waitFor();
    expect(await statusOf(id)).toBe('cancelled');
  });

  test.each([
    ['', {}],
    [' on a narrow dark screen', { width: 360, theme: 'dark' }],
  ] as const)('says what is in its way%s: an old box, no provider, no model, no box', async (_, options) => {
    await switchTo(true);
    const page = await open(`${studio}/health`, options);
    const off = async (reason: string) => {
      await page.keyboard.press('Control+.');
      await drawer(page).locator(`[data-off="${reason}"]`).waitFor();
      expect([reason, await isTooWide(page)]).toEqual([reason, false]);
      await keepPicture(page, `copilot-off-${reason}-${'theme' in options ? options.theme : 'light'}`);
    };
    /** What the box says of itself, changed on its way to the page. */
    const answer = async (route: string, change: (body: Record<string, unknown>) => object) => {
      await page.route(route, async (asked) => {
        const response = await asked.fetch();
        await asked.fulfill({ response, json: change((await response.json()) as Record<string, unknown>) });
      });
      await page.reload();
      await page.getByRole('button', { name: /^Copilot/ }).waitFor();
    };
    await answer('**/api/contract', (contract) => ({ ...contract, version: 14 }));
    await off('too-old');
    await page.unroute('**/api/contract');
    await answer('**/api/settings/setup', (setup) => ({
      ...setup,
      steps: [{ id: 'provider', done: false, hint: '' }],
    }));
    await off('no-provider');
    await page.unroute('**/api/settings/setup');

    await call(box, 'PATCH /api/settings', { defaultModel: null });
    onTestFinished(async () => void (await call(box, 'PATCH /api/settings', { defaultModel: 'v/m' })));
    await page.reload();
    await page.getByRole('button', { name: /^Copilot/ }).waitFor();
    await off('no-model');
    expect(await listBarriers(page)).toEqual([]);
    await drawer(page).getByRole('link', { name: 'Open its entry in the Catalog' }).click();
    await page.getByRole('dialog', { name: 'studio-copilot' }).waitFor();

    allowComplaint(page, /Failed to load resource/);
    await page.route('**/api/settings', (asked) => asked.abort());
    await page.goto(`${studio}/health`);
    await page.getByRole('heading', { name: 'Health' }).waitFor();
    await off('not-running');
    await page.unroute('**/api/settings');
    await call(box, 'PATCH /api/settings', { defaultModel: 'v/m' });
    await drawer(page).getByRole('button', { name: 'Try again' }).click();
    await drawer(page).getByLabel('Message to the copilot').waitFor();
  });

  test('says why the one of the workspace does not load, and is there again without it', async () => {
    await switchTo(true);
    const note = defineTool({ description: 'Note.', inputSchema: z.object({}), execute: () => 'noted' });
    const own = defineDeepAgent({ name: 'studio-copilot', instructions: 'Mine.', tools: { navigate: note } });
    const workflows = { rest: { run: async () => createHook() } };
    await box.reload(toProgram({ workflows, agents: { 'studio-copilot': own } }));
    onTestFinished(() => box.reload(toProgram({ workflows })));
    const page = await open(`${studio}/health`);
    await page.getByRole('button', { name: /^Copilot/ }).click();
    await drawer(page).locator('[data-off="does-not-load"]').getByText('a tool "navigate"').waitFor();
    await drawer(page).getByRole('link', { name: 'Open its entry in the Catalog' }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await box.reload(toProgram({ workflows }));
    await page.reload();
    await openDrawer(page);
  });

  test('is not open to a role that may not use it', async () => {
    // No role of today: what a newer control plane may have.
    shownRole = 'guest' as Role;
    onTestFinished(() => void (shownRole = undefined));
    const page = await open(`${studio}/health`);
    await page.getByText('the owner · guest').waitFor();
    await page.keyboard.press('Control+.');
    await drawer(page).locator('[data-off="not-permitted"]').getByText('does not hold copilot:use').waitFor();
    expect(await drawer(page).getByLabel('Message to the copilot').count()).toBe(0);
  });

  test('lies above a narrow screen, which cannot be reached meanwhile, and gives the focus back', async () => {
    const page = await openOn('/runs', { width: 360, theme: 'dark' });
    model.play = () => 'Hello.';
    await say(page, 'Hi');
    await drawer(page).getByText('Hello.').waitFor();
    expect(await isTooWide(page)).toBe(false);
    await askToCancel(page);
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'copilot-narrow-dark');
    expect(await page.locator('main').evaluate((main) => main.hasAttribute('inert'))).toBe(true);
    await press(page, 'Reject');
    await drawer(page).getByText('You said no, so that call did not run.').waitFor();
    await drawer(page).getByLabel('Message to the copilot').press('Escape');
    await drawer(page).waitFor({ state: 'detached' });
    const button = page.getByRole('button', { name: /^Copilot/ });
    await button.and(page.locator(':focus')).waitFor();
    expect(systemLast()).toContain('"screen":"runs"');
  });
});
