import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { BoxOptions } from '../src/box/options.ts';
import { OWNER } from '../src/auth/caller.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { openDatabase } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { useDatabase } from './_database.ts';
import { startEmbeddingServer } from './_embedding-server.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { describeWhen, realServers } from './require.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

interface Shown {
  code: string;
  message: string;
  embedding: { model: string; dimension: number };
  index: { state: string; next: { model: string; state: string; documents: number; error: string | null } | null };
  counts: { documents: number; ready: number; failed: number; chunks: number };
  items: { documentId: string; text: string; chunk: number }[];
}

const boxes = setupBoxes();
const dimensions: Record<string, number> = { 'test/large': 96, 'test/moody': 64 };
let embeddings: EmbeddingServer;
beforeAll(async () => {
  embeddings = await startEmbeddingServer(dimensions);
});
afterAll(() => embeddings.close());
beforeEach(() => embeddings.clear());

describe('a collection that is re-embedded, on PGlite', () => {
  const { client, isBlank } = useDatabase();
  const db = createDrizzle(client, client.ready);
  describeReindex({ db, isBlank }, async () => (await client.query<{ relname: string }>(CHUNK_TABLES)).length);
});

describeWhen(realServers.database, 'a collection that is re-embedded, on Postgres', (url) => {
  const options: Partial<BoxOptions> = {};
  let close: () => Promise<void>;
  let client: ReturnType<typeof openPg>;
  beforeAll(async () => {
    const made = await createDatabase(url);
    client = openPg(made.url);
    const database = openDatabase(client);
    await database.ready;
    options.db = database.db;
    close = async () => {
      await database.close();
      await made.drop();
    };
  });
  afterAll(() => close());
  describeReindex(options, async () => (await client.query(CHUNK_TABLES)).length);
});

function describeReindex(options: Partial<BoxOptions>, countTables: () => Promise<number>): void {
  let used = 0;
  /** A box, and a collection of its own with these documents. */
  const openWith = async (
    texts: Record<string, string>,
    { model = 'test/words', rag = {}, chunking }: { model?: string; rag?: BoxOptions['rag']; chunking?: object } = {},
  ) => {
    const box = await openBox({ ...options, rag: { everyMs: 20, pauseMs: 10, ...rag } });
    const path = `/api/rag/collections/again-${(used += 1)}`;
    const name = path.split('/').at(-1);
    expect((await call(box, 'POST /api/rag/collections', { name, model, chunking })).status).toBe(201);
    const get = async () => (await call<Shown>(box, `GET ${path}`)).body;
    const add = async (id: string, text: string) =>
      expect((await call(box, `POST ${path}/documents`, { id, text })).status).toBe(202);
    const isReady = async () => (await get()).index.state === 'ready';
    for (const [id, text] of Object.entries(texts)) await add(id, text);
    await until(isReady, 20_000);
    return {
      box,
      path,
      get,
      add,
      untilReady: () => until(isReady, 20_000),
      reindex: (body: object = {}) => call<Shown>(box, `POST ${path}/reindex`, body),
      search: (query: string, how: object = {}) => call<Shown>(box, `POST ${path}/search`, { query, ...how }),
      remove: (id: string) => call(box, `DELETE ${path}/documents/${id}`),
    };
  };

  test(
    'switches at the end, with searches running all the while of which none fails',
    { timeout: 60_000 },
    async () => {
      const { reindex, search, get, add, remove, untilReady } = await openWith(numbered(12));
      const tables = await countTables();
      const answers: { status: number; found: string | undefined }[] = [];
      const over = new AbortController();
      const searching = (async () => {
        for (let n = 0; !over.signal.aborted; n++) {
          const mode = (['hybrid', 'vector', 'text'] as const)[n % 3];
          const { status, body } = await search('paper 7', { mode, topK: 1 });
          answers.push({ status, found: body.items?.[0]?.documentId });
        }
      })();
      for (const model of ['test/large', 'test/small', 'test/words']) {
        const release = embeddings.hold({ model, text: 'Paper number' });
        const begun = await reindex({ model });
        expect(begun).toMatchObject({
          status: 202,
          body: { index: { state: 'reindexing', next: { model, ready: 0 } } },
        });
        const sofar = answers.length;
        await until(() => answers.length > sofar + 6);
        release();
        await untilReady();
        expect((await get()).embedding.model).toBe(model);
      }
      // Added and taken away while it is re-embedded.
      const release = embeddings.hold({ model: 'test/large', text: 'Paper number' });
      await reindex({ model: 'test/large' });
      await add('late', 'Paper number 1000 came late.');
      await add('paper-3', 'Paper number 3 is written anew.');
      expect((await remove('paper-5')).status).toBe(200);
      expect((await get()).index.next?.documents).toBe(12);
      release();
      await untilReady();
      over.abort();
      await searching;
      expect(answers.filter(({ status, found }) => status !== 200 || found !== 'paper-7')).toEqual([]);
      expect(await get()).toMatchObject({
        embedding: { model: 'test/large', dimension: 96 },
        counts: { documents: 12, ready: 12, chunks: 12 },
      });
      const found = async (query: string) => (await search(query, { mode: 'text', topK: 1 })).body.items[0]?.documentId;
      expect([await found('late'), await found('anew'), await found('5')]).toEqual(['late', 'paper-3', undefined]);
      await until(async () => (await countTables()) === tables);
    },
  );

  test('a search that began before the switch, and is asked for its vector after it, is answered', async () => {
    const { reindex, search, untilReady } = await openWith(numbered(3));
    const tables = await countTables();
    const release = embeddings.hold({ model: 'test/words', text: 'slow' });
    const slow = search('slow paper 2', { topK: 3 });
    await until(() => embeddings.waiting() === 1);
    await reindex({ model: 'test/quick' });
    await untilReady();
    await until(async () => (await countTables()) === tables);
    release();
    expect(await slow).toMatchObject({ status: 200 });
    expect((await slow).body.items).toHaveLength(3);
    expect(embeddings.inputsOf('test/quick')).toContain('slow paper 2');
  });

  test('nothing is found of a collection as it was that another box has deleted and made again', async () => {
    const { box, path, search } = await openWith(numbered(3));
    expect((await search('paper 2', { topK: 1 })).body.items[0]?.text).toBe(
      'Paper number 2 is about the subject 15838.',
    );
    const other = await openBox({ ...options, rag: { everyMs: 20 } });
    const name = path.split('/').at(-1);
    await call(other, `DELETE ${path}`);
    expect(await search('paper 2')).toMatchObject({ status: 404, body: { code: 'rag_collection_not_found' } });
    await call(other, 'POST /api/rag/collections', { name, model: 'test/large' });
    await call(other, `POST ${path}/documents`, { id: 'new', text: 'Paper 2 is another.' });
    await until(async () => (await call<Shown>(other, `GET ${path}`)).body.counts.ready === 1, 20_000);
    for (const mode of ['hybrid', 'vector', 'text'])
      expect((await search('paper 2', { mode })).body.items.map(({ text }) => text)).toEqual(['Paper 2 is another.']);
    // Deleted and made again between two searches.
    await call(other, `DELETE ${path}`);
    await call(other, 'POST /api/rag/collections', { name, model: 'test/words' });
    for (const mode of ['hybrid', 'text']) expect((await search('paper 2', { mode })).body.items).toEqual([]);
    await call(box, `DELETE ${path}`);
    expect((await search('paper 2')).status).toBe(404);
  });

  test('what was embedded under a model once is not asked for again', async () => {
    const { reindex, untilReady } = await openWith(numbered(5));
    await reindex({ model: 'test/once' });
    await untilReady();
    // One of them is the question how many numbers it gives.
    expect(embeddings.inputsOf('test/once')).toHaveLength(6);
    await reindex({ model: 'test/words' });
    await untilReady();
    await reindex({ model: 'test/once' });
    await untilReady();
    expect(embeddings.inputsOf('test/once')).toHaveLength(7);
  });

  test('is cut as the collection says by now', async () => {
    const text = Array.from({ length: 12 }, (_, n) => `Paragraph ${n}. ${'Some words. '.repeat(12)}\n\n`).join('');
    const { box, path, reindex, get, untilReady } = await openWith({ long: text }, { chunking: { size: 500 } });
    const before = (await get()).counts.chunks;
    await call(box, `PATCH ${path}`, { chunking: { size: 60, overlap: 0 } });
    expect((await get()).counts.chunks).toBe(before);
    await reindex();
    await untilReady();
    expect((await get()).counts.chunks).toBeGreaterThan(before * 3);
    expect((await get()).embedding.model).toBe('test/words');
  });

  test(
    'is cut as the collection says in the end, whatever was under way when that changed',
    { timeout: 60_000 },
    async () => {
      const text = Array.from({ length: 8 }, (_, n) => `Paragraph ${n}. ${'Some words. '.repeat(12)}\n\n`).join('');
      const { box, path, reindex, get, untilReady } = await openWith({ long: text }, { chunking: { size: 2_000 } });
      expect((await get()).counts.chunks).toBe(1);
      const releaseLong = embeddings.hold({ model: 'test/cut', text: 'Paragraph' });
      await reindex({ model: 'test/cut' });
      await until(() => embeddings.waiting() === 1);
      const releaseShort = embeddings.hold({ model: 'test/cut', text: 'Paragraph' });
      expect((await call(box, `PATCH ${path}`, { chunking: { size: 60, overlap: 0 } })).status).toBe(200);
      // Another takes it, while the one that has cut it as it was is still there.
      await until(() => embeddings.waiting() === 2);
      const before = embeddings.inputsOf('test/cut').length;
      releaseLong();
      await until(() => embeddings.inputsOf('test/cut').length > before);
      expect((await get()).embedding.model).toBe('test/words');
      releaseShort();
      await untilReady();
      expect(await get()).toMatchObject({
        embedding: { model: 'test/cut' },
        counts: { documents: 1, ready: 1, chunks: 8 },
      });
    },
  );

  test('goes on as it is where the chunking is changed to what it was', async () => {
    const { box, path, reindex, get, untilReady } = await openWith(numbered(3), {
      chunking: { size: 100, overlap: 10 },
    });
    embeddings.fail(400, 1_000, { model: 'test/same', text: 'Paper number 2' });
    await reindex({ model: 'test/same' });
    await until(async () => (await get()).index.next?.state === 'stopped');
    await call(box, `PATCH ${path}`, { description: 'Papers', chunking: { size: 100, overlap: 10, markdown: true } });
    expect((await get()).index.next).toMatchObject({ state: 'stopped', ready: 2, failed: 1 });
    embeddings.fail(0, 0);
    // What it could not embed as it was cut may be embedded otherwise.
    await call(box, `PATCH ${path}`, { chunking: { size: 120 } });
    await untilReady();
    expect((await get()).embedding.model).toBe('test/same');
  });

  test('a second one to the same model goes on, one to another takes its place, and the own model calls it off', async () => {
    const { reindex, get, untilReady } = await openWith(numbered(6), { rag: { leaseMs: 300 } });
    const next = async () => (await get()).index.next;
    const release = embeddings.hold({ text: 'Paper number' });
    await reindex({ model: 'test/first' });
    const first = await next();
    await reindex({ model: 'test/first' });
    expect(await next()).toEqual(first);
    await reindex({ model: 'test/second', dimension: 32 });
    expect(await next()).toMatchObject({ model: 'test/second', dimension: 32, documents: 6 });
    const second = await next();
    await reindex({ model: 'test/second' });
    expect(await next()).toEqual(second);
    await reindex();
    expect(await next()).toMatchObject({ model: 'test/words', dimension: 64 });
    await untilReady();
    expect(await get()).toMatchObject({ embedding: { model: 'test/words', dimension: 64 }, counts: { ready: 6 } });
    release();
    expect(embeddings.inputsOf('test/second')).not.toContain('Paper number 5 is about the subject 39595.');
  });

  test('the error of the new model is shown, what answered goes on to, and a second one tries again', async () => {
    const { reindex, search, get, untilReady } = await openWith(numbered(3));
    embeddings.fail(400);
    expect((await reindex({ model: 'test/wrong' })).body).toMatchObject({
      code: 'model_provider_failed',
      message: 'The model provider answered 400: Not now.',
    });
    expect((await get()).index).toEqual({ state: 'ready', next: null });
    embeddings.fail(400, 1_000, { model: 'test/wrong', text: 'Paper number 2' });
    await reindex({ model: 'test/wrong' });
    await until(async () => (await get()).index.next?.state === 'stopped');
    expect(await get()).toMatchObject({
      embedding: { model: 'test/words' },
      counts: { ready: 3, failed: 0 },
      index: {
        state: 'reindexing',
        next: {
          documents: 3,
          ready: 2,
          failed: 1,
          error: 'paper-2: The model provider answered 400: Not now.',
        },
      },
    });
    expect((await search('paper 2', { topK: 1 })).body.items[0]?.documentId).toBe('paper-2');
    embeddings.fail(0, 0);
    await reindex({ model: 'test/wrong' });
    await untilReady();
    expect((await get()).embedding.model).toBe('test/wrong');
    expect(embeddings.inputsOf('test/wrong').filter((text) => text.startsWith('Paper'))).toHaveLength(3);
  });

  test('a document that fails and that none finds does not keep the others from the new model', async () => {
    const { reindex, get, add, untilReady } = await openWith(numbered(2));
    embeddings.fail(400, 1_000, { text: 'refused' });
    await add('refused', 'It is refused by all.');
    await until(async () => (await get()).counts.failed === 1);
    await reindex({ model: 'test/third' });
    await untilReady();
    expect(await get()).toMatchObject({ embedding: { model: 'test/third' }, counts: { ready: 2, failed: 1 } });
    embeddings.fail(0, 0);
  });

  test('what is added meanwhile is embedded first, for what answers', async () => {
    const { reindex, add, untilReady } = await openWith(numbered(8), { rag: { atOnce: 1 } });
    const release = embeddings.hold({ model: 'test/fourth', text: 'Paper number' });
    await reindex({ model: 'test/fourth' });
    await until(() => embeddings.waiting() > 0);
    const before = embeddings.inputs.length;
    await add('urgent', 'It cannot wait.');
    release();
    await untilReady();
    expect(embeddings.inputs.slice(before)[1]).toBe('It cannot wait.');
  });

  test('a document that a model gives other numbers for than the collection has fails once, and says what to run', async () => {
    const { box, path, reindex, get, add, search, untilReady } = await openWith(numbered(2), { model: 'test/moody' });
    onTestFinished(() => void (dimensions['test/moody'] = 64));
    dimensions['test/moody'] = 32;
    // Another collection has the same text, of the model as it is now.
    const other = `${path}-too`;
    await call(box, 'POST /api/rag/collections', { name: other.split('/').at(-1), model: 'test/moody' });
    await call(box, `POST ${other}/documents`, { id: 'same', text: numbered(2)['paper-1'] });
    const isReady = async (of: string) => (await call<Shown>(box, `GET ${of}`)).body.index.state === 'ready';
    await until(() => isReady(other), 20_000);
    await add('late', 'Paper number 9 came late.');
    await until(async () => (await get()).counts.failed === 1);
    const asked = embeddings.inputsOf('test/moody').filter((text) => text.includes('came late')).length;
    expect(asked).toBe(1);
    const late = (await call<{ error: string }>(box, `GET ${path}/documents/late`)).body;
    expect(late).toMatchObject({ state: 'failed', answering: null });
    expect(late.error).toBe(
      'The model "test/moody" answered a vector of 32 numbers, and the collection has 64. Re-embed it with rag.collections.reindex, or make another.',
    );
    // What the collection has vectors of needs no other.
    await add('again', numbered(2)['paper-1'] ?? '');
    await until(() => isReady(path), 20_000);
    expect((await get()).counts).toMatchObject({ documents: 4, ready: 3, failed: 1 });
    expect(
      (await search('paper 1', { mode: 'text', topK: 5 })).body.items.map(({ documentId }) => documentId),
    ).toContain('again');
    expect(embeddings.inputsOf('test/moody').filter((text) => text.includes('came late'))).toHaveLength(1);
    await reindex();
    await untilReady();
    expect(await get()).toMatchObject({ embedding: { dimension: 32 }, counts: { ready: 4, failed: 0 } });
  });

  test('a model that gives other numbers than it did says what to run, and is re-embedded', async () => {
    const { reindex, search, get, untilReady } = await openWith(numbered(3), { model: 'test/moody' });
    onTestFinished(() => void (dimensions['test/moody'] = 64));
    dimensions['test/moody'] = 32;
    expect((await search('number 2')).body).toMatchObject({
      code: 'model_provider_failed',
      message: expect.stringContaining('rag.collections.reindex'),
    });
    await reindex();
    await untilReady();
    expect((await get()).embedding).toEqual({ model: 'test/moody', dimension: 32 });
    expect((await search('number 2')).body.items).toHaveLength(3);
  });
}

test('it is for those who may change collections, of a collection there is', async () => {
  const box = await openBox({});
  expect((await call(box, 'POST /api/rag/collections/none/reindex', {})).body).toMatchObject({
    code: 'rag_collection_not_found',
  });
  const member = await openBox({ strategy: { authenticate: async () => ({ ...OWNER, role: 'member' }) } as never });
  expect((await call(member, 'POST /api/rag/collections/none/reindex', {})).status).toBe(403);
});

// --- internal ---

const CHUNK_TABLES = `select relname from pg_class where relname like 'rag\\_chunks\\_%' and relkind = 'r'`;

function numbered(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`paper-${n}`, `Paper number ${n} is about the subject ${n * 7919}.`]),
  );
}

function openBox(options: Partial<BoxOptions>, more: TestBoxOptions = {}): Promise<TestBox> {
  return boxes.open({
    provider: { baseUrl: embeddings.url, apiKey: 'provider-key' },
    ...more,
    options: { embeddingModel: () => 'test/words', engine: { sweepMs: 20 }, ...options },
  });
}
