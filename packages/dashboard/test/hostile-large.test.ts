import { expect, test } from 'vitest';
import { runWorkflow, toStep } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveObjects } from './_objects.ts';
import { smoothOn } from './_smooth.ts';

/** A box records no value that is nested deeper than a thousand. */
const DEEP = 990;

const PROGRAM = {
  word: { run: async () => 'w'.repeat(1_000_000) },
  deep: {
    run: async () => {
      let value: unknown = 'the bottom';
      for (let n = 0; n < DEEP; n += 1) value = { n: value };
      return value;
    },
  },
  large: {
    run: async () => Array.from({ length: 80_000 }, (_, n) => ({ id: n, name: `Order ${n}`, note: 'x'.repeat(80) })),
  },
  steps: {
    async run() {
      for (let n = 0; n < 4_900; n += 1) await next(n);
    },
  },
};
const next = toStep('next', (n: number) => n);

describeWhen(browser, 'A value that is large', (path) => {
  const objects = serveObjects();
  const served = serveBox(() => ({
    workflows: PROGRAM,
    options: { storage: objects.storage() },
  }));
  const open = openBrowser(path);
  const expectSmooth = smoothOn(open, () => served().studio('/runs'));
  const run = async (name: keyof typeof PROGRAM): Promise<string> => {
    const { runId, status, error } = await runWorkflow(served().box, name);
    expect([name, status, error]).toEqual([name, 'completed', null]);
    return String(runId);
  };
  test('of ten megabytes freezes nothing, and its last entry is reached', async () => {
    const id = await run('large');
    await expectSmooth('10 MB', async (page) => {
      await page.goto(served().studio(`/runs/${id}?tab=values`));
      const tree = page.getByRole('tree', { name: 'Output' });
      await tree.getByText('Order 99').waitFor();
      await page.getByRole('searchbox', { name: 'Search in: Output' }).fill('Order 79999');
      await tree.getByText('Order 79999').waitFor();
    });
  });

  test('of one word of a megabyte freezes nothing, and more of it is shown when asked for', async () => {
    const id = await run('word');
    await expectSmooth('1 MB word', async (page) => {
      await page.goto(served().studio(`/runs/${id}?tab=values`));
      await page.getByRole('button', { name: /Show more \(980,000 characters are left\)/ }).click();
      await page.getByRole('button', { name: /Show more \(880,000 characters are left\)/ }).waitFor();
    });
  });

  test.each([DEEP, 5_000])('nested %i deep freezes nothing, and its bottom is reached', async (depth) => {
    const id = await run('deep');
    await expectSmooth(`${depth} deep`, async (page) => {
      await page.route(`**/api/runs/${id}`, async (asked) => {
        const answer = await asked.fetch();
        const text = (await answer.text()).replace(/{"n":(?={"n":"the bottom")/, '{"n":'.repeat(depth - DEEP + 1));
        const body = text.replace(/"the bottom"/, `"the bottom"${'}'.repeat(depth - DEEP)}`);
        await asked.fulfill({ response: answer, body });
      });
      await page.goto(served().studio(`/runs/${id}?tab=values`));
      await page.getByRole('searchbox', { name: 'Search in: Output' }).fill('the bottom');
      await page.getByRole('tree', { name: 'Output' }).getByText('the bottom').waitFor();
    });
  });

  test('of thousands of steps freezes nothing, and the last is reached', async () => {
    const id = await run('steps');
    await expectSmooth('4,900 steps', async (page) => {
      await page.goto(served().studio(`/runs/${id}`));
      await page.getByRole('tree', { name: 'Timeline' }).focus();
      await page.keyboard.press('End');
      await page
        .getByRole('region', { name: 'Details' })
        .getByRole('heading', { name: /next completed/ })
        .waitFor();
    });
  });
});
