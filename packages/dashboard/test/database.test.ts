import { afterAll, expect, test } from 'vitest';
import { createDrizzle } from '../../runtime/src/stores/drizzle.ts';
import { createLazyDatabase } from '../../runtime/src/testing/database.ts';
import { until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { formatConditions, parseConditions } from '../src/screens/database/conditions.ts';
import { toCsv, toJson } from '../src/screens/database/export.ts';
import { formatTableName, parseTableName } from '../src/screens/database/table-name.ts';
import { toTextPlace } from '../src/screens/database/text-place.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, listBarriers, openBrowser } from './_browser.ts';

const TABLES = `
  create table notes (id int primary key, body text not null, tag text, doc jsonb);
  insert into notes select n, 'Note ' || n, case when n % 3 = 0 then null else 't' || n % 3 end,
    jsonb_build_object('n', n, 'words', jsonb_build_array('a', 'b')) from generate_series(1, 250) n;
  insert into notes values (251, repeat('long ', 40000), 'big', '{}');
  create table blank (word text);
  create schema "Sales.2026"; create table "Sales.2026"."a.b" (at date);
  create schema svc_view; create view svc_view.runs as
    select 'report' as name, 'completed' as status, now() as created_at, now() as started_at, now() as ended_at;
  create view tagged as select id, tag from notes where tag is not null;
  analyze notes;`;

describeWhen(browser, 'The database', (path) => {
  const database = createLazyDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  const served = serveBox({ options: { db, readable: { kind: 'embedded', pglite: database.pglite } } });
  const open = openBrowser(path);
  const fill = async (): Promise<void> => void (await database.client.exec(TABLES));
  afterAll(() => database.close());

  test('without a table says where tables come from', async () => {
    const page = await open(served().studio('/database'));
    await page.getByText('The project has no table yet').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await fill();
  });

  test('lists tables with kind, rows and columns, and opens one by the keyboard', async () => {
    const page = await open(served().studio('/database'));
    await page.getByRole('row', { name: /^notes table 251 4 id, body, tag, doc/ }).waitFor();
    await page.getByRole('row', { name: /^tagged view not counted 2/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'Sales%2E2026.a.b' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('There is no row yet').waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('dialog').getByRole('row', { name: 'at date may be null' }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('shows rows a page at a time, sorted by a column and narrowed down, as the address says', async () => {
    const page = await open(served().studio('/database?table=notes'));
    const rows = page.getByRole('region', { name: 'Rows of notes' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(100);
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(200);
    await page.getByRole('button', { name: 'id', exact: true }).click();
    await page.getByRole('columnheader', { name: 'id' }).and(page.locator('[aria-sort=ascending]')).waitFor();
    await page.getByRole('button', { name: 'id', exact: true }).click();
    await expect.poll(() => rows.first().innerText()).toContain('251');
    expect(new URL(page.url()).search).toBe('?table=notes&sort=id&order=desc');

    const form = page.getByRole('form', { name: 'Narrow the rows down' });
    await form.getByLabel('Column').selectOption('tag');
    await form.getByLabel('Value').fill('t1');
    await form.getByLabel('Value').press('Enter');
    await expect.poll(() => rows.first().innerText()).toContain('Note 250');
    await form.getByLabel('Column').selectOption('id');
    await form.getByLabel('Compared how').selectOption('lt');
    await form.getByLabel('Value').fill('5');
    await form.getByRole('button', { name: 'Add the condition' }).click();
    await expect.poll(() => rows.count()).toBe(2);
    expect(await listBarriers(page)).toEqual([]);
    await page.reload();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('button', { name: 'Copy as CSV' }).click();
    await expect
      .poll(() => page.evaluate('navigator.clipboard.readText()'))
      .toBe(
        'id,body,tag,doc\r\n4,Note 4,t1,"{""n"":4,""words"":[""a"",""b""]}"\r\n1,Note 1,t1,"{""n"":1,""words"":[""a"",""b""]}"\r\n',
      );
    await page.getByRole('button', { name: 'Take away: tag is “t1”' }).click();
    await expect.poll(() => rows.count()).toBe(4);
  });

  test('a condition that the database refuses is said, and can be taken away', async () => {
    const page = await open(served().studio('/database?table=notes'));
    allowComplaint(page, /422/);
    const form = page.getByRole('form', { name: 'Narrow the rows down' });
    await page.getByRole('button', { name: 'Show row 1', exact: true }).waitFor();
    await form.getByLabel('Value').fill('many');
    await form.getByRole('button', { name: 'Add the condition' }).click();
    await page.getByRole('alert').getByText('query_failed').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Take away: id is “many”' }).click();
    await page.getByRole('button', { name: 'Show row 1', exact: true }).waitFor();
    await page.goto(served().studio('/database?table=gone'));
    allowComplaint(page, /404/);
    await page.getByText('The project has no table "public.gone"').waitFor();
    await page.getByRole('link', { name: 'Tables' }).click();
    await page.getByRole('link', { name: 'tagged' }).waitFor();
  });

  test('a value of any size is a line in the table, and whole in its row', async () => {
    const page = await open(
      served().studio(`/database?table=notes&filter=${encodeURIComponent('[{"column":"id","is":"eq","value":251}]')}`),
    );
    await page.getByRole('button', { name: 'Show row 1', exact: true }).click();
    const row = page.getByRole('dialog', { name: 'Row 1' });
    await row.getByRole('tree', { name: 'Row 1' }).getByText('long long').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await row.getByRole('button', { name: 'Copy all' }).click();
    await expect
      .poll(() => page.evaluate('navigator.clipboard.readText().then(({ length }) => length)'))
      .toBeGreaterThan(200_000);
    await row.getByRole('button', { name: 'Close' }).click();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('1');
  });

  test('a statement is run with Ctrl+Enter, said to be cut, and kept for the page alone', async () => {
    const page = await open(served().studio('/database?tab=query'));
    const editor = page.getByLabel('Statement');
    await editor.fill('select n, n as n from generate_series(1, 1500) n');
    await editor.press('Control+Enter');
    await page.getByText(/1,000 rows in \d+/).waitFor();
    await page.getByText('cut off: there are more rows').waitFor();
    const rows = page.getByRole('region', { name: 'Result' }).locator('tbody tr');
    expect(await rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(200);
    expect(await listBarriers(page)).toEqual([]);
    await editor.fill('select 1 as one');
    await editor.press('Control+Enter');
    await page.getByText(/1 row in \d+/).waitFor();
    await page.getByRole('button', { name: 'Copy as JSON' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('[\n  {\n    "one": 1\n  }\n]');
    expect(page.url()).toBe(served().studio('/database?tab=query'));

    await page.getByRole('link', { name: 'Config', exact: true }).click();
    await page.getByRole('heading', { name: 'Config' }).waitFor();
    await page.goBack();
    await expect.poll(() => editor.inputValue()).toBe('select 1 as one');
    await page.getByText('What was run in this page: 2').click();
    await page.getByRole('list', { name: 'What was run' }).getByText('generate_series').click();
    expect(await editor.inputValue()).toContain('generate_series');
    expect(await listBarriers(page)).toEqual([]);
    await page.reload();
    await editor.waitFor();
    expect(await editor.inputValue()).toBe('');
  });

  test('what is wrong in a statement is shown at its place', async () => {
    const page = await open(served().studio('/database?tab=query'));
    allowComplaint(page, /422/);
    const editor = page.getByLabel('Statement');
    await editor.fill("select '𝒳',\n  bodi from notes");
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Line 2, column 3').waitFor();
    expect(await page.locator('mark').innerText()).toBe('bodi');
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Go there' }).click();
    expect(
      await editor.evaluate((field) => {
        const { value, selectionStart, selectionEnd } = field as unknown as Record<string, number> & { value: string };
        return value.slice(selectionStart, selectionEnd);
      }),
    ).toBe('bodi');
    await editor.fill('delete from notes');
    await editor.press('Control+Enter');
    await page.getByText('The database refuses the statement').waitFor();
    await editor.fill('explain select * from notes');
    await editor.press('Control+Enter');
    await page.getByLabel('Plan').getByText('Seq Scan on notes').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('one that takes long can be left alone, and runs are counted where the box lists them', async () => {
    const page = await open(served().studio('/database?tab=query'));
    await page.route('**/api/database/query', async (asked) => {
      await until(() => isLet);
      await asked.continue().catch(() => {});
    });
    let isLet = false;
    await page.getByRole('button', { name: 'Count runs in svc_view.runs' }).click();
    await page.getByLabel('Statement').press('Control+Enter');
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Stop waiting' }).click();
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
    isLet = true;
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('report').waitFor();
  });

  test('all of it is for a narrow screen too, in the dark', async () => {
    const page = await open(served().studio('/database'), { width: 360, theme: 'dark' });
    await page.getByRole('link', { name: 'notes' }).waitFor();
    expect([await listBarriers(page), await isTooWide(page)]).toEqual([[], false]);
    await page.getByRole('link', { name: 'notes' }).click();
    await page.getByRole('button', { name: 'Show row 1', exact: true }).waitFor();
    expect([await listBarriers(page), await isTooWide(page)]).toEqual([[], false]);
    await page.getByRole('tab', { name: 'Query' }).click();
    await page.getByLabel('Statement').fill('table notes');
    await page.getByLabel('Statement').press('Control+Enter');
    await page.getByRole('region', { name: 'Result' }).waitFor();
    expect([await listBarriers(page), await isTooWide(page)]).toEqual([[], false]);
  });
});

test('a table has one name in the address, whatever dots are in it', () => {
  for (const [schema, table, name] of [
    ['public', 'notes', 'notes'],
    ['public', 'a.b', 'public.a.b'],
    ['sales', 'orders', 'sales.orders'],
    ['a.%2E', 'b.c', 'a%2E%252E.b.c'],
  ] as const) {
    expect(formatTableName({ schema, table })).toBe(name);
    expect(parseTableName(name)).toEqual({ schema, table });
  }
});

test('conditions of an address that are none are left to the box', () => {
  expect(parseConditions('[{"column":"id","is":"eq","value":3},{"column":"x","is":"toString","value":"1"},4]')).toEqual(
    [{ column: 'id', is: 'eq', value: '3' }],
  );
  expect([parseConditions('{'), parseConditions(undefined), formatConditions([])]).toEqual([[], [], undefined]);
});

test('rows are copied as CSV and as JSON with nothing lost', () => {
  const columns = [{ name: 'a' }, { name: 'a' }];
  const rows = [
    [null, ''],
    ['x,"y"\nz', { n: 1 }],
  ];
  expect(toCsv(columns, rows)).toBe('a,a\r\n,""\r\n"x,""y""\nz","{""n"":1}"\r\n');
  expect(JSON.parse(toJson(columns, rows))).toEqual([
    { a: null, 'a (2)': '' },
    { a: 'x,"y"\nz', 'a (2)': { n: 1 } },
  ]);
});

test('a place in a text is found by the characters before it', () => {
  expect(toTextPlace('select 𝒳\n  bad from', 12)).toMatchObject({ line: 2, column: 3, around: ['  ', 'bad', ' from'] });
  expect(toTextPlace('\nx', 1)).toMatchObject({ line: 1, column: 1, from: 0 });
  expect(toTextPlace('x', 99)).toMatchObject({ line: 1, column: 2, around: ['x', '', ''] });
});
