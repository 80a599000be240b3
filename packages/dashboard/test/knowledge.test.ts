import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEmbeddingServer } from '../../runtime/test/_embedding-server.ts';
import type { EmbeddingServer } from '../../runtime/test/_embedding-server.ts';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const HANDBOOK = `# Handbook

What everybody asks in the first week.

## Leave

Book holidays in the calendar two weeks ahead. Your lead approves them.

### Sick leave

Call before ten. A note of a doctor is needed from the third day.

## Expenses

Hand in receipts by the end of the month. The code of the form is XJ-4711.
`;

describeWhen(browser, 'Knowledge', (path) => {
  let embeddings: EmbeddingServer;
  const provider = { baseUrl: '', apiKey: 'provider-key' };
  beforeAll(async () => {
    embeddings = await startEmbeddingServer();
    provider.baseUrl = embeddings.url;
  });
  afterAll(() => embeddings.close());
  const served = serveBox({
    provider,
    options: { embeddingModel: () => 'test/words', rag: { everyMs: 20, pauseMs: 10 }, engine: { sweepMs: 20 } },
  });
  const open = openBrowser(path);
  const show = (place: string) => open(served().studio(place));
  const ask = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> =>
    (await call<T>(served().box, route, body)).body;
  const make = async (name: string, texts: Record<string, string> = {}) => {
    await ask('POST /api/rag/collections', { name });
    for (const [id, text] of Object.entries(texts))
      await ask(`POST /api/rag/collections/${name}/documents`, { id, text });
    const read = () => ask<{ index: { state: string } }>(`GET /api/rag/collections/${name}`);
    await expect.poll(async () => (await read()).index.state, { timeout: 20_000 }).toBe('ready');
  };

  test('a collection is made, given a document, followed until it is embedded, searched, changed and deleted', async () => {
    const page = await show('/knowledge');
    // The server of this test has no list of models.
    allowComplaint(page, /Failed to load resource/);
    await page.getByText('There is no collection yet').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'New collection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('handbook');
    await dialog.getByLabel('Description').fill('What everybody asks');
    await dialog.getByLabel('Tokens of a chunk').fill('100');
    await dialog.getByLabel('Tokens repeated').fill('10');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create' }).press('Enter');
    await page.getByRole('heading', { name: 'handbook' }).waitFor();
    await page.getByText('There is no document yet').waitFor();
    await page.getByText('chunks of 100 tokens, 10 repeated').waitFor();
    expect(await listBarriers(page)).toEqual([]);

    const release = embeddings.hold();
    await page.getByRole('button', { name: 'Add a document' }).click();
    await dialog.getByLabel('Id').fill('guide/handbook.md');
    await dialog.getByLabel('Title').fill('The handbook');
    await dialog.getByLabel('Text').fill(HANDBOOK);
    await dialog.getByLabel('Metadata').fill('{"team": ');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.getByRole('alert').getByText('The metadata is not JSON').waitFor();
    await dialog.getByLabel('Metadata').fill('{"team": "people"}');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByText('guide/handbook.md is being embedded.').waitFor();
    await page.getByText('embedding 1').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    release();
    // Without anyone asking again.
    await page.getByRole('row', { name: /guide\/handbook.md The handbook ready 4/ }).waitFor();
    await page.getByText('1 document, 4 chunks').waitFor();

    await page.getByRole('button', { name: 'guide/handbook.md', exact: true }).click();
    await dialog.getByText('Handbook › Leave › Sick leave › line 9').waitFor();
    await dialog.getByRole('tree').getByText('team').waitFor();
    expect(await dialog.getByRole('listitem').count()).toBe(4);
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('tab', { name: 'Search' }).click();
    await page.getByLabel('What is looked for').fill('When does a doctor have to write a note?');
    await page.getByLabel('What is looked for').press('Enter');
    const found = page.getByRole('list', { name: 'Found' }).getByRole('listitem');
    await found.first().getByText('A note of a doctor').waitFor();
    await found.first().getByText('Handbook › Leave › Sick leave › line 9').waitFor();
    await found
      .first()
      .getByText(/score 1\.000 · #1 by meaning \(similarity 0\.\d{3}\) · #1 by words/)
      .waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'knowledge-search');
    await page.getByLabel('How').selectOption('text');
    await page.getByLabel('What is looked for').fill('xj-4711');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await found.first().getByText('XJ-4711').waitFor();
    expect(await found.count()).toBe(1);
    expect(await found.first().innerText()).not.toContain('similarity');
    await page.getByLabel('Filter').fill('{"team": "billing"}');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('Nothing was found').waitFor();
    await page.getByLabel('Filter').fill('["people"]');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('alert').getByText('The filter is no object.').waitFor();
    await page.getByLabel('Filter').fill('{"team": "people"}');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await found.first().getByRole('button', { name: 'The handbook' }).click();
    await dialog.getByText('Chunks', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    await dialog.getByLabel('Tokens of a chunk').fill('200');
    await dialog.getByLabel('Description').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('chunks of 200 tokens, 10 repeated').waitFor();
    expect(await ask('GET /api/rag/collections/handbook')).toMatchObject({ description: null });

    await page.getByRole('tab', { name: 'Documents' }).click();
    await page.getByRole('button', { name: 'Delete guide/handbook.md' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no document yet').waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/studio/knowledge');
    await page.getByText('There is no collection yet').waitFor();
    expect(await ask('GET /api/rag/collections/handbook')).toMatchObject({ code: 'rag_collection_not_found' });
  });

  test('a collection is given a rerank model, which its searches say, and is relieved of it', async () => {
    const page = await show('/knowledge');
    allowComplaint(page, /Failed to load resource/);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New collection' }).click();
    await dialog.getByLabel('Name').fill('ranked');
    await dialog.getByLabel('Rerank model').fill('r'.repeat(201));
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('invalid_request').waitFor();
    await dialog.getByLabel('Rerank model').fill('test/rerank');
    await keepPicture(page, 'knowledge-rerank-form');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('reranked by test/rerank').waitFor();
    expect(await ask('GET /api/rag/collections/ranked')).toMatchObject({ rerankModel: 'test/rerank' });
    for (const [id, text] of [
      ['heron', 'The heron stands in the reeds.'],
      ['otter', 'In the reeds the otter stands still.'],
    ])
      await ask('POST /api/rag/collections/ranked/documents', { id, text });
    const read = () => ask<{ counts: { ready: number } }>('GET /api/rag/collections/ranked');
    await expect.poll(async () => (await read()).counts.ready, { timeout: 20_000 }).toBe(2);

    await page.getByRole('tab', { name: 'Search' }).click();
    const found = page.getByRole('list', { name: 'Found' }).getByRole('listitem');
    const search = async (query: string) => {
      await page.getByLabel('What is looked for').fill(query);
      await page.getByLabel('What is looked for').press('Enter');
    };
    await search('the otter stands');
    await page.getByText('Put in its order by test/rerank').waitFor();
    await found
      .first()
      .getByText(/^rerank 1\.000 · score/)
      .waitFor();
    embeddings.failRerank(400);
    await search('the heron stands');
    await page.getByText('Left in the order of the search by test/rerank: The model provider answered 400').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'knowledge-rerank-failed-narrow');

    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    expect(await dialog.getByLabel('Rerank model').inputValue()).toBe('test/rerank');
    await dialog.getByLabel('Rerank model').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('reranked by').waitFor({ state: 'detached' });
    expect(await ask('GET /api/rag/collections/ranked')).toMatchObject({ rerankModel: null });
    await ask('DELETE /api/rag/collections/ranked');
  });

  test('what failed says why, and can be looked at alone', async () => {
    await make('notes', { good: 'The heron stands in the reeds.' });
    embeddings.fail(400, 1_000);
    await ask('POST /api/rag/collections/notes/documents', { id: 'bad', text: 'The otter swims.' });
    const page = await show('/knowledge/notes');
    await page.getByText('1 failed').waitFor();
    await page.getByRole('row', { name: /bad failed .*400/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByLabel('State').selectOption('failed');
    await page.getByRole('row', { name: /good/ }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?state=failed');
    await page.getByLabel('State').selectOption('embedding');
    await page.getByText('No document is being embedded').waitFor();
    embeddings.fail(0, 0);
    await page.goto(served().studio('/knowledge'));
    await page.getByRole('row', { name: /notes ready 1 failed 2/ }).waitFor();
  });

  test('files are added, each with what became of it', async () => {
    await make('files');
    const page = await show('/knowledge/files');
    allowComplaint(page, /Failed to load resource/);
    const choose = async (...files: { name: string; mimeType: string; text: string }[]) =>
      page
        .getByLabel('Files to add')
        .setInputFiles(files.map(({ text, ...file }) => ({ ...file, buffer: Buffer.from(text) })));
    await choose(
      { name: 'Büro & mehr.md', mimeType: 'text/markdown', text: HANDBOOK },
      { name: 'offices.json', mimeType: 'application/json', text: '[{"city":"Vienna"}]' },
      { name: 'broken.pdf', mimeType: 'application/pdf', text: 'It is none.' },
    );
    await page.getByText('All files are read').waitFor();
    const files = page.getByRole('list', { name: 'Files' }).getByRole('listitem');
    expect(
      (await files.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').split('.').slice(0, 2).join('.')),
    ).toEqual(['Büro & mehr.md added', 'offices.json added', expect.stringMatching(/^broken.pdf failed .+/)]);
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('row', { name: /Büro & mehr\.md .*ready 4/ }).waitFor();
    await choose({ name: 'offices.json', mimeType: 'application/json', text: '[{"city":"Vienna"}]' });
    await files.last().getByText('is the same as it was').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    expect(await files.count()).toBe(0);
  });

  test('a collection is re-embedded, with how far it is and what keeps it', async () => {
    await make('anew', { heron: 'The heron stands in the reeds.', otter: 'The otter swims.' });
    const page = await show('/knowledge/anew');
    allowComplaint(page, /Failed to load resource/);
    const dialog = page.getByRole('dialog');
    const embed = async (model: string) => {
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Re-embed' }).click();
      await dialog.getByLabel('Embedding model').fill(model);
      expect(await listBarriers(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Embed', exact: true }).click();
    };
    embeddings.fail(400);
    await embed('test/refused');
    await dialog.getByRole('alert').getByText('answered 400').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    embeddings.fail(400, 1_000, { model: 'test/next', text: 'otter' });
    const release = embeddings.hold({ model: 'test/next', text: 'heron' });
    await embed('test/next');
    await page.getByText('It is being re-embedded').waitFor();
    await page.getByText('0 of 2 documents').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'knowledge-anew');
    release();
    await page.getByText('It could not be re-embedded').waitFor();
    await page.getByText('1 of 2 documents, 1 failed').waitFor();
    await page.getByText('otter: The model provider answered 400: Not now.').waitFor();
    await page.getByText('Searches are answered by test/words').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'knowledge-stopped');
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'knowledge-stopped-narrow');
    embeddings.fail(0, 0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('It could not be re-embedded').waitFor({ state: 'detached' });
    await page.getByText('It is being re-embedded').waitFor({ state: 'detached' });
    await page.getByText('test/next, 64 numbers').waitFor();
    expect(await ask('GET /api/rag/collections/anew')).toMatchObject({ embedding: { model: 'test/next' } });
  });

  test('what is gone, and what the box refuses, is said', async () => {
    await make('taken');
    const page = await show('/knowledge/nothing');
    allowComplaint(page, /Failed to load resource/);
    await page.getByText('rag_collection_not_found').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.goto(served().studio('/knowledge'));
    await page.getByRole('button', { name: 'New collection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('taken');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('rag_collection_exists').waitFor();
  });

  test.each(['dark', 'narrow'] as const)('is whole on a %s page', async (how) => {
    await make(`whole-${how}`, { 'guide/handbook.md': HANDBOOK });
    const look = how === 'dark' ? { theme: 'dark' as const } : { width: 360, height: 740 };
    const page = await open(served().studio('/knowledge'), look);
    allowComplaint(page, /Failed to load resource/);
    const isWhole = async () => {
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
    };
    await page.getByRole('link', { name: `whole-${how}` }).waitFor();
    await isWhole();
    await page.getByRole('button', { name: 'New collection' }).click();
    await isWhole();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: `whole-${how}` }).click();
    await page.getByRole('button', { name: 'guide/handbook.md', exact: true }).waitFor();
    await isWhole();
    await page.getByRole('button', { name: 'guide/handbook.md', exact: true }).click();
    await page.getByRole('dialog').getByText('XJ-4711').waitFor();
    await isWhole();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('tab', { name: 'Search' }).click();
    await page.getByLabel('What is looked for').fill('receipts');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('list', { name: 'Found' }).waitFor();
    await isWhole();
  });
});
