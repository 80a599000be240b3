import { expect, test } from 'vitest';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { defineGuardrail } from '../../runtime/src/guardrails/define.ts';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

type Rule = Record<string, unknown> & { id: string; name: string };

describeWhen(browser, 'What may pass', (path) => {
  const served = serveBox({
    agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }) },
    workflows: { echo: { run: async (input: unknown) => input } },
  });
  const open = openBrowser(path);
  const ask = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> =>
    (await call<T>(served().box, route, body)).body;
  const rules = async () => (await ask<{ items: Rule[] }>('GET /api/guardrails')).items;

  test('a rule is made, put before another, changed, switched off and deleted', async () => {
    const page = await open(served().studio('/guardrails'));
    await page.getByText('There is no rule yet').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    const make = async (name: string, fill: () => Promise<unknown>) => {
      await page.getByRole('button', { name: 'New rule' }).click();
      await dialog.getByLabel('Name').fill(name);
      await fill();
      await dialog.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('row', { name }).waitFor();
    };
    const dialog = page.getByRole('dialog');
    await make('no addresses', async () => {
      await dialog.getByLabel('E-mail addresses').check();
      await dialog.getByLabel('Tool result').check();
      await dialog.getByLabel('What is done about a hit').selectOption('mask');
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'guardrail-form');
    });
    await make('no rivals', async () => {
      await dialog.getByLabel('Looks for').selectOption('words');
      await dialog.getByLabel('Words', { exact: true }).fill('Acme\n\n  Initech ');
      await dialog.getByLabel('Agent output').uncheck();
      await dialog.getByLabel('Workflow input').check();
      await dialog.getByLabel('Whose texts').selectOption('workflow');
      await dialog.getByLabel('Workflow', { exact: true }).selectOption('echo');
    });
    expect(await rules()).toMatchObject([
      { name: 'no addresses', action: 'mask', sides: ['agent-output', 'tool-result'], check: { kinds: ['email'] } },
      {
        name: 'no rivals',
        action: 'block',
        sides: ['workflow-input'],
        check: { kind: 'words', words: ['Acme', 'Initech'], wholeWord: true },
        attachment: { kind: 'workflow', name: 'echo' },
        failClosed: true,
      },
    ]);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'guardrails');

    await page.getByRole('button', { name: 'Ask no rivals earlier' }).press('Enter');
    await page.getByRole('row', { name: /^1 no rivals/ }).waitFor();
    expect((await rules()).map(({ name }) => name)).toEqual(['no rivals', 'no addresses']);

    await page.getByText('no rivals is asked as number 1 of 2.').waitFor({ state: 'attached' });
    // What was pressed cannot be pressed again where it is now: the other way has the focus.
    await page.locator('button:focus[aria-label="Ask no rivals later"]').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^2 no rivals/ }).waitFor();
    await page.locator('button:focus[aria-label="Ask no rivals earlier"]').waitFor();

    const middleOf = async (name: string) => {
      const box = await page.getByRole('row', { name }).boundingBox();
      return (box?.y ?? 0) + (box?.height ?? 0) / 2;
    };
    const handle = await page.getByRole('row', { name: 'no rivals' }).getByTitle('Drag it to its place').boundingBox();
    const x = (handle?.x ?? 0) + 4;
    await page.mouse.move(x, await middleOf('no rivals'));
    await page.mouse.down();
    await page.mouse.move(x, (await middleOf('no addresses')) - 8, { steps: 5 });
    await keepPicture(page, 'guardrails-dragged');
    await page.mouse.up();
    await page.getByRole('row', { name: /^1 no rivals/ }).waitFor();
    expect((await rules()).map(({ name }) => name)).toEqual(['no rivals', 'no addresses']);
    // One that is released where it stood stays, and one that is dragged beyond the end is the last.
    await page.mouse.move(x, await middleOf('no rivals'));
    await page.mouse.down();
    await page.mouse.move(x, 880, { steps: 5 });
    await page.mouse.up();
    await page.getByRole('row', { name: /^2 no rivals/ }).waitFor();
    await page.getByRole('button', { name: 'Ask no rivals earlier' }).click();
    await page.getByRole('row', { name: /^1 no rivals/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);

    await page.getByRole('button', { name: 'Change no addresses' }).click();
    await dialog.getByLabel('IBANs').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /no addresses.*email, iban/ }).waitFor();

    await page.getByRole('button', { name: 'More of no rivals' }).click();
    await page.getByRole('menuitem', { name: 'Switch off' }).click();
    await page.getByRole('row', { name: /no rivals.*off/ }).waitFor();
    expect(await rules()).toMatchObject([{ enabled: false }, { check: { kinds: ['email', 'iban'] }, enabled: true }]);

    await page.getByRole('button', { name: 'More of no rivals' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: 'no rivals' }).waitFor({ state: 'detached' });
    expect((await rules()).map(({ name }) => name)).toEqual(['no addresses']);
  });

  test('a rule is dragged to its place by a finger', async () => {
    const made: string[] = [];
    for (const name of ['touched first', 'touched second', 'touched third']) {
      const check = { kind: 'words', words: ['falcon'] };
      made.push(
        (await ask<Rule>('POST /api/guardrails', { name, check, sides: ['agent-output'], action: 'block' })).id,
      );
    }
    const order = async () => (await rules()).map(({ name }) => name).filter((name) => name.startsWith('touched'));
    const page = await open(served().studio('/guardrails'), { width: 1_024, height: 900, hasTouch: true });
    const row = (name: string) => page.getByRole('row', { name });
    await row('touched third').waitFor();
    expect(await isTooWide(page)).toBe(false);
    const handle = row('touched third').getByTitle('Drag it to its place');
    await handle.scrollIntoViewIfNeeded();
    const [from, to] = [await handle.boundingBox(), await row('touched first').boundingBox()];
    const x = (from?.x ?? 0) + 6;
    const y = (from?.y ?? 0) + (from?.height ?? 0) / 2;
    const end = (to?.y ?? 0) + (to?.height ?? 0) / 2 - 8;
    const finger = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', at?: number) =>
      finger.send('Input.dispatchTouchEvent', { type, touchPoints: at === undefined ? [] : [{ x, y: at }] });
    await touch('touchStart', y);
    for (let step = 1; step <= 8; step += 1) await touch('touchMove', y + ((end - y) * step) / 8);
    await keepPicture(page, 'guardrails-touched');
    await touch('touchEnd');
    await expect.poll(order).toEqual(['touched third', 'touched first', 'touched second']);
    expect(await page.evaluate('window.scrollY')).toBe(0);
    for (const id of made) await served().box.request(`/api/guardrails/${id}`, { method: 'DELETE' });
  });

  test('a rule that a model judges is made of words and labels', async () => {
    const page = await open(served().studio('/guardrails'));
    await page.getByRole('button', { name: 'New rule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('kind words');
    await dialog.getByLabel('Looks for').selectOption('model');
    await dialog.getByLabel('Rule', { exact: true }).fill('Nobody is insulted.');
    await dialog.getByLabel('Labels').fill('insult\nthreat');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'guardrail-form-model');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('row', { name: /kind words.*by a model: Nobody is insulted/ }).waitFor();
    const made = (await rules()).find(({ name }) => name === 'kind words');
    const check = { kind: 'model', rubric: 'Nobody is insulted.', labels: ['insult', 'threat'], timeoutMs: 10_000 };
    expect(made?.check).toEqual(check);
    await ask(`DELETE /api/guardrails/${made?.id}`);
  });

  test('what the box refuses is said in the form, and nothing is lost of it', async () => {
    const page = await open(served().studio('/guardrails'));
    allowComplaint(page, /400/);
    await page.getByRole('button', { name: 'New rule' }).click();
    const dialog = page.getByRole('dialog', { name: 'New rule' });
    await dialog.getByLabel('Name').fill('looks ahead');
    await dialog.getByLabel('Looks for').selectOption('regex');
    await dialog.getByLabel('Pattern').fill('a(?=b)');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('invalid_request').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByLabel('Looks for').selectOption('schema');
    await dialog.getByLabel('JSON Schema').fill('{');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('The schema is not JSON').waitFor();
    await dialog.getByLabel('Looks for').selectOption('regex');
    expect(await dialog.getByLabel('Pattern').inputValue()).toBe('a(?=b)');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await rules()).map(({ name }) => name)).not.toContain('looks ahead');
  });

  test('rules are tried on a text, and what they have found leads to its run', async () => {
    await ask('POST /api/guardrails', {
      name: 'no dragons',
      check: { kind: 'words', words: ['dragon'] },
      sides: ['workflow-input', 'agent-output'],
      action: 'block',
    });
    await ask('POST /api/guardrails', {
      name: 'ids',
      check: { kind: 'regex', pattern: 'id-[0-9]+' },
      sides: ['workflow-input', 'agent-output'],
      action: 'mask',
    });
    const page = await open(served().studio('/guardrails?tab=try'));
    const say = async (text: string) => {
      await page.getByLabel('Text').fill(text);
      await page.getByRole('button', { name: 'Try', exact: true }).click();
    };
    await say('Hello.');
    await page.getByText('It passes as it is').waitFor();
    await say('Order id-123 is here.');
    await page.getByText('with what was found replaced').waitFor();
    expect(await page.locator('main').innerText()).not.toContain('id-123');
    await page.getByRole('row', { name: /ids.*mask.*1/ }).waitFor();
    await say('Here is a dragon.');
    await page.getByText('It is blocked by no dragons').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'guardrails-try');
    expect((await ask<{ items: unknown[] }>('GET /api/guardrails/hits')).items).toEqual([]);

    await page.getByRole('tab', { name: 'Hits' }).click();
    await page.getByText('No rule has found anything').waitFor();
    await ask('POST /api/workflows/echo/start', 'id-7 and id-8');
    await page.getByRole('row', { name: /ids.*mask.*workflow echo.*Workflow input.*2/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByLabel('Rule', { exact: true }).selectOption('no dragons');
    await page.getByText('This rule has found nothing').waitFor();
    await page.getByLabel('Rule', { exact: true }).selectOption('ids');
    const messages = [{ role: 'user', content: 'say:It is id-9.' }];
    const headers = { authorization: 'Bearer any' };
    const turn = await call(served().box, 'POST /wire-a/v1/chat/completions', { model: 'helper', messages }, headers);
    expect(turn.body).toMatchObject({ choices: [{ message: { content: expect.stringMatching(/^It is (?!id-9)/) } }] });
    await page.getByRole('link', { name: 'agent helper' }).click();
    await page.waitForURL('**/runs/*');
  });

  test('rules are tried on recorded runs, and each place leads to its run', async () => {
    const drafts = await rules();
    await Promise.all(drafts.map(({ id }) => ask(`PATCH /api/guardrails/${id}`, { enabled: false })));
    const started = await ask('POST /api/workflows/echo/start', 'A dragon and id-7.');
    const messages = [{ role: 'user', content: 'say:A dragon says id-9.' }];
    const headers = { authorization: 'Bearer any' };
    await call(served().box, 'POST /wire-a/v1/chat/completions', { model: 'helper', messages }, headers);
    await Promise.all(drafts.map(({ id }) => ask(`PATCH /api/guardrails/${id}`, { enabled: true })));
    const before = (await ask<{ items: unknown[] }>('GET /api/guardrails/hits')).items.length;

    const page = await open(served().studio(`/runs/${String(started['runId'])}`));
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Try guardrails on it' }).click();
    // The screen it is left by has something of that name too.
    const run = page.getByRole('textbox', { name: 'Run', exact: true });
    expect(await run.inputValue()).toBe(started['runId']);
    const tryIt = page.getByRole('button', { name: 'Try on what is recorded' });
    await tryIt.click();
    await page.getByText('Places judged: 1, of 1 run. Places where they find something: 1.').waitFor();
    await page
      .getByRole('row', { name: /workflow echo Workflow input.*at its start.*block no dragons block 1/ })
      .waitFor();
    expect(await page.locator('main').innerText()).not.toContain('A dragon');
    await run.fill('');
    await page.getByLabel('Of', { exact: true }).selectOption('Agent helper');
    await page.getByLabel('Where', { exact: true }).selectOption('Agent output');
    await tryIt.click();
    await page.getByRole('row', { name: /agent helper Agent output.*call 0.*block no dragons/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'guardrails-try-runs');
    expect((await ask<{ items: unknown[] }>('GET /api/guardrails/hits')).items).toHaveLength(before);
    await page.getByRole('link', { name: 'agent helper' }).first().click();
    await page.getByRole('region', { name: 'Details' }).getByText('model').first().waitFor();
  });

  test.each(['dark', 'narrow'] as const)('is whole on a %s page', async (how) => {
    const page = await open(
      served().studio('/guardrails'),
      how === 'dark' ? { theme: 'dark' } : { width: 360, height: 740 },
    );
    await page.getByRole('row', { name: 'no dragons' }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `guardrails-${how}`);
    await page.goto(served().studio('/guardrails?tab=recorded'));
    await page.getByRole('button', { name: 'Try on what is recorded' }).click();
    await page.getByText('Places where they find something: 2.').waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `guardrails-try-runs-${how}`);
    await page.goto(served().studio('/guardrails'));
    await page.getByRole('button', { name: 'New rule' }).click();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `guardrail-form-${how}`);
  });
});

describeWhen(browser, 'A rule that code declares', (path) => {
  const served = serveBox({
    guardrails: {
      rivals: defineGuardrail({
        sides: ['agent-output'],
        action: 'audit',
        check: ({ text }) => text.includes('Acme') && 'a rival',
      }),
    },
  });
  const open = openBrowser(path);

  test('shows its file, and has no buttons; one that is made comes behind it', async () => {
    await call(served().box, 'POST /api/guardrails', {
      name: 'last',
      check: { kind: 'injection' },
      sides: ['tool-result'],
      action: 'block',
    });
    const page = await open(served().studio('/guardrails'));
    await page
      .getByRole('row', { name: /^1 rivals guardrails\/rivals\.guardrail\.ts audit a check in code/ })
      .waitFor();
    expect(
      await page
        .getByRole('row', { name: /^1 rivals/ })
        .getByRole('button')
        .count(),
    ).toBe(0);
    const last = page.getByRole('row', { name: /^2 last/ });
    expect(await last.getByRole('button', { disabled: true }).count()).toBe(2);
    expect(await listBarriers(page)).toEqual([]);
  });
});
