import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { createLog } from '../../runtime/src/log.ts';
import type { NewLogEntry } from '../../runtime/src/logs/entry.ts';
import { createLogStore } from '../../runtime/src/logs/store.ts';
import { createDrizzle } from '../../runtime/src/stores/drizzle.ts';
import { svc } from '../../runtime/src/svc.ts';
import { createLazyDatabase } from '../../runtime/src/testing/database.ts';
import { getRun, runWorkflow, startWorkflow, toStep, until } from '../../runtime/test/_setup.ts';
import type { TestWorkflow } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, openBrowser } from './_browser.ts';
import { smoothOn } from './_smooth.ts';

const LINES = 100_000;
const STEPS = 10_000;
const NAMES = 500;
/** Bytes that a page may hold more than one that shows nothing: a record of a log has some 500. */
const MOST_BYTES = 150_000_000;

const next = toStep('next', (n: number) => n);
const nameOf = (kind: string, n: number): string => `${kind}-${String(n).padStart(3, '0')}`;

function toWorkflows(): Record<string, TestWorkflow> {
  const many = Array.from({ length: NAMES }, (_, n) => [nameOf('workflow', n), { run: async () => n }] as const);
  return {
    ...Object.fromEntries(many),
    long: {
      async run() {
        for (let n = 0; n < STEPS; n += 1) await next(n);
      },
    },
    talks: {
      async run(count: number) {
        for (let n = 0; n < count; n += 1) svc.log.info(`Heard ${n}.`, { n });
      },
    },
  };
}

describeWhen(browser, 'A box that has', (path) => {
  const database = createLazyDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  const log = createLog({ level: 'silent', write() {} });
  afterAll(async () => database.close());
  const agents = Array.from({ length: NAMES }, (_, n) => nameOf('agent', n));
  const served = serveBox({
    workflows: toWorkflows(),
    agents: Object.fromEntries(agents.map((name) => [name, defineDeepAgent({ name, instructions: 'Help.' })])),
    options: { db, log, records: log, engine: { limits: { records: 3 * STEPS } } },
  });
  const open = openBrowser(path);
  const expectSmooth = smoothOn(open, () => served().studio('/health'));
  let runId = '';
  beforeAll(async () => {
    runId = String((await runWorkflow(served().box, 'talks', 1)).runId);
    const store = createLogStore(db);
    for (let from = 0; from < LINES; from += 2_000)
      await store.append(Array.from({ length: 2_000 }, (_, n) => toEntry(runId, from + n)));
  }, 300_000);

  const untilEnd = (id: string) => until(async () => (await getRun(served().box, id)).status === 'completed', 300_000);
  const lines = (page: Page) => page.getByRole('log', { name: 'Log records' });
  /** The last line of all: it is gone to by the keyboard. */
  const goToLast = async (page: Page) => {
    await lines(page).focus();
    await expect
      .poll(
        async () => {
          await page.keyboard.press('End');
          return lines(page).innerText();
        },
        { timeout: 240_000, interval: 500 },
      )
      .toContain(`Line ${LINES - 1} `);
  };

  test(
    'a hundred thousand lines of one run shows them all, freezes nothing and keeps its memory',
    { timeout: 600_000 },
    async () => {
      await expectSmooth('100,000 lines of a run', async (page) => {
        const before = await measureHeap(page);
        await page.goto(served().studio(`/runs/${runId}?tab=logs`));
        await goToLast(page);
        await page.keyboard.press('Home');
        await expect.poll(() => lines(page).innerText()).toContain('Line 5 ');
        expect(await page.locator('[role=log] button').count()).toBeLessThan(100);
        expect((await measureHeap(page)) - before).toBeLessThan(MOST_BYTES);
      });
    },
  );

  test(
    'a hundred thousand lines shows the newest, older ones and those that hold a text, and follows what comes',
    { timeout: 600_000 },
    async () => {
      await expectSmooth('100,000 lines', async (page) => {
        await page.goto(served().studio('/logs'));
        await lines(page).waitFor();
        for (let n = 0; n < 3; n += 1) await page.getByRole('button', { name: 'Show older' }).click();
        await untilEnd(await startWorkflow(served().box, 'talks', 5_000));
        await page.goto(served().studio('/logs?text=Line+77777'));
        await lines(page).getByText('Line 77777 ').waitFor();
        await page.goto(served().studio('/logs?text=Heard'));
        await expect.poll(() => lines(page).innerText(), { timeout: 120_000 }).toContain('Heard 4999.');
      });
    },
  );

  test('five hundred agents and workflows lists and finds them at once', { timeout: 600_000 }, async () => {
    await expectSmooth('500 workflows', async (page) => {
      await page.goto(served().studio('/workflows'));
      await page.getByRole('link', { name: nameOf('workflow', NAMES - 1) }).waitFor();
      await page.getByRole('searchbox', { name: 'Find a workflow' }).fill('workflow-4');
      await expect.poll(() => page.getByRole('row').count()).toBe(101);
      await page.getByRole('searchbox', { name: 'Find a workflow' }).fill('');
      await expect.poll(() => page.getByRole('row').count()).toBe(NAMES + 3);
    });
    await expectSmooth('500 agents in the palette', async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('agent-42');
      await page.getByRole('option', { name: 'agent-421' }).waitFor();
      await page.getByRole('combobox').fill('');
      await page.getByRole('combobox').fill('workflow-499');
      await page.getByRole('option', { name: 'workflow-499 workflow' }).waitFor();
    });
    await expectSmooth('500 agents to choose from', async (page) => {
      await page.goto(served().studio('/playground'));
      await page.getByLabel('Agent', { exact: true }).selectOption('agent-499');
      await page.getByText('Say something to agent-499').waitFor();
      await page.goto(served().studio('/catalog'));
      await page.getByRole('button', { name: 'agent-000' }).waitFor();
    });
  });

  test('a run of ten thousand steps draws its timeline and reaches its last', { timeout: 600_000 }, async () => {
    const id = await startWorkflow(served().box, 'long');
    await untilEnd(id);
    await expectSmooth('10,000 steps', async (page) => {
      const before = await measureHeap(page);
      await page.goto(served().studio(`/runs/${id}`));
      await page.getByRole('tree', { name: 'Timeline' }).focus();
      await page.keyboard.press('End');
      const details = page.getByRole('region', { name: 'Details' });
      await details.getByRole('heading', { name: /next completed/ }).waitFor();
      await page.keyboard.press('Home');
      await page.keyboard.press('PageDown');
      expect((await measureHeap(page)) - before).toBeLessThan(MOST_BYTES);
    });
  });
});

// --- internal ---

function toEntry(runId: string, n: number): NewLogEntry {
  return {
    at: new Date(Date.UTC(2026, 0, 1) + n).toISOString(),
    level: n % 50 === 0 ? 'warn' : 'info',
    message: `Line ${n} of what a step has to say about an order`,
    runId,
    sessionId: null,
    name: 'talks',
    step: null,
    requestId: null,
    fields: JSON.stringify({ n, order: `A-${n}` }),
  };
}

/** Bytes that the scripts of a page hold once what nothing holds is thrown away. */
async function measureHeap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number };
  await session.detach();
  return usedSize;
}
