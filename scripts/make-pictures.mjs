// @ts-check
/**
 * Makes the pictures of docs/guide/dashboard*.md: `svc dev` on a copy of the playground, with its scripted model, in a Chromium
 * without a window. Build the packages first.
 *   CHROMIUM_PATH=/usr/lib/chromium/chromium-headless-shell node scripts/make-pictures.mjs [folder]     default: docs/guide/pictures
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { askUntil, bootBox, makeWorkspace } from '../bench/_box.mjs';
import { startModelServer } from '../playground/model-server.mjs';

/** @typedef {import('../packages/dashboard/node_modules/playwright-core/index.js').Page} Page */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const folder = resolve(process.argv[2] ?? join(ROOT, 'docs/guide/pictures'));
const { chromium } = createRequire(join(ROOT, 'packages/dashboard/package.json'))('playwright-core');

const model = await startModelServer();
const workspace = makeWorkspace();
const box = await bootBox({ root: workspace.root, modelUrl: model.url });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/lib/chromium/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});
try {
  await askUntil(
    () => box.call('/api/workflows/price-check'),
    ({ status }) => status === 200,
  );
  for (const [orderId, amount] of /** @type {[string, number][]} */ ([
    ['A-100', 500],
    ['A-999', 500],
    ['A-100', 900],
  ]))
    await start('refund-order', { orderId, amount });
  const runId = await start('price-check', { item: 'kettle' });
  await start('upgrade-plan', { email: 'ada@example.com', seats: 12 });
  await fill();
  await wait(1_500);
  mkdirSync(folder, { recursive: true });
  const context = await browser.newContext({ viewport: { width: 1_200, height: 680 } });
  /** @type {Page} */
  const page = await context.newPage();

  await page.goto(`${box.url}/studio/runs`);
  await page.getByRole('row', { name: /price-check/ }).waitFor();
  await keep(page, 'runs');

  await page.goto(`${box.url}/studio/runs/${runId}`);
  await page.getByRole('treeitem').nth(2).click();
  await page.getByRole('region', { name: 'Details' }).waitFor();
  await keep(page, 'run');

  await page.goto(`${box.url}/studio/workflows/refund-order`);
  await page.getByLabel('orderId').fill('100');
  await page.getByLabel('amount').fill('500');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page
    .getByText(/looks like A-100/)
    .first()
    .waitFor();
  await keep(page, 'workflow');

  await page.goto(`${box.url}/studio/playground`);
  await page.getByRole('textbox').last().fill('Where is my order A-100?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await wait(1_000);
  await keep(page, 'playground');

  await page.goto(`${box.url}/studio/`);
  await page.getByText('Upgrade ada@example.com').waitFor();
  await page.getByRole('img', { name: /Runs of the last 24 hours/ }).waitFor();
  await page
    .getByText(/nightly-report/)
    .first()
    .waitFor();
  await keep(page, 'overview');

  await page.goto(`${box.url}/studio/logs`);
  await page.getByRole('log').getByRole('button').first().waitFor();
  await keep(page, 'logs');

  await page.goto(`${box.url}/studio/approvals`);
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await keep(page, 'approvals');

  await page.goto(`${box.url}/studio/guardrails`);
  await page.getByRole('row', { name: /No card numbers/ }).waitFor();
  await keep(page, 'guardrails');

  await page.goto(`${box.url}/studio/prompts`);
  await page.getByRole('link', { name: 'How support writes' }).click();
  await page.getByRole('tab', { name: 'Compare' }).click();
  await page.getByRole('row', { name: /two sentences/ }).waitFor();
  await keep(page, 'prompt');

  await page.goto(`${box.url}/studio/keys`);
  await page.getByRole('row', { name: /The shop/ }).waitFor();
  await keep(page, 'keys');

  await page.goto(`${box.url}/studio/sessions`);
  await page.locator('tbody a').first().click();
  await page.getByText('Where is my order A-100?').first().waitFor();
  await keep(page, 'session');
} finally {
  await browser.close();
  await box.stop();
  workspace.remove();
  await model.close();
}

/** What a person would have made: rules, a prompt with a draft, keys. */
async function fill() {
  const [sides, ownerKind, ownerName] = [['agent-output', 'tool-result'], 'agent', 'support'];
  await make('/api/guardrails', {
    name: 'No card numbers',
    check: { kind: 'pii', kinds: ['card'] },
    sides,
    action: 'mask',
  });
  const check = { kind: 'words', words: ['Initech'] };
  await make('/api/guardrails', { name: 'No rivals', check, sides: ['agent-output'], action: 'block' });
  const [first, second] = ['Be kind, {{name}}.\nAnswer at length.', 'Be kind, {{name}}.\nAnswer in two sentences.'];
  const prompt = { ownerKind, ownerName, key: 'instructions', name: 'How support writes', text: first };
  const { id } = await make('/api/prompts', prompt);
  await make(`/api/prompts/${id}/versions`, { text: second, note: 'shorter' });
  const grants = { agents: ['support'], workflows: [] };
  await make('/api/keys', { name: 'The shop', client: 'shop', grants, limits: { requestsPerMinute: 60 } });
  await make('/api/keys', {
    name: 'The nightly job',
    client: 'cron',
    grants: { agents: [], workflows: ['nightly-report'] },
  });
}

/**
 * @param {string} path
 * @param {object} body
 */
async function make(path, body) {
  const { status, text } = await box.call(path, body);
  if (status >= 300) throw new Error(`${path} was answered ${status}: ${text}`);
  return JSON.parse(text);
}

/**
 * @param {string} name
 * @param {object} input
 */
async function start(name, input) {
  return JSON.parse((await box.call(`/api/workflows/${name}/start`, input)).text).runId;
}

/**
 * As WebP, which Chromium itself writes.
 * @param {Page} page
 * @param {string} name
 */
async function keep(page, name) {
  const png = (await page.screenshot()).toString('base64');
  const blank = await page.context().newPage();
  const webp = await blank.evaluate(`(async () => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,${png}')).blob());
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.8).split(',')[1];
  })()`);
  await blank.close();
  const bytes = Buffer.from(String(webp), 'base64');
  writeFileSync(join(folder, `${name}.webp`), bytes);
  console.log(`${name}.webp  ${(bytes.length / 1_000).toFixed(0)} kB`);
}
