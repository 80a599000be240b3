import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import type { Role } from '../../runtime/src/auth/permissions.ts';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { listen } from '../../runtime/src/http/listen.ts';
import { startPlayedModel } from '../../runtime/test/_copilot.ts';
import type { PlayedModel } from '../../runtime/test/_copilot.ts';
import { call, getRun, setupBoxes, startWorkflow } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { allowComplaint, browser, keepPicture, listBarriers, openBrowser } from './_browser.ts';
import { cancels, composer, drawer, mountStudio, openDrawer, panel, press, say, switchCopilot } from './_copilot.ts';

describeWhen(browser, 'the copilot, while its panel is open', (path) => {
  const boxes = setupBoxes();
  const open = openBrowser(path);
  let model: PlayedModel;
  let box: TestBox;
  /** Whom the box takes the person for. */
  let role: Role;
  const seat = () => ({ id: 'ann', name: 'Ann', role });
  beforeAll(async () => {
    model = await startPlayedModel();
  });
  afterAll(async () => model.close());
  beforeEach(() => {
    role = 'owner';
    model.play = () => 'Hello.';
  });

  /** A box that is closed and opened again at one address. */
  const start = async () => {
    const authenticate = async () => ({ ...OWNER, ...seat() });
    const options = { strategy: { name: 'a seat', checksKeys: false, authenticate } };
    const workflows = { rest: { run: async () => createHook() } };
    box = await boxes.open({ workflows, defaultModel: '', provider: { baseUrl: model.url, apiKey: 'key' }, options });
    const serve = async (at: number) => {
      mountStudio(box, seat);
      const opened = await listen(box.app, { port: at, host: '127.0.0.1' });
      onTestFinished(() => opened.close(0));
      return opened;
    };
    await call(box, 'PATCH /api/settings', { defaultModel: 'v/m' });
    await switchCopilot(box, true);
    let listener = await serve(0);
    const { port } = listener;
    return {
      url: `${listener.url}/studio`,
      cutOff: () => listener.close(0),
      comeBack: () => serve(port),
      async restart() {
        await listener.close(0);
        box = await box.restart();
        listener = await serve(port);
      },
    };
  };
  /** A turn ends a moment after its last word; one that is cut off before is read on until its end, and takes no message. */
  const hasEnded = (page: Page) => drawer(page).getByRole('button', { name: 'Send', exact: true }).waitFor();
  const talkOn = async (url: string): Promise<Page> => {
    const page = await open(`${url}/health`);
    await openDrawer(page);
    await say(page, 'Good morning.');
    await drawer(page).getByText('Hello.').waitFor();
    await hasEnded(page);
    return page;
  };
  const off = (page: Page, reason: string) => drawer(page).locator(`[data-off="${reason}"]`);

  test('takes no message while the box is away, says why, keeps what is typed, and goes on by itself', async () => {
    const { url, cutOff, comeBack } = await start();
    const page = await talkOn(url);
    allowComplaint(page, /Failed to load resource|ERR_/);
    await cutOff();
    await composer(page).fill('Are you there?');
    await drawer(page).getByText('Start it again with svc dev.').waitFor();
    await drawer(page).getByRole('status').getByText('The box is not running.').waitFor();
    await composer(page).press('Enter');
    expect(await composer(page).inputValue()).toBe('Are you there?');
    await drawer(page).getByText('Good morning.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'copilot-lost');
    await comeBack();
    await drawer(page).getByText('Start it again with svc dev.').waitFor({ state: 'detached' });
    model.play = () => 'Here I am.';
    await hasEnded(page);
    await composer(page).press('Enter');
    await drawer(page).getByText('Here I am.').waitFor();
  });

  test('is gone when another person switches it off, and shows what was said when it is switched on', async () => {
    const { url } = await start();
    const page = await talkOn(url);
    await composer(page).fill('Half a sen');
    await switchCopilot(box, false);
    await off(page, 'switched-off').and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: /^Copilot/ }).waitFor({ state: 'detached' });
    await keepPicture(page, 'copilot-switched-off-open');
    await switchCopilot(box, true);
    await drawer(page).getByText('Good morning.').waitFor();
    await drawer(page).getByText('Hello.').waitFor();
    await composer(page).and(page.locator(':focus')).waitFor();
    expect(await composer(page).inputValue()).toBe('Half a sen');
  });

  test('takes no focus from the screen when it is back', async () => {
    const { url } = await start();
    const page = await talkOn(url);
    await page.goto(`${url}/settings`);
    await openDrawer(page);
    await drawer(page).getByText('Good morning.').waitFor();
    const toggle = page.getByRole('switch', { name: 'Studio copilot' });
    await toggle.press('Enter');
    await off(page, 'switched-off').waitFor();
    await toggle.press('Enter');
    await drawer(page).getByText('Good morning.').waitFor();
    await toggle.and(page.locator(':focus')).waitFor();
    // What the keys open again is where the next message is written.
    for (const _ of [1, 2]) {
      await page.keyboard.press('Control+.');
      await drawer(page).waitFor({ state: 'detached' });
      await toggle.and(page.locator(':focus')).waitFor();
      await page.keyboard.press('Control+.');
      await composer(page).and(page.locator(':focus')).waitFor();
    }
  });

  test('says so at once when it is switched off before a message is sent', async () => {
    const { url } = await start();
    const page = await talkOn(url);
    allowComplaint(page, /403/);
    await composer(page).fill('Still there?');
    // What it is about to be told is refused, whatever the page knows.
    let tell = (): void => {};
    const isTold = new Promise<void>((resolve) => (tell = resolve));
    await page.route('**/api/settings', (asked) => isTold.then(() => asked.continue()).catch(() => {}));
    await switchCopilot(box, false);
    await composer(page).press('Enter');
    await drawer(page).getByText('copilot_disabled').waitFor();
    tell();
    await off(page, 'switched-off').waitFor();
    await switchCopilot(box, true);
    await composer(page).waitFor();
    expect(await composer(page).inputValue()).toBe('Still there?');
  });

  test('says that its model is gone, and shows what was said when there is one', async () => {
    const { url } = await start();
    const page = await talkOn(url);
    await call(box, 'PATCH /api/settings', { defaultModel: null });
    await off(page, 'no-model').waitFor();
    await call(box, 'PATCH /api/settings', { defaultModel: 'v/m' });
    await drawer(page).getByText('Good morning.').waitFor();
    await drawer(page).getByText('Hello.').waitFor();
    expect(model.asked.at(-1)?.model).toBe('v/m');
  });

  test('runs nothing for a person whose role has changed, and says that they have to ask again', async () => {
    const { url } = await start();
    const page = await talkOn(url);
    const id = await startWorkflow(box, 'rest');
    model.play = cancels(id);
    await say(page, 'Cancel it.');
    await panel(page).waitFor();
    role = 'viewer';
    allowComplaint(page, /403/);
    await press(page, 'Approve');
    await drawer(page).getByText(/ask/i).last().waitFor();
    await drawer(page).getByText('decision_not_yours').waitFor();
    await keepPicture(page, 'copilot-other-role');
    expect(await listBarriers(page)).toEqual([]);
    await press(page, 'Reject');
    await drawer(page).getByText('You said no, so that call did not run.').waitFor();
    await say(page, 'Cancel it.');
    await panel(page).waitFor();
    await press(page, 'Approve');
    await drawer(page)
      .getByText(/runs:cancel.*\(forbidden\)$/)
      .waitFor();
    expect((await getRun(box, id)).status).toBe('waiting');
  });

  test('reports that an edited call is refused, without a second question', async () => {
    const { url } = await start();
    const [id, other] = [await startWorkflow(box, 'rest'), await startWorkflow(box, 'rest')];
    role = 'viewer';
    const page = await talkOn(url);
    model.play = cancels(id);
    await say(page, 'Cancel it.');
    await panel(page).getByLabel('id').fill(other);
    await press(page, 'Send the changed call');
    await drawer(page)
      .getByText(/runs:cancel.*\(forbidden\)$/)
      .waitFor();
    await drawer(page).getByText('It is done.').waitFor();
    await keepPicture(page, 'copilot-edit-refused');
    expect(await panel(page).count()).toBe(0);
    expect([(await getRun(box, id)).status, (await getRun(box, other)).status]).toEqual(['waiting', 'waiting']);
  });

  test('its conversation is read in Sessions, and goes on in the panel alone', async () => {
    const { url } = await start();
    const page = await talkOn(url);
    const id = await startWorkflow(box, 'rest');
    model.play = cancels(id);
    await say(page, 'Cancel it.');
    await panel(page).waitFor();
    await page.goto(`${url}/sessions`);
    await page
      .getByRole('row', { name: /studio-copilot/ })
      .getByRole('link')
      .first()
      .click();
    await page.getByText('Run this call? (in the copilot)').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Go on in the Playground' }).count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
    await page.goto(`${url}/playground?agent=studio-copilot`);
    await page.getByText('There is no agent yet').waitFor();
  });

  test('is gone where the box that comes back is too old, and is there again with a newer one', async () => {
    const { url, restart } = await start();
    const page = await talkOn(url);
    allowComplaint(page, /Failed to load resource|ERR_/);
    await page.route('**/api/contract', async (asked) => {
      const response = await asked.fetch();
      const contract = (await response.json()) as object;
      await asked.fulfill({ response, json: { ...contract, version: 14 } });
    });
    await restart();
    await off(page, 'too-old').waitFor();
    await page.unroute('**/api/contract');
    await restart();
    await drawer(page).getByText('Good morning.').waitFor();
  });

  test('asks again after a restart of the box, with the reason', async () => {
    const { url, restart } = await start();
    const page = await talkOn(url);
    const id = await startWorkflow(box, 'rest');
    model.play = cancels(id);
    await say(page, 'Cancel it.');
    await panel(page).waitFor();
    allowComplaint(page, /Failed to load resource|ERR_/);
    await restart();
    await drawer(page).getByText('Start it again with svc dev.').waitFor({ state: 'detached' });
    await press(page, 'Approve');
    await panel(page)
      .getByText(/made before it was restarted\. Nothing ran\./)
      .waitFor();
    await keepPicture(page, 'copilot-restarted');
    expect((await getRun(box, id)).status).toBe('waiting');
    await press(page, 'Approve');
    await drawer(page).getByText('It is done.').waitFor();
    expect((await getRun(box, id)).status).toBe('cancelled');
  });
});
