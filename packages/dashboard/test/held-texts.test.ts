import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../../runtime/src/definitions/definition.ts';
import { call, json, until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

describeWhen(browser, 'Texts that a guardrail holds', (path) => {
  const look = defineTool({
    description: 'Looks.',
    inputSchema: z.object({ q: z.string() }),
    execute: () => '# Found\n\nA *secret* of the sea.',
  });
  const served = serveBox({
    agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.', tools: { look } }) },
    workflows: { pay: { run: async (input: unknown) => input } },
  });
  const open = openBrowser(path);
  const ask = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> =>
    (await call<T>(served().box, route, body)).body;
  const say = async (session: string, content: string): Promise<void> => {
    const headers = { authorization: 'Bearer any', 'x-svc-session': session };
    const body = { model: 'helper', messages: [{ role: 'user', content }] };
    await (await served().box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
  };

  test('are shown as they are, on every side, and are approved or rejected', async () => {
    for (const [side, word] of [
      ['workflow-input', 'ransom'],
      ['agent-input', 'pirate'],
      ['agent-output', 'treasure'],
      ['tool-result', 'secret'],
    ]) {
      const check = { kind: 'words', words: [word] };
      await ask('POST /api/guardrails', { name: `no ${word}`, check, sides: [side], action: 'hold' });
    }
    const long = `A ransom.\n${'It is long. '.repeat(7_000)}`;
    await ask('POST /api/workflows/pay/start', { note: long, amount: 3 });
    await say('one', 'Ask a pirate.\n\nAnd say:nothing.');
    await say('two', 'say:It is below the old tree, and the treasure is large: a thousand coins.');
    await say('three', 'tool:look {"q":"sea"}; say:Done.');
    const pending = async () =>
      (await ask<{ items: { title: string }[] }>('GET /api/approvals?status=pending')).items.map(({ title }) => title);
    await until(async () => (await pending()).length === 4);

    const page = await open(served().studio('/approvals'));
    const entry = (title: RegExp) =>
      page.getByRole('navigation', { name: 'Approvals' }).getByRole('button', { name: title });
    const detail = page.getByRole('region', { name: 'What is asked' });
    await entry(/Let "helper" read/).click();
    await detail.getByRole('region', { name: 'Result' }).getByText('A *secret* of the sea.').waitFor();
    expect(await detail.getByRole('button').allInnerTexts()).toEqual(['Approve', 'Approve with a note', 'Reject']);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'held-result');
    await entry(/Let "helper" say/).click();
    await detail.getByRole('region', { name: 'Said before' }).getByText('It is below the old tree, and the').waitFor();
    await detail.getByRole('region', { name: 'What it would say' }).getByText('treasure is large').waitFor();
    await keepPicture(page, 'held-reply');
    await entry(/Ask "helper" this/).click();
    await detail.getByRole('region', { name: 'Message, user' }).getByText('And say:nothing.').waitFor();
    await keepPicture(page, 'held-input');
    await entry(/Start "pay"/).click();
    await detail.getByRole('region', { name: 'Input' }).getByText('A ransom.').waitFor();
    await detail.getByText('It is longer than that').waitFor();
    await keepPicture(page, 'held-start');

    for (const theme of ['light', 'dark'] as const) {
      const narrow = await open(served().studio('/approvals'), { width: 390, height: 844, theme });
      await narrow.getByRole('button', { name: /Let "helper" say/ }).click();
      await narrow.getByRole('region', { name: 'What it would say' }).waitFor();
      expect([await isTooWide(narrow), await listBarriers(narrow)]).toEqual([false, []]);
      await narrow.getByRole('button', { name: 'Approve', exact: true }).scrollIntoViewIfNeeded();
      await keepPicture(narrow, `held-narrow-${theme}`);
    }
    const dark = await open(served().studio('/approvals'), { theme: 'dark' });
    await dark.getByRole('button', { name: /Let "helper" say/ }).click();
    await dark.getByRole('region', { name: 'What it would say' }).waitFor();
    expect(await listBarriers(dark)).toEqual([]);
    await keepPicture(dark, 'held-dark');

    await entry(/Let "helper" say/).click();
    await detail.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('Approved: Let "helper" say this?').waitFor();
    await entry(/Ask "helper" this/).click();
    await detail.getByRole('button', { name: 'Reject' }).click();
    await detail.getByRole('button', { name: 'Reject' }).last().click();
    await page.getByText('Rejected: Ask "helper" this?').waitFor();
    expect(await pending()).toEqual([
      expect.stringContaining('read what "look"'),
      expect.stringContaining('Start "pay"'),
    ]);
  });
});
