import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { BoxOptions } from '../src/box/options.ts';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { OWNER } from '../src/auth/caller.ts';
import { openDatabase } from '../src/stores/database.ts';
import type { Database } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import { svc } from '../src/svc.ts';
import { createTestBox, model } from '../src/testing.ts';
import { startEmbeddingServer } from './_embedding-server.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { describeWhen, realServers } from './require.ts';
import { call, runWorkflow, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

interface Hit {
  documentId: string;
  title: string | null;
  text: string;
  score: number;
  vectorRank: number | null;
  textRank: number | null;
  similarity: number | null;
  place: { headings: string[]; start: number; end: number; line: number; page: number | null };
}
interface Answered {
  code: string;
  message: string;
  details?: Record<string, unknown>;
  items: Hit[];
  nextCursor: string | null;
  [member: string]: unknown;
}

const SEARCH = defineTool({ description: 'Search.', inputSchema: z.object({}), execute: () => '' });
const HANDBOOK = `# Handbook

What everybody asks in the first week.

## Leave

Book holidays in the calendar two weeks ahead. Your lead approves them.

### Sick leave

Call before ten. A note of a doctor is needed from the third day.

## Expenses

Hand in receipts by the end of the month. The code of the form is XJ-4711.
`;

let embeddings: EmbeddingServer;
beforeAll(async () => {
  embeddings = await startEmbeddingServer({ 'test/large': 3_000, 'test/huge': 5_000 });
});
afterAll(() => embeddings.close());
beforeEach(() => {
  embeddings.inputs.length = 0;
  embeddings.batches.length = 0;
});

describe('collections on PGlite', () => describeRag({}));

describeWhen(realServers.database, 'collections on Postgres', (url) => {
  const name = `svc_rag_${process.pid}`;
  const options: Partial<BoxOptions> = {};
  let database: Database;
  beforeAll(async () => {
    await administer(url, `create database ${name}`);
    database = openDatabase(openPg(Object.assign(new URL(url), { pathname: `/${name}` }).href));
    await database.ready;
    options.db = database.db;
  });
  afterAll(async () => {
    await database.close();
    await administer(url, `drop database ${name} with (force)`);
  });

  describeRag(options);

  test('a word that stands in many chunks is not looked for beside one that does not', async () => {
    const box = await openBox(options);
    await call(box, 'POST /api/rag/collections', { name: 'common', chunking: { size: 50, overlap: 0 } });
    const parts = Array.from(
      { length: 2_400 },
      (_, n) => `# Part ${n}\n\nThe ${n % 800 === 7 ? 'heron' : 'bird'} ${n}.`,
    );
    await call(box, 'POST /api/rag/collections/common/documents', { id: 'birds', text: parts.join('\n\n') });
    await untilState(box, '/api/rag/collections/common/documents/birds', 'ready');
    await database.client.exec('analyze');
    const found = async (query: string) => {
      const body = { query, mode: 'text', topK: 50 };
      return (await call<Answered>(box, 'POST /api/rag/collections/common/search', body)).body.items;
    };
    expect((await found('the heron')).map(({ text }) => text)).toEqual(
      [7, 807, 1607].map((n) => `# Part ${n}\n\nThe heron ${n}.`),
    );
    // All that there is to look for.
    expect(await found('the bird')).toHaveLength(50);
  });

  test('where the extension is gone, a collection is refused with what to run, and the box serves all else', async () => {
    const role = `svc_rag_role_${process.pid}`;
    const small = `${name}_small`;
    await administer(url, `create role ${role} login password 'small'`);
    await administer(url, `create database ${small}`);
    const address = (of: Partial<URL>) => Object.assign(new URL(url), { pathname: `/${small}`, ...of }).href;
    const first = openDatabase(openPg(address({})));
    await first.ready;
    await first.client.exec(`drop extension vector; grant all on schema svc to ${role};
      grant all on all tables in schema svc to ${role}; grant all on all sequences in schema svc to ${role}`);
    await first.close();
    const opened = openDatabase(openPg(address({ username: role, password: 'small' })));
    onTestFinished(async () => {
      await opened.close();
      await administer(url, `drop database ${small} with (force)`);
      await administer(url, `drop role ${role}`);
    });
    await opened.ready;
    const box = await openBox({ db: opened.db });
    const refused = await call<Answered>(box, 'POST /api/rag/collections', { name: 'handbook' });
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'vector_unavailable', details: { sql: 'create extension vector;' } },
    });
    expect((await call<Answered>(box, 'GET /api/rag/collections')).body.items).toEqual([]);
    expect((await call(box, 'GET /api/runs')).status).toBe(200);
  });
});

function describeRag(options: Partial<BoxOptions>): void {
  let used = 0;
  /** A box, and a collection of its own. */
  const openWith = async (collection: object = {}, more: TestBoxOptions = {}) => {
    const box = await openBox(options, more);
    const name = `notes-${(used += 1)}`;
    const made = await call<Answered>(box, 'POST /api/rag/collections', { name, ...collection });
    expect(made).toMatchObject({ status: 201 });
    embeddings.inputs.length = 0;
    embeddings.batches.length = 0;
    const path = `/api/rag/collections/${name}`;
    return {
      box,
      name,
      made: made.body,
      get: async () => (await call<Answered>(box, `GET ${path}`)).body,
      add: async (document: object) => call<Answered>(box, `POST ${path}/documents`, document),
      /** Adds it and waits until it answers. */
      async put(document: { id: string; text: string; [member: string]: unknown }) {
        const added = await call<Answered>(box, `POST ${path}/documents`, document);
        expect(added).toMatchObject({ status: 202 });
        await untilState(box, `${path}/documents/${encodeURIComponent(document.id)}`, 'ready');
      },
      document: async (id: string) =>
        (await call<Answered>(box, `GET ${path}/documents/${encodeURIComponent(id)}`)).body,
      search: async (query: string, how: object = {}) =>
        (await call<Answered>(box, `POST ${path}/search`, { query, ...how })).body,
      remove: (id: string) => call(box, `DELETE ${path}/documents/${encodeURIComponent(id)}`),
      path,
    };
  };

  test('a collection keeps its model, the dimension the model has, and how documents are cut', async () => {
    const { made, name, box, path } = await openWith({ description: 'For everybody', chunking: { size: 100 } });
    expect(made).toMatchObject({
      name,
      description: 'For everybody',
      chunking: { size: 100, overlap: 50, markdown: true },
      embedding: { model: 'test/words', dimension: 64 },
      index: { state: 'ready', next: null },
      counts: { documents: 0, ready: 0, pending: 0, failed: 0, chunks: 0 },
    });
    expect((await call(box, 'POST /api/rag/collections', { name })).body).toMatchObject({
      code: 'rag_collection_exists',
    });
    const changed = await call(box, `PATCH ${path}`, { description: null, chunking: { overlap: 10 } });
    expect(changed.body).toMatchObject({ description: null, chunking: { size: 100, overlap: 10 } });
    expect((await call(box, `PATCH ${path}`, { chunking: { overlap: 80 } })).body).toMatchObject({
      code: 'rag_collection_invalid',
    });
    expect((await call(box, `DELETE ${path}`)).body).toEqual({ name, deleted: true });
    expect((await call(box, `GET ${path}`)).body).toMatchObject({ code: 'rag_collection_not_found' });
    expect((await call(box, `DELETE ${path}`)).status).toBe(404);
  });

  test('a search finds chunks by meaning and by words, each with its place in the document', async () => {
    const { put, search, document, get } = await openWith();
    await put({ id: 'guide/handbook.md', text: HANDBOOK, title: 'Handbook' });
    const { items } = await search('When does a doctor have to write a note?');
    const [best] = items;
    expect(best).toMatchObject({
      documentId: 'guide/handbook.md',
      title: 'Handbook',
      vectorRank: 1,
      textRank: 1,
      score: 1,
      place: { headings: ['Handbook', 'Leave', 'Sick leave'], line: 9, page: null },
    });
    expect(best?.text).toContain('A note of a doctor');
    expect(HANDBOOK.slice(best?.place.start, best?.place.end)).toBe(best?.text);
    const byWord = await search('xj-4711', { topK: 1 });
    expect(byWord.items[0]?.text).toContain('XJ-4711');
    const shown = await document('guide/handbook.md');
    expect(shown).toMatchObject({ state: 'ready', version: 1, answering: 1, error: null });
    expect(shown.items.map(({ place }) => place.headings.at(-1))).toEqual([
      'Handbook',
      'Leave',
      'Sick leave',
      'Expenses',
    ]);
    expect(await get()).toMatchObject({ counts: { documents: 1, ready: 1, chunks: 4 }, index: { state: 'ready' } });
  });

  test('by words alone no model is asked, and by meaning alone no words count', async () => {
    const { put, search } = await openWith();
    await put({ id: 'a', text: 'The heron stands in the reeds.' });
    await put({ id: 'b', text: 'A grey bird waits for fish.' });
    embeddings.inputs.length = 0;
    const byText = await search('heron', { mode: 'text' });
    expect(byText.items).toMatchObject([
      { documentId: 'a', vectorRank: null, similarity: null, textRank: 1, score: 1 },
    ]);
    expect(embeddings.inputs).toEqual([]);
    const byVector = await search('heron', { mode: 'vector' });
    expect(byVector.items.map(({ documentId, textRank }) => [documentId, textRank])).toEqual([
      ['a', null],
      ['b', null],
    ]);
  });

  test('metadata filters by equality and by one of several, a list by each of its values', async () => {
    const { put, search } = await openWith();
    const text = 'The office opens at nine.';
    await put({ id: 'berlin', text, metadata: { city: 'Berlin', year: 2025, tags: ['hq', 'east'] } });
    await put({ id: 'lisbon', text, metadata: { city: 'Lisbon', year: 2026, open: true } });
    await put({ id: 'nowhere', text });
    const found = async (filter: object) =>
      (await search('office', { filter, topK: 10 })).items.map(({ documentId }) => documentId).sort();
    expect(await found({})).toEqual(['berlin', 'lisbon', 'nowhere']);
    expect(await found({ city: 'Berlin' })).toEqual(['berlin']);
    expect(await found({ tags: 'east' })).toEqual(['berlin']);
    expect(await found({ year: { in: [2025, 2026] }, open: true })).toEqual(['lisbon']);
    expect(await found({ year: '2025' })).toEqual([]);
    expect(await found({ "'; drop table x; --": 'y' })).toEqual([]);
  });

  test('the same id replaces a document, and the old version answers until the new one is embedded', async () => {
    const { add, put, search, document, path, box } = await openWith();
    await put({ id: 'menu', text: 'On Monday there is soup.' });
    const release = embeddings.hold();
    expect((await add({ id: 'menu', text: 'On Monday there is pasta.' })).body).toMatchObject({ version: 2 });
    await until(async () => (await document('menu'))['state'] === 'embedding');
    const meanwhile = await search('soup', { mode: 'text' });
    expect(meanwhile.items.map(({ text }) => text)).toEqual(['On Monday there is soup.']);
    expect(await document('menu')).toMatchObject({ version: 2, answering: 1 });
    release();
    await untilState(box, `${path}/documents/menu`, 'ready');
    expect((await search('soup', { mode: 'text' })).items).toEqual([]);
    expect((await search('pasta', { mode: 'text' })).items).toHaveLength(1);
    embeddings.inputs.length = 0;
    expect((await add({ id: 'menu', text: 'On Monday there is pasta.' })).body).toEqual({
      id: 'menu',
      version: 2,
      state: 'ready',
    });
  });

  test('nothing is embedded twice: not a chunk that is still in a document, nor one that comes back', async () => {
    const { put, remove, search } = await openWith();
    const paragraph = (of: string) => `## ${of}\n\nThe ${of} is described here.\n\n`;
    await put({ id: 'parts', text: `${paragraph('wheel')}${paragraph('axle')}` });
    expect(embeddings.inputs).toHaveLength(2);
    await put({ id: 'parts', text: `${paragraph('wheel')}${paragraph('brake')}` });
    expect(embeddings.inputs).toHaveLength(3);
    expect((await remove('parts')).status).toBe(200);
    expect((await search('wheel')).items).toEqual([]);
    embeddings.inputs.length = 0;
    await put({ id: 'again', text: `${paragraph('axle')}${paragraph('brake')}`, title: 'Another' });
    expect(embeddings.inputs).toEqual([]);
    expect((await search('axle')).items[0]).toMatchObject({ documentId: 'again', title: 'Another' });
  });

  test('a provider that fails for a while is asked again, and one that refuses fails the document', async () => {
    const { add, put, document, box, path, get } = await openWith();
    embeddings.fail(503, 4);
    await put({ id: 'patient', text: 'It comes in the end.' });
    embeddings.fail(400);
    await add({ id: 'refused', text: 'It does not.' });
    await untilState(box, `${path}/documents/refused`, 'failed');
    expect(await document('refused')).toMatchObject({ error: 'The model provider answered 400: Not now.' });
    expect((await get())['counts']).toMatchObject({ documents: 2, ready: 1, failed: 1 });
    await put({ id: 'refused', text: 'It does not.' });
  });

  test('a long document is embedded in batches, each of which is kept', async () => {
    const { add, document, box, path } = await openWith({ chunking: { size: 50, overlap: 0 } });
    const text = Array.from({ length: 250 }, (_, n) => `Paragraph ${n} ${'word '.repeat(40)}\n\n`).join('');
    const release = embeddings.hold();
    await add({ id: 'long', text });
    await until(async () => (await document('long'))['state'] === 'embedding');
    release();
    await until(() => embeddings.batches.length === 1);
    embeddings.fail(400);
    await untilState(box, `${path}/documents/long`, 'failed');
    const kept = embeddings.inputs.length;
    await add({ id: 'long', text });
    await untilState(box, `${path}/documents/long`, 'ready');
    expect(new Set(embeddings.inputs).size).toBe(embeddings.inputs.length);
    expect(embeddings.inputs.length).toBeGreaterThan(kept);
    expect((await document('long'))['chunks']).toBe(embeddings.inputs.length);
  });

  test('a model may have more numbers than an index of vector takes, and not more than any', async () => {
    const { put, search, made } = await openWith({ model: 'test/large' });
    expect(made['embedding']).toEqual({ model: 'test/large', dimension: 3_000 });
    await put({ id: 'big', text: 'A vector of many numbers.' });
    expect((await search('many numbers')).items[0]).toMatchObject({ documentId: 'big', vectorRank: 1 });
    const box = await openBox(options);
    expect(
      (await call<Answered>(box, 'POST /api/rag/collections', { name: 'huge', model: 'test/huge' })).body,
    ).toMatchObject({ code: 'rag_collection_invalid' });
    const asked = await openWith({ model: 'test/huge', dimension: 128 });
    expect(asked.made['embedding']).toEqual({ model: 'test/huge', dimension: 128 });
    await asked.put({ id: 'small', text: 'Fewer numbers.' });
    expect((await asked.search('fewer')).items).toHaveLength(1);
  });

  test('a search answers as many chunks as it is asked for, more than an index looks for by itself', async () => {
    const { put, search } = await openWith({ chunking: { size: 50, overlap: 0 } });
    const text = Array.from({ length: 120 }, (_, n) => `# Item ${n}\n\nThe item number ${n}.\n\n`).join('');
    await put({ id: 'items', text });
    expect((await search('item', { topK: 50, mode: 'vector' })).items).toHaveLength(50);
  });

  test('documents are listed in pages and by state, and their chunks in pages too', async () => {
    const { put, box, path } = await openWith({ chunking: { size: 50, overlap: 0 } });
    for (const id of ['c', 'a', 'b']) await put({ id, text: `# One\n\nText ${id}.\n\n# Two\n\nMore ${id}.` });
    const first = (await call<Answered>(box, `GET ${path}/documents?limit=2&state=ready`)).body;
    const next = (await call<Answered>(box, `GET ${path}/documents?limit=2&cursor=${first.nextCursor}`)).body;
    const ids = [...first.items, ...next.items].map((each) => (each as unknown as { id: string }).id);
    expect([ids, next.nextCursor]).toEqual([['a', 'b', 'c'], null]);
    const chunks = (await call<Answered>(box, `GET ${path}/documents/a?limit=1`)).body;
    const rest = (await call<Answered>(box, `GET ${path}/documents/a?limit=1&cursor=${chunks.nextCursor}`)).body;
    expect([chunks.items[0]?.text, rest.items[0]?.text]).toEqual(['# One\n\nText a.', '# Two\n\nMore a.']);
    expect((await call(box, `GET ${path}/documents/z`)).body).toMatchObject({ code: 'rag_document_not_found' });
  });

  test('code searches, adds and deletes: in a step, and in a workflow body as recorded steps', async () => {
    const inStep = toStep('inStep', async (name: string, query: string) => svc.rag.search(name, query, { topK: 1 }));
    const workflows = {
      inStep: { run: async ({ name }: { name: string }) => inStep(name, 'ferry') },
      inBody: {
        run: async ({ name }: { name: string }) => {
          const hits = await svc.rag.search(name, 'ferry', { mode: 'text' });
          return [hits.length, await svc.rag.delete(name, 'ferry'), await svc.rag.delete(name, 'ferry')];
        },
      },
      add: { run: async ({ name }: { name: string }) => svc.rag.add(name, { id: 'tram', text: 'The tram is late.' }) },
      missing: {
        run: async () => svc.rag.search('nothing', 'x').catch((error: { code: string }) => error.code),
      },
      wrong: {
        run: async () => svc.rag.search('nothing', '', { topK: 99 }).catch((error: Error) => error.message),
      },
    };
    const { box, name, put, path, document } = await openWith({}, { workflows });
    await put({ id: 'ferry', text: 'The ferry leaves at noon.' });
    const run = async (workflow: string) => (await runWorkflow(box, workflow, { name }))['output'];
    expect(await run('inStep')).toMatchObject([{ documentId: 'ferry', place: { line: 1 } }]);
    expect(await run('inBody')).toEqual([1, true, false]);
    expect(await run('add')).toEqual({ id: 'tram', version: 1, state: 'queued' });
    await untilState(box, `${path}/documents/tram`, 'ready');
    expect(await document('tram')).toMatchObject({ addedBy: 'workflow add' });
    expect(await run('missing')).toBe('rag_collection_not_found');
    expect(await run('wrong')).toContain('svc.rag.search()');
  });

  test('another box takes a document over whose process is gone, and one that ends puts it back', async () => {
    const { box, name, path } = await openWith({}, { options: { rag: { everyMs: 20, leaseMs: 60_000 } } });
    const release = embeddings.hold();
    await call(box, `POST ${path}/documents`, { id: 'left', text: 'Left behind.' });
    await until(async () => (await call<Answered>(box, `GET ${path}/documents/left`)).body['state'] === 'embedding');
    await box.shut();
    release();
    const other = await openBox(options);
    await untilState(other, `/api/rag/collections/${name}/documents/left`, 'ready');
  });
}

test('what a collection is given is bounded, and who may change what is by permission', async () => {
  const box = await openBox({});
  const refused = async (body: object) => (await call(box, 'POST /api/rag/collections', body)).status;
  expect(await refused({ name: 'Upper' })).toBe(400);
  expect(await refused({ name: 'x', chunking: { size: 10 } })).toBe(400);
  expect(await refused({ name: 'x', chunking: { size: 100, overlap: 90 } })).toBe(400);
  const none = await openBox({ embeddingModel: () => undefined });
  expect((await call(none, 'POST /api/rag/collections', { name: 'x' })).body).toMatchObject({
    code: 'model_not_selected',
  });
  expect((await call(box, 'POST /api/rag/collections/none/search', { query: 'x' })).body).toMatchObject({
    code: 'rag_collection_not_found',
  });
  for (const document of [{ id: '..' }, { id: '' }, { id: 'x', metadata: { a: { b: 1 } } }, { id: 'x', text: '' }])
    expect((await call(box, 'POST /api/rag/collections/none/documents', { text: 'x', ...document })).status).toBe(400);
  const as = async (role: 'member' | 'viewer') =>
    openBox({ strategy: { authenticate: async () => ({ ...OWNER, role }) } as never });
  const member = await as('member');
  expect((await call(member, 'POST /api/rag/collections', { name: 'x' })).status).toBe(403);
  expect((await call(member, 'POST /api/rag/collections/none/documents', { id: 'x', text: 'x' })).status).toBe(404);
  expect((await call(await as('viewer'), 'GET /api/rag/collections')).status).toBe(403);
  expect((await call<{ capabilities: string[] }>(box, 'GET /api/contract')).body.capabilities).toContain('rag.basic');
});

test('an agent looks things up by the collections its definition names, and says where they stand', async () => {
  const librarian = defineDeepAgent({ name: 'librarian', knowledge: ['handbook', 'missing'] });
  const asked = { name: 'search_knowledge', args: { query: 'doctor note sick' } };
  const box = await createTestBox({
    agents: { librarian },
    model: [model.reply({ toolCalls: [asked] }), model.reply('From the third day.')],
  });
  onTestFinished(() => box.close());
  const post = (path: string, body: object) =>
    box.request(`/api/rag/collections${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await post('', { name: 'handbook', model: 'test/words' })).status).toBe(201);
  await post('/handbook/documents', { id: 'leave.md', text: HANDBOOK, title: 'Leave' });
  await until(async () => {
    const answer = await box.request('/api/rag/collections/handbook/documents/leave.md');
    return ((await answer.json()) as Answered)['state'] === 'ready';
  });
  await box.agent('librarian').send('When do I need a note?');
  const said = JSON.stringify(box.model.asked[1]?.messages.at(-1));
  expect(said).toContain('handbook/leave.md:9');
  expect(said).toContain('Handbook > Leave > Sick leave > line 9');
  expect(said).toContain('There is no collection \\\\\\"missing\\\\\\" in this box');
});

test.each([
  [{ knowledge: 'handbook' as never }, 'must be a list'],
  [{ knowledge: ['Hand Book'] }, 'names the collection "Hand Book"'],
  [{ knowledge: ['a', 'a'] }, 'twice'],
  [{ knowledge: ['a'], tools: { search_knowledge: SEARCH } }, 'a built-in one that "knowledge" switches on'],
])('an agent that names what is no collection is refused: %j', (part, message) => {
  expect(() => defineDeepAgent({ name: 'a', ...part })).toThrow(message);
});

// --- internal ---

function openBox(options: Partial<BoxOptions>, more: TestBoxOptions = {}): Promise<TestBox> {
  return boxes.open({
    provider: { baseUrl: embeddings.url, apiKey: 'provider-key' },
    ...more,
    options: {
      embeddingModel: () => 'test/words',
      rag: { everyMs: 20, pauseMs: 10 },
      engine: { sweepMs: 20 },
      ...options,
      ...more.options,
    },
  });
}

async function untilState(box: TestBox, path: string, state: string): Promise<void> {
  await until(async () => (await call<Answered>(box, `GET ${path}`)).body['state'] === state, 60_000);
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
