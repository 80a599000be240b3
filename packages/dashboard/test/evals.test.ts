import { beforeAll, expect, test } from 'vitest';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { call, until } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

type Body = Record<string, unknown> & { id: string };

const HOSTILE = '<img src=x onerror="document.title=1">\u202egnp.exe';

describeWhen(browser, 'Evals', (path) => {
  const served = serveBox({
    agents: { desk: defineDeepAgent({ name: 'desk', instructions: 'Be kind.' }) },
    workflows: { never: { run: async () => createHook({ token: 'never' }) } },
  });
  const open = openBrowser(path);
  const ask = async (route: string, body?: unknown): Promise<Body> =>
    (await call<Body>(served().box, route, body)).body;
  const ended = (id: string) =>
    until(async () => (await ask(`GET /api/evals/runs/${id}`))['status'] === 'completed', 30_000);
  let good: string;

  beforeAll(async () => {
    const target = { kind: 'agent', name: 'desk' };
    const exact = [{ type: 'exact' }];
    const first = { name: 'greets', target, input: 'say:Good day.', expected: 'Good day.', scorers: exact };
    good = (await ask('POST /api/evals/cases', first)).id;
    const second = { name: HOSTILE, target, input: 'say:No.', expected: 'Yes.', scorers: exact, tags: ['odd'] };
    await ask('POST /api/evals/cases', second);
    const scorers = [{ type: 'latency', maxMs: 600_000 }];
    await ask('POST /api/evals/suites', { name: 'smoke', cases: [good], tags: ['odd'], scorers });
    const waits = { name: 'waits', target: { kind: 'workflow', name: 'never' }, input: {} };
    const { id } = await ask('POST /api/evals/cases', waits);
    await ask('POST /api/evals/suites', { name: 'endless', cases: [id], scorers });
  });

  test('a suite is launched, followed to its matrix, and compared with the run before', async () => {
    const page = await open(served().studio('/evals'));
    await page.getByRole('row', { name: /smoke.*not launched/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'smoke', exact: true }).click();
    await page.getByRole('heading', { name: 'smoke' }).waitFor();
    await page.getByRole('tab', { name: 'Cases' }).click();
    await page.getByText(HOSTILE, { exact: true }).waitFor();
    await page.getByText('greets', { exact: true }).click();
    await page.getByText('say:Good day.', { exact: true }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Launch', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Launch smoke' });
    await dialog.getByLabel('Samples').fill('21');
    await dialog.getByText('A number from 1 to 20.').waitFor();
    await dialog.getByLabel('Samples').fill('2');
    await dialog.getByLabel('Note').fill('twice');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Launch' }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/studio/evals/runs/'));
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await page.getByRole('heading', { name: 'smoke below its gates' }).waitFor();
    const matrix = page.getByRole('region', { name: 'Cases by scorers' });
    await matrix.getByRole('row', { name: /greets.*1\.00.*100 % pass.*1\.00 to 1\.00/ }).waitFor();
    const failed = matrix.getByRole('row', { name: /gnp\.exe.*0 % pass/ });
    expect(await failed.getByText('fails').count()).toBe(2);
    expect(await ask(`GET /api/evals/runs/${id}`)).toMatchObject({ note: 'twice', samples: 2, passed: false });
    expect(await page.title()).toBe('Eval run · test-box');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'eval-run');
    await page.getByRole('tab', { name: 'Compare' }).click();
    await page.getByText('There is nothing to compare it with').waitFor();

    await ask(`PATCH /api/evals/cases/${good}`, { expected: 'Good night.' });
    const again = await ask('POST /api/evals/suites/smoke/run', { note: 'after' });
    await ended(again.id);
    await page.goto(served().studio(`/evals/runs/${again.id}?tab=compare`));
    const changes = page.getByRole('region', { name: 'What has changed' });
    await changes.getByRole('row', { name: /greets.*worse.*exact 1\.00 → 0\.00/ }).waitFor();
    await page.getByText('1 same').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await changes.getByRole('link', { name: /after/ }).first().click();
    await page.getByRole('heading', { name: /desk completed/ }).waitFor();
  });

  test('a run is cancelled, and is listed with the others', async () => {
    const page = await open(served().studio('/evals/suites/endless'), { width: 360, theme: 'dark' });
    await page.getByText('Nothing was launched yet').waitFor();
    const run = await ask('POST /api/evals/suites/endless/run', {});
    await page.getByRole('link', { name: 'endless', exact: true }).click();
    await page.getByRole('heading', { name: 'endless running' }).waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByRole('heading', { name: 'endless cancelled' }).waitFor();
    expect(await ask(`GET /api/evals/runs/${run.id}`)).toMatchObject({ status: 'cancelled' });
    await page.goto(served().studio('/evals?tab=runs'));
    await page.getByRole('row', { name: /endless.*cancelled/ }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'evals-narrow-dark');
  });

  test('a case is made of a run with one press, changed, put into a suite, run, and deleted', async () => {
    const messages = [{ role: 'user', content: 'say:Good evening.' }];
    const headers = { authorization: 'Bearer any' };
    await call(served().box, 'POST /wire-a/v1/chat/completions', { model: 'desk', messages }, headers);
    const { items } = (await ask('GET /api/runs?name=desk&limit=1')) as unknown as { items: { runId: string }[] };
    const runId = items[0]?.runId ?? '';
    const page = await open(served().studio(`/runs/${runId}`));
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Make an eval case' }).click();
    const dialog = page.getByRole('dialog');
    await page.getByRole('dialog', { name: 'Change “say:Good evening.”' }).waitFor();
    expect(await dialog.getByLabel('Message', { exact: true }).inputValue()).toBe('say:Good evening.');
    expect(await dialog.getByLabel('Expectation').inputValue()).toBe('Good evening.');
    await dialog.getByLabel('Name', { exact: true }).fill('says good evening');
    await dialog.getByLabel('Add a scorer').selectOption('exact');
    await dialog.getByLabel('Tags').fill('evening, polite');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'eval-case-form');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /says good evening agent desk.*its run.*evening.*polite.*exact/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'eval-cases');

    await page.getByRole('button', { name: 'New case' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('says no');
    await dialog.getByLabel('Agent', { exact: true }).selectOption('desk');
    await dialog.getByLabel('Message', { exact: true }).fill('say:No.');
    await dialog.getByLabel('Is expected').selectOption('A text');
    await dialog.getByLabel('Expectation').fill('No.');
    await dialog.getByLabel('Scorers').fill('[');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('The list of scorers is not JSON').waitFor();
    await dialog.getByLabel('Scorers').fill('[]');
    await dialog.getByLabel('Add a scorer').selectOption('exact');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('row', { name: /says no agent desk/ }).waitFor();

    await page.getByRole('button', { name: 'New suite' }).click();
    await dialog.getByLabel('Name').fill('evenings');
    await dialog.getByLabel('says no').check();
    await dialog.getByLabel('Tags').fill('evening');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'eval-suite-form');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'evenings' }).waitFor();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('Samples').fill('2');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('each case 2 times').waitFor();
    expect(await ask('GET /api/evals/suites/evenings')).toMatchObject({ samples: 2, tags: ['evening'], online: null });
    await page.getByRole('button', { name: 'Launch', exact: true }).click();
    await dialog.getByRole('button', { name: 'Launch' }).click();
    await page.getByRole('heading', { name: 'evenings passed' }).waitFor();
    await page.getByRole('row', { name: /says good evening.*1\.00/ }).waitFor();

    await page.goto(served().studio('/evals/suites/evenings?tab=cases'));
    await page.getByText('says no').click();
    await page.getByRole('link', { name: 'Change it' }).click();
    await page.getByRole('dialog', { name: 'Change “says no”' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete says no' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: 'says no' }).waitFor({ state: 'detached' });
    await page.goto(served().studio('/evals/suites/evenings'));
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: /smoke/ }).waitFor();
    expect((await call(served().box, 'GET /api/evals/suites/evenings')).status).toBe(404);
    expect(await ask('GET /api/evals/cases?tag=evening')).toMatchObject({ items: [{ fromRunId: runId }] });
  });

  test('forms are whole on a narrow dark page', async () => {
    const page = await open(served().studio('/evals?tab=cases'), { width: 390, theme: 'dark' });
    await page.getByRole('row', { name: 'greets' }).waitFor();
    for (const what of ['case', 'suite']) {
      await page.getByRole('button', { name: `New ${what}` }).click();
      await page
        .getByRole('dialog', { name: `New ${what}` })
        .getByLabel('Name')
        .waitFor();
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, `eval-new-${what}-narrow-dark`);
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    }
  });
});
