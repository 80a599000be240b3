import { expect, test } from 'vitest';
import type { OpenApiDocument } from '../src/openapi/document.ts';
import { browser, openPage } from './_browser.ts';
import { call, setupBoxes, until } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const WAIT_MS = 60_000;
const TEXT = 'document.body?.innerText ?? ""';
/** Of a long document only what is near the window is rendered: looks a little further down, answers how many it has seen. */
const SEE_ALL = `(() => {
  globalThis.seen ??= new Set();
  for (const { innerText } of document.querySelectorAll('.opblock-summary')) seen.add(innerText);
  const { scrollHeight } = document.documentElement;
  scrollTo(0, scrollY + innerHeight >= scrollHeight ? 0 : scrollY + innerHeight / 2);
  return seen.size;
})()`;

describeWhen(browser, 'the reference page in a browser', (path) => {
  test('shows every operation, and asks nothing of another host', { timeout: 2 * WAIT_MS }, async () => {
    const box = await boxes.open();
    const url = await box.listen();
    const { paths } = (await call<OpenApiDocument>(box, 'GET /api/openapi.json')).body;
    const count = Object.values(paths).flatMap((methods) => Object.keys(methods)).length;
    const page = await openPage(path);
    await page.goto(`${url}/api/docs`);
    await until(async () => (await page.evaluate<number>(SEE_ALL)) === count, WAIT_MS);
    expect(await page.evaluate('document.getElementById("list")')).toBeNull();
    expect(await page.evaluate('[...seen].join()')).toContain('Cancel a run');
    expect(page.requests.filter((address) => !address.startsWith(`${url}/`) && !address.startsWith('data:'))).toEqual(
      [],
    );
    expect(page.complaints).toEqual([]);
  });

  test('opens an operation with its parameters and answers', { timeout: 2 * WAIT_MS }, async () => {
    const box = await boxes.open();
    const page = await openPage(path);
    await page.goto(`${await box.listen()}/api/docs#/runs/runs.cancel`);
    await until(async () => (await page.evaluate<string>(TEXT)).includes('run_final'), WAIT_MS);
    expect(await page.evaluate(TEXT)).toContain('The run id');
  });

  test('lists the routes where no script runs', { timeout: 2 * WAIT_MS }, async () => {
    const box = await boxes.open();
    const page = await openPage(path, { scripts: false });
    await page.goto(`${await box.listen()}/api/docs`);
    const text = 'document.getElementById("list")?.innerText ?? ""';
    await until(async () => (await page.evaluate<string>(text)).includes('/api/runs/{id}/cancel'), WAIT_MS);
    expect(page.requests.filter((address) => address.endsWith('.js'))).toEqual([]);
  });
});
