import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { BoxOptions } from '../src/box/options.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { svc } from '../src/svc.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { startEmbeddingServer } from './_embedding-server.ts';
import { call, json, runWorkflow, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

interface Searched {
  code?: string;
  message?: string;
  items: { documentId: string; score: number; rerankScore: number | null; vectorRank: number | null }[];
  rerank: { model: string; applied: boolean; error: string | null } | null;
}

/** By words each has two; in a row only one has them. */
const TEXTS = {
  apart: 'Blue paint for a whale of a boat, blue again, and a whale too.',
  together: 'Somewhere out at sea swims the blue whale, which few of us have seen from so near as this.',
  neither: 'Nothing of the kind.',
};

let provider: EmbeddingServer;
beforeAll(async () => {
  provider = await startEmbeddingServer();
});
afterAll(() => provider.close());
beforeEach(() => void (provider.reranks.length = 0));

test('a search is left as it is where neither it nor its collection asks for a rerank', async () => {
  const { search } = await openWith();
  const { items, rerank } = await search({});
  expect(rerank).toBeNull();
  expect(items.map(({ documentId, rerankScore }) => [documentId, rerankScore])).toEqual([
    ['apart', null],
    ['together', null],
    ['neither', null],
  ]);
  expect(provider.reranks).toEqual([]);
});

test('a rerank puts what was found in the order of the model, of more than are wanted', async () => {
  const { search } = await openWith();
  const { items, rerank } = await search({ rerank: true, topK: 1 });
  expect(rerank).toEqual({ model: 'test/rerank', applied: true, error: null });
  expect(items).toMatchObject([{ documentId: 'together', rerankScore: 1 }]);
  expect(provider.reranks).toMatchObject([{ model: 'test/rerank', query: 'blue whale', top_n: 1 }]);
  expect(provider.reranks[0]?.documents).toHaveLength(3);
  expect(provider.reranks[0]?.documents[0]).toBe(TEXTS.apart);
  const { items: all } = await search({ rerank: true });
  expect(all.map(({ documentId }) => documentId)).toEqual(['together', 'apart', 'neither']);
});

test('a collection with a model reranks unless a search says otherwise, and may be given another', async () => {
  const { search, box, path } = await openWith({ rerankModel: 'test/own' });
  expect((await search({})).rerank).toEqual({ model: 'test/own', applied: true, error: null });
  expect((await search({ rerank: false })).rerank).toBeNull();
  expect((await call(box, `PATCH ${path}`, { rerankModel: 'test/other' })).body).toMatchObject({
    rerankModel: 'test/other',
  });
  expect((await search({})).rerank?.model).toBe('test/other');
  await call(box, `PATCH ${path}`, { rerankModel: null });
  expect((await search({})).rerank).toBeNull();
});

test.each([
  ['fails', 500, undefined, 'The model provider answered 500: Not now.'],
  ['knows no rerank', 404, {}, 'The model provider answered 404'],
  ['answers no ranking', 200, { data: [] }, 'without "results"'],
  ['ranks what it was not given', 200, { results: [{ index: 9, relevance_score: 1 }] }, 'Result 0'],
  ['gives no score', 200, { results: [{ index: 0 }] }, 'Result 0'],
])('of a provider that %s the order of the search is left, and said to be', async (_how, status, body, error) => {
  const { search, box } = await openWith();
  provider.failRerank(status, 2, body);
  const { items, rerank } = await search({ rerank: true });
  provider.failRerank(200, 0);
  expect(rerank).toMatchObject({ model: 'test/rerank', applied: false, error: expect.stringContaining(error) });
  expect(items.map(({ documentId, rerankScore }) => [documentId, rerankScore])).toEqual([
    ['apart', null],
    ['together', null],
    ['neither', null],
  ]);
  expect(box.logs).toContainEqual(expect.objectContaining({ message: expect.stringContaining('was not reranked') }));
});

test('a provider that takes too long is not waited for', async () => {
  const { search } = await openWith({}, { options: { rag: { everyMs: 20, rerankMs: 50 } } });
  const release = provider.holdRerank();
  const { items, rerank } = await search({ rerank: true });
  release();
  expect(rerank).toMatchObject({ applied: false, error: 'The rerank model did not answer within 50 ms.' });
  expect(items[0]).toMatchObject({ documentId: 'apart', rerankScore: null });
});

test('what the model says nothing of stands behind, as the search has it', async () => {
  const { search } = await openWith();
  provider.failRerank(200, 1, { results: [{ index: 2, relevance_score: -3 }] });
  expect(
    (await search({ rerank: true })).items.map(({ documentId, rerankScore }) => [documentId, rerankScore]),
  ).toEqual([
    ['neither', -3],
    ['apart', null],
    ['together', null],
  ]);
});

test('without a model a rerank is refused with what to do', async () => {
  const { search } = await openWith({}, { options: { rerankModel: () => undefined } });
  const refused = await search({ rerank: true });
  expect(refused.code).toBe('model_not_selected');
  expect(refused.message).toContain('"rerankModel" in svc.config.ts');
});

test('an empty collection asks no model to rerank nothing', async () => {
  const { search } = await openWith({ rerankModel: 'test/own' }, {}, {});
  expect(await search({})).toMatchObject({ items: [], rerank: { applied: true } });
  expect(provider.reranks).toEqual([]);
});

test('an agent gets what was found in the order of the rerank, beside what another collection has', async () => {
  const tool = 'tool:search_knowledge {"query":"blue whale","limit":3}; say:Seen.';
  const reverse: BoxOptions['callRerank'] = async ({ documents }) => ({
    ranking: documents.map((_, index) => ({ index, score: index })).toReversed(),
    inputTokens: 0,
  });
  const box = await boxes.open({
    agents: { keeper: defineDeepAgent({ name: 'keeper', instructions: 'Help.', knowledge: ['sea', 'land'] }) },
    options: {
      embeddingModel: () => 'test/of-the-script',
      rag: { everyMs: 20 },
      engine: { sweepMs: 20 },
      callRerank: reverse,
    },
  });
  await fill(box, 'sea', TEXTS, { rerankModel: 'test/reverse' });
  await fill(box, 'land', { cow: 'A cow stands on the meadow.' });
  const body = { model: 'keeper', messages: [{ role: 'user', content: tool }] };
  await (await box.request('/wire-a/v1/chat/completions', json(body, { headers: { 'x-api-key': 'any' } }))).text();
  const answer = String(box.model.requests.at(-1)?.messages.at(-1)?.content);
  const sources = [...answer.matchAll(/"source":"sea\/(\w+)/g)].map(([, id]) => id);
  const before = (
    await call<Searched>(box, 'POST /api/rag/collections/sea/search', { query: 'blue whale', rerank: false })
  ).body.items.map(({ documentId }) => documentId);
  expect(sources.length).toBeGreaterThan(1);
  expect(sources).toEqual(before.toReversed().slice(0, sources.length));
});

test('code reranks too, and its run is counted what that used', async () => {
  const inStep = toStep('inStep', async (name: string) =>
    svc.rag.search(name, 'blue whale', { rerank: true, topK: 2 }),
  );
  const workflows = {
    inStep: { run: async ({ name }: { name: string }) => inStep(name) },
    inBody: {
      run: async ({ name }: { name: string }) => svc.rag.search(name, 'blue whale', { rerank: true, mode: 'text' }),
    },
  };
  const { box, name } = await openWith({}, { workflows });
  const run = async (workflow: string) => runWorkflow(box, workflow, { name });
  const step = await run('inStep');
  expect(step['output']).toMatchObject([{ documentId: 'together', rerankScore: 1 }, { documentId: 'apart' }]);
  // One for the query, and one for each document of the rerank.
  expect(step['tokens'] ?? step).toMatchObject({ totalTokens: 4 });
  const body = await run('inBody');
  expect(body['output']).toMatchObject([{ documentId: 'together', rerankScore: 1 }, { documentId: 'apart' }]);
  expect(body['tokens'] ?? body).toMatchObject({ totalTokens: 2 });
});

// --- internal ---

let used = 0;

/** A box, and a collection of its own with the texts. */
async function openWith(collection: object = {}, more: TestBoxOptions = {}, texts: Record<string, string> = TEXTS) {
  const box: TestBox = await boxes.open({
    provider: { baseUrl: provider.url, apiKey: 'provider-key' },
    ...more,
    options: {
      embeddingModel: () => 'test/words',
      rerankModel: () => 'test/rerank',
      rag: { everyMs: 20, pauseMs: 10 },
      engine: { sweepMs: 20 },
      ...more.options,
    },
  });
  const name = `whales-${(used += 1)}`;
  const path = await fill(box, name, texts, collection);
  const search = async (how: object) =>
    (await call<Searched>(box, `POST ${path}/search`, { query: 'blue whale', ...how })).body;
  return { box, name, path, search };
}

/** Makes a collection of these texts, and waits until all answer. Answers its path. */
async function fill(box: TestBox, name: string, texts: Record<string, string>, collection: object = {}) {
  const path = `/api/rag/collections/${name}`;
  expect((await call(box, 'POST /api/rag/collections', { name, ...collection })).status).toBe(201);
  for (const [id, text] of Object.entries(texts)) await call(box, `POST ${path}/documents`, { id, text });
  const countReady = async () => (await call<{ counts: { ready: number } }>(box, `GET ${path}`)).body.counts.ready;
  await until(async () => (await countReady()) === Object.keys(texts).length, 15_000);
  return path;
}
