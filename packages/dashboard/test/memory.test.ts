import { expect, test } from 'vitest';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { call, json } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

interface Remembered {
  items: { user: string; agent: string; state: string }[];
}

describeWhen(browser, 'Memory', (path) => {
  let embeddingModel: string | undefined = 'test/words';
  const friend = (name: string) => defineDeepAgent({ name, instructions: 'Help.', memory: true });
  const served = serveBox({
    agents: { friend: friend('friend'), guide: friend('guide') },
    options: {
      strategy: { name: 'a seat', checksKeys: true, authenticate: async () => OWNER } as never,
      embeddingModel: () => embeddingModel,
      memory: { everyMs: 20, pauseMs: 10 },
      engine: { sweepMs: 20 },
    },
  });
  const open = openBrowser(path);
  const show = (place = '/memory') => open(served().studio(place));
  const list = async (client: string) =>
    (await call<Remembered>(served().box, `GET /api/memory?client=${client}`)).body.items;
  const makeKey = async (client: string) => {
    const grants = { agents: 'all', workflows: 'all' };
    const body = { name: client, client, users: true, grants };
    return (await call<{ value: string }>(served().box, 'POST /api/keys', body)).body.value;
  };
  const say = async (key: string, user: string, content: string, model = 'friend') => {
    const headers = {
      authorization: `Bearer ${key}`,
      'x-svc-user': user,
      'x-svc-session': `${user}-${content}`.slice(0, 40),
    };
    const body = { model, messages: [{ role: 'user', content }] };
    const answer = await served().box.request('/wire-a/v1/chat/completions', json(body, { headers }));
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  };
  /** Once so many turns of the client can be recalled. */
  const untilReady = (client: string, count: number) =>
    expect
      .poll(async () => (await list(client)).filter(({ state }) => state === 'ready').length, { timeout: 20_000 })
      .toBe(count);

  test('what is remembered is listed, looked for by user, agent and client, and forgotten while the session stays', async () => {
    const page = await show();
    await page.getByText('Nothing is remembered').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    const [shop, desk] = [await makeKey('shop'), await makeKey('desk')];
    const long = `My garden has ${'tulips and '.repeat(30)}roses.`;
    await say(shop, 'ada', 'My dog is called Rex.; say:A fine dog.');
    await say(shop, 'ada', `${long}; say:How lovely.`, 'guide');
    await say(shop, 'bob', 'I live in Vienna.; say:I see.');
    await say(desk, 'ada', 'I like chess.; say:So do I.');
    await untilReady('shop', 3);
    await untilReady('desk', 1);
    await page.reload();
    const rows = page.locator('tbody tr');
    await page.getByRole('row', { name: /My dog is called Rex\..*ada.*shop.*friend.*can be recalled/ }).waitFor();
    expect(await rows.count()).toBe(4);
    // A long one is shown whole when it is asked for.
    expect(await page.getByText('How lovely.').isVisible()).toBe(false);
    await page
      .getByText(/^User: My garden has/)
      .first()
      .click();
    await page.getByRole('list', { name: 'Pieces' }).getByText('How lovely.').waitFor();
    expect(await listBarriers(page)).toEqual([]);

    await page.getByLabel('Agent').selectOption('guide');
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByLabel('Agent').selectOption('');
    expect(await page.getByRole('button', { name: 'Forget this user' }).count()).toBe(0);
    await page.getByLabel('User').fill('nobody');
    await page.getByText('Nothing of that agent, user and client').waitFor();
    expect(await page.getByRole('button', { name: 'Forget this user' }).isDisabled()).toBe(true);
    await page.getByLabel('User').fill('');
    await page.getByRole('row', { name: /Rex/ }).getByRole('button', { name: 'ada' }).click();
    await expect.poll(() => rows.count()).toBe(2);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ user: 'ada', client: 'shop' });

    await page.getByRole('button', { name: 'Forget this user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Every agent forgets all turns of that user of shop').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await list('shop')).toHaveLength(3);
    await page.getByRole('button', { name: 'Forget this user' }).click();
    await dialog.getByRole('button', { name: 'Forget' }).click();
    await page.getByText('2 turns of ada are forgotten').waitFor();
    await page.getByText('Nothing of that agent, user and client').waitFor();
    expect((await list('shop')).map(({ user }) => user)).toEqual(['bob']);
    expect((await list('desk')).map(({ user }) => user)).toEqual(['ada']);

    await page.goto(served().studio('/memory?user=bob'));
    await page
      .getByRole('row', { name: /Vienna/ })
      .getByRole('link', { name: 'Said in a session' })
      .click();
    await page.getByRole('heading', { name: /bob-I live in Vienna/ }).waitFor();
  });

  test('what waits is followed until it can be recalled, and what failed says why', async () => {
    const key = await makeKey('slow');
    embeddingModel = undefined;
    await say(key, 'eve', 'The code is 7.; say:Noted.');
    await expect.poll(() => list('slow')).toHaveLength(1);
    const page = await show('/memory?client=slow');
    await page.getByRole('row', { name: /The code is 7.*waits/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    embeddingModel = 'test/words';
    await page.getByRole('row', { name: /The code is 7.*can be recalled/ }).waitFor();
    served().box.model.embedFailures.push(400);
    await say(key, 'fay', 'The code is 8.; say:Noted.');
    await expect.poll(async () => (await list('slow'))[0]?.state, { timeout: 20_000 }).toBe('failed');
    await page.reload();
    await page.getByRole('row', { name: /The code is 8.*provider answered 400.*failed/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test.each(['dark', 'narrow'] as const)('is whole on a %s page', async (how) => {
    const key = await makeKey(`whole-${how}`);
    await say(key, 'a-user-whose-name-is-as-long-as-that-of-an-account-of-another-system', 'I dance.; say:Nice.');
    await say(key, 'ann', `${'verylongword'.repeat(40)}; say:I see.`);
    await untilReady(`whole-${how}`, 2);
    const look = how === 'dark' ? { theme: 'dark' as const } : { width: 390, height: 800 };
    const page = await open(served().studio(`/memory?client=whole-${how}`), look);
    await page.getByRole('row', { name: /I dance/ }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await page
      .getByText(/^User: verylong/)
      .first()
      .click();
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, `memory-${how}-open`);
  });
});
